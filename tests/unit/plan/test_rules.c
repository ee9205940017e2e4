/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include <errno.h>

#include "steps.h"

static int setup(void **state)
{
    static const char *const tree[] = {
        "home/",
        "home/.ssh/",
        "home/.ssh/id",
        "ws/",
        "ws/a/",
        "ws/a/b/",
        "ws/a/b/c",
        "ws/a/b/d",
        "ws/file",
        "ws/to-a -> a",
        "ws/away -> /usr/lib",
        "ws/gone -> none",
        "ws/x.key",
        "ws/y.key",
        "ws/a/z.key",
        "ws/fifo-dir/",
        "ws/to-file -> file",
        "ws/chain -> chain-2",
        "ws/chain-2 -> to-a/b",
        "ws/a/b/up -> ../../file",
        "ws/abs -> @/ws/a/b/c",
        "ws/gone-2 -> gone",
        "ws/gone-deep -> a/none/x",
        "ws/out -> ../other/sub",
        "ws/home -> @/home",
        "ws/k.lnk -> x.key",
        "ws/loop -> loop",
        "ws/ping -> pong",
        "ws/pong -> a/../ping",
        "other/",
        "other/sub/",
        "other/sub/f",
        "link -> other",
        NULL,
    };

    scratch_make(tree);
    setenv("HOME", at("@/home"), 1);
    return chdir(scratch);
}

/* Flags "--protect a", one a row; and the same passes that plan_build() runs, as an ordinary user. */
static int build(const char *const *flags, const char *json, struct plan **ret,
                 struct hutch_error *err)
{
    struct policy policy;
    struct plan_entries entries = {0};
    struct resolver resolver = {.cwd = {.fd = -1}, .workspace = {.fd = -1}, .repo = {.fd = -1}};
    struct plan *plan = plan_new();
    int r = 0;

    assert_non_null(plan);
    policy_init(&policy);
    if (policy_set_flag(&policy, "--workspace", at("@/ws"), NULL, err) < 0)
        fail_msg("%s", err->msg);
    if (json) {
        const char *text = at(json);
        if (policy_merge_json(&policy, text, strlen(text), "doc", err) < 0)
            fail_msg("%s", err->msg);
    }
    for (; flags && *flags; flags += 2)
        if (policy_set_flag(&policy, flags[0], at(flags[1]), NULL, err) < 0)
            fail_msg("%s", err->msg);

    if (resolver_init(&resolver, &plan->arena, err) < 0 ||
        plan_pass_layout(&policy, &resolver, plan, &entries, err) < 0)
        fail_msg("%s", err->msg);
    r = plan_pass_rules(&policy, &resolver, plan, &entries, err);
    resolver_clear(&resolver);
    if (r == 0)
        r = plan_pass_mounts(plan, &entries, err);
    else
        for (size_t i = 0; i < entries.count; i++)
            fd_close(&entries.items[i].mount.source_fd);
    policy_clear(&policy);
    *ret = plan;
    return r;
}

/* What init watches for: "directory rest", one a line. */
static const char *watches(const struct plan *plan)
{
    static char out[SCRATCH_TEXT];
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < plan->watch_count; i++)
        len += (size_t)snprintf(out + len, sizeof(out) - len, "%s %s\n",
                                folded(plan->watches[i].directory), plan->watches[i].rest);
    return out;
}

#define WS "bind+ @/ws workspace\n"

struct rule_case {
    const char *flags[8];
    const char *want;  /* steps */
    const char *watch; /* NULL: nothing */
};

static void check_rules(const struct rule_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct hutch_error err = {0};
        struct plan *plan = NULL;
        int before = open_fds();

        if (build(cases[i].flags, NULL, &plan, &err) < 0)
            fail_msg("row %zu: %s", i, err.msg);
        if (!str_eq(steps(plan, "@", false), cases[i].want))
            fail_msg("row %zu: wanted\n%sgot\n%s", i, cases[i].want, steps(plan, "@", false));
        if (!str_eq(watches(plan), cases[i].watch ? cases[i].watch : ""))
            fail_msg("row %zu: watched are\n%s", i, watches(plan));
        plan_free(plan);
        assert_int_equal(open_fds(), before);
    }
}

static void rules_become_steps(void **state)
{
    static const struct rule_case cases[] = {
        {{NULL}, "bind+ @/ws workspace\n"},
        {{"--read", "@/other"}, "bind @/other read\nbind+ @/ws workspace\n"},
        {{"--write", "@/other"}, "bind+ @/other write\nbind+ @/ws workspace\n"},
        {{"--write", "other/sub/"}, "bind+ @/other/sub write\nbind+ @/ws workspace\n"},
        {{"--write", "@/link"}, "bind+ @/other write\nbind+ @/ws workspace\n"},
        {{"--write", "@/other/sub/f"}, "bind+ @/other/sub/f write\nbind+ @/ws workspace\n"},
        {{"--write", "@/other", "--read", "@/other"},
         "bind+ @/other write\nbind+ @/ws workspace\n"},
        {{"--write", "@/other", "--read", "@/other/sub"},
         "bind+ @/other write\nbind @/other/sub read\nbind+ @/ws workspace\n"},
        {{"--read", "@/other", "--write", "@/other/sub"},
         "bind @/other read\nbind+ @/other/sub write\nbind+ @/ws workspace\n"},
        {{"--read", "@/ws/a"}, "bind+ @/ws workspace\nbind @/ws/a read\n"},
        {{"--read", "@/ws"}, "bind+ @/ws workspace\n"},

        {{"--protect", "@/ws/file"}, "bind+ @/ws workspace\nbind @/ws/file protect\n"},
        {{"--protect", "@/ws/a/b/c"},
         "bind+ @/ws workspace\nbind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\n"
         "bind @/ws/a/b/c protect\n"},
        {{"--protect", "@/ws/a/b/c", "--protect", "@/ws/a/b/d"},
         "bind+ @/ws workspace\nbind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\n"
         "bind @/ws/a/b/c protect\nbind @/ws/a/b/d protect\n"},
        {{"--protect", "@/ws/a", "--protect", "@/ws/a/b/c"},
         "bind+ @/ws workspace\nbind @/ws/a protect\n"},
        {{"--protect", "@/ws/a/b/c", "--protect", "@/ws/a"},
         "bind+ @/ws workspace\nbind @/ws/a protect\nbind @/ws/a/b/c protect\n"},
        {{"--protect", "@/ws/a", "--write", "@/ws/a/b"},
         "bind+ @/ws workspace\nbind @/ws/a protect\nbind+ @/ws/a/b write\n"},
        {{"--protect", "@/ws/a", "--write", "@/ws/a"},
         "bind+ @/ws workspace\nbind @/ws/a protect\n"},
        {{"--write", "@/other", "--protect", "@/other"},
         "bind @/other protect\nbind+ @/ws workspace\n"},
        /* not writable, or not there: nothing to protect */
        {{"--read", "@/other", "--protect", "@/other/sub"},
         "bind @/other read\nbind+ @/ws workspace\n"},
        {{"--protect", "@/other/sub"}, "bind+ @/ws workspace\n"},
        {{"--protect", "@/other/none"}, "bind+ @/ws workspace\n"},
        {{"--protect", "/usr"}, "bind+ @/ws workspace\n"},
        {{"--protect", "/usr/none"}, "bind+ @/ws workspace\n"},

        {{"--hide", "@/ws/a"}, "bind+ @/ws workspace\nmask @/ws/a hide\n"},
        {{"--hide", "@/ws/file"}, "bind+ @/ws workspace\nmask @/ws/file hide\n"},
        {{"--hide", "@/ws/to-a"},
         "bind+ @/ws workspace\nmask @/ws/a hide\nbind+ @/ws/to-a pinned\n"},
        /* what it could be moved with stays, where that could be moved */
        {{"--hide", "@/ws/a/b/c"},
         "bind+ @/ws workspace\nbind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\nmask @/ws/a/b/c hide\n"},
        {{"--hide", "@/ws/chain/c"},
         "bind+ @/ws workspace\nbind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\nmask @/ws/a/b/c hide\n"
         "bind+ @/ws/chain pinned\nbind+ @/ws/chain-2 pinned\nbind+ @/ws/to-a pinned\n"},
        {{"--read", "@/ws/a", "--hide", "@/ws/a/b/c"},
         "bind+ @/ws workspace\nbind @/ws/a read\nmask @/ws/a/b/c hide\n"},
        {{"--hide", "@/ws/none"}, "bind+ @/ws workspace\n"},
        {{"--hide", "@/ws/gone"}, "bind+ @/ws workspace\n"},
        {{"--hide", "@/home/.ssh"}, "bind+ @/ws workspace\n"}, /* below a private /tmp */
        {{"--read", "@/home", "--hide", "~/.ssh"},
         "bind @/home read\nmask @/home/.ssh hide\nbind+ @/ws workspace\n"},
        {{"--hide", "@/ws/a/b", "--hide", "@/ws/a"}, "bind+ @/ws workspace\nmask @/ws/a hide\n"},
        {{"--hide", "@/ws/a", "--hide", "@/ws/a/b"}, "bind+ @/ws workspace\nmask @/ws/a hide\n"},
        {{"--hide", "@/ws/a", "--protect", "@/ws/a"}, "bind+ @/ws workspace\nmask @/ws/a hide\n"},
        {{"--hide", "@/ws/a", "--write", "@/ws/a"}, "bind+ @/ws workspace\nmask @/ws/a hide\n"},
        {{"--hide", "@/ws/a", "--read", "@/ws/a"}, "bind+ @/ws workspace\nmask @/ws/a hide\n"},
        {{"--hide", "@/ws/a/b", "--protect", "@/ws/a/b/c"},
         "bind+ @/ws workspace\nbind+ @/ws/a pinned\ntmpfs @/ws/a/b hide\n"
         "bind @/ws/a/b/c protect\nseal @/ws/a/b hide\n"},
        {{"--hide", "@/ws/a", "--read", "@/ws/a/b"},
         "bind+ @/ws workspace\ntmpfs @/ws/a hide\n"
         "bind @/ws/a/b read\nseal @/ws/a hide\n"},

        {{"--hide", "@/ws/*.key"},
         "bind+ @/ws workspace\nmask @/ws/x.key hide\nmask @/ws/y.key hide\n"},
        {{"--protect", "@/ws/**/*.key"},
         "bind+ @/ws workspace\nbind+ @/ws/a pinned\nbind @/ws/a/z.key protect\n"
         "bind @/ws/x.key protect\nbind @/ws/y.key protect\n"},
        {{"--hide", "@/ws/*.none"}, "bind+ @/ws workspace\n"},
        {{"--hide", "/proc/none", "--hide", "/dev/shm/none"}, "bind+ @/ws workspace\n"},
        /* without * it would be a rule of its own; a grant has no patterns */
        {{"--hide", "@/none/**"}, "bind+ @/ws workspace\n"},
    };

    check_rules(cases, ARRAY_LEN(cases));
}

/* A path that is not there has nothing to mount: its parents are pinned, and init watches. */
static void missing_paths_are_watched(void **state)
{
    static const struct rule_case cases[] = {
        {{"--protect", "@/ws/none"}, WS, "@/ws none\n"},
        {{"--protect", "@/ws/none/"}, WS, "@/ws none\n"},
        {{"--protect", "ws/none/x"}, WS, "@/ws none/x\n"},
        {{"--protect", "@//ws/./none//x/."}, WS, "@/ws none/x\n"},
        {{"--protect", "@/ws/none", "--protect", "@/ws/none/x"}, WS, "@/ws none\n@/ws none/x\n"},
        {{"--protect", "@/ws/a/none"}, WS "bind+ @/ws/a pinned\n", "@/ws/a none\n"},
        {{"--protect", "@/ws/a/b/none/x/y"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\n",
         "@/ws/a/b none/x/y\n"},
        {{"--protect", "@/ws/a/b/../none"}, WS "bind+ @/ws/a pinned\n", "@/ws/a none\n"},
        {{"--write", "@/other", "--protect", "@/other/x"},
         "bind+ @/other write\n" WS,
         "@/other x\n"},
        {{"--write", "@/home", "--protect", "~/.bashrc"},
         "bind+ @/home write\n" WS,
         "@/home .bashrc\n"},
        /* beside one that is there */
        {{"--protect", "@/ws/a/none", "--protect", "@/ws/a/b"},
         WS "bind+ @/ws/a pinned\nbind @/ws/a/b protect\n",
         "@/ws/a none\n"},
        /* in what is protected as a whole nothing can appear */
        {{"--protect", "@/ws/a", "--protect", "@/ws/a/none"}, WS "bind @/ws/a protect\n", NULL},
        /* nor where nothing can be written */
        {{"--protect", "~/.bashrc"}, WS, NULL},
        {{"--protect", "@/other/none"}, WS, NULL},
        {{"--read", "@/other", "--protect", "@/other/none"}, "bind @/other read\n" WS, NULL},
        {{"--protect", "/none"}, WS, NULL},
        {{"--protect", "/usr/none/x"}, WS, NULL},
        {{"--read", "@/ws/a", "--protect", "@/ws/a/none"}, WS "bind @/ws/a read\n", NULL},
        /* a pattern means what is there */
        {{"--protect", "@/ws/*.none"}, WS, NULL},
    };

    check_rules(cases, ARRAY_LEN(cases));
}

/* A file where a directory would have to be: it must stay, or the directory could come. */
static void what_is_in_the_way_is_protected(void **state)
{
    static const struct rule_case cases[] = {
        {{"--protect", "@/ws/file/hooks"}, WS "bind @/ws/file protect\n", NULL},
        {{"--protect", "@/ws/file/"}, WS "bind @/ws/file protect\n", NULL},
        {{"--protect", "@/ws/file/a/b/c"}, WS "bind @/ws/file protect\n", NULL},
        {{"--protect", "@/ws/a/b/c/x"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\nbind @/ws/a/b/c protect\n",
         NULL},
        {{"--protect", "@/ws/to-file/hooks"},
         WS "bind @/ws/file protect\nbind+ @/ws/to-file pinned\n",
         NULL},
        {{"--protect", "@/other/sub/f/x"}, WS, NULL},
    };

    check_rules(cases, ARRAY_LEN(cases));
}

/* A link that can be replaced is another way to the protected name. */
static void links_on_the_way_are_pinned(void **state)
{
    static const struct rule_case cases[] = {
        {{"--protect", "@/ws/to-a"}, WS "bind @/ws/a protect\nbind+ @/ws/to-a pinned\n", NULL},
        {{"--protect", "@/ws/to-a/"}, WS "bind @/ws/a protect\nbind+ @/ws/to-a pinned\n", NULL},
        {{"--protect", "@/ws/to-a/b/c"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\nbind @/ws/a/b/c protect\n"
            "bind+ @/ws/to-a pinned\n",
         NULL},
        {{"--protect", "ws/to-a/b/c"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\nbind @/ws/a/b/c protect\n"
            "bind+ @/ws/to-a pinned\n",
         NULL},
        {{"--protect", "@/ws/to-file"},
         WS "bind @/ws/file protect\nbind+ @/ws/to-file pinned\n",
         NULL},
        {{"--protect", "@/ws/abs"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\nbind @/ws/a/b/c protect\n"
            "bind+ @/ws/abs pinned\n",
         NULL},
        /* the directories above a link are pinned too */
        {{"--protect", "@/ws/a/b/up"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\nbind+ @/ws/a/b/up pinned\n"
            "bind @/ws/file protect\n",
         NULL},
        /* every link of a chain */
        {{"--protect", "@/ws/chain/c"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\nbind @/ws/a/b/c protect\n"
            "bind+ @/ws/chain pinned\nbind+ @/ws/chain-2 pinned\nbind+ @/ws/to-a pinned\n",
         NULL},
        {{"--protect", "@/ws/chain/up"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/a/b pinned\nbind+ @/ws/a/b/up pinned\n"
            "bind+ @/ws/chain pinned\nbind+ @/ws/chain-2 pinned\nbind @/ws/file protect\n"
            "bind+ @/ws/to-a pinned\n",
         NULL},
        /* ".." is where the link leads, not where it lies */
        {{"--protect", "@/ws/to-a/../file"},
         WS "bind @/ws/file protect\nbind+ @/ws/to-a pinned\n",
         NULL},
        {{"--protect", "@/ws/chain/../z.key"},
         WS "bind+ @/ws/a pinned\nbind @/ws/a/z.key protect\nbind+ @/ws/chain pinned\n"
            "bind+ @/ws/chain-2 pinned\nbind+ @/ws/to-a pinned\n",
         NULL},
        /* out of the writable place, and into another one */
        {{"--protect", "@/ws/away"}, WS "bind+ @/ws/away pinned\n", NULL},
        {{"--protect", "@/ws/away/none"}, WS "bind+ @/ws/away pinned\n", NULL},
        {{"--protect", "@/ws/out/f"}, WS "bind+ @/ws/out pinned\n", NULL},
        {{"--write", "@/other", "--protect", "@/ws/out/f"},
         "bind+ @/other write\nbind+ @/other/sub pinned\nbind @/other/sub/f protect\n" WS
         "bind+ @/ws/out pinned\n",
         NULL},
        {{"--write", "@/other", "--protect", "@/ws/out/none"},
         "bind+ @/other write\nbind+ @/other/sub pinned\n" WS "bind+ @/ws/out pinned\n",
         "@/other/sub none\n"},
        {{"--write", "@/home", "--protect", "@/ws/home/.bashrc"},
         "bind+ @/home write\n" WS "bind+ @/ws/home pinned\n",
         "@/home .bashrc\n"},
        /* one that nobody can write to stays what it is by itself */
        {{"--write", "@/other", "--protect", "@/link/sub"},
         "bind+ @/other write\nbind @/other/sub protect\n" WS,
         NULL},
        /* dangling: the link, and what it leads to should that come */
        {{"--protect", "@/ws/gone"}, WS "bind+ @/ws/gone pinned\n", "@/ws none\n"},
        {{"--protect", "@/ws/gone/x"}, WS "bind+ @/ws/gone pinned\n", "@/ws none/x\n"},
        {{"--protect", "@/ws/gone-2"},
         WS "bind+ @/ws/gone pinned\nbind+ @/ws/gone-2 pinned\n",
         "@/ws none\n"},
        {{"--protect", "@/ws/gone-deep/y"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/gone-deep pinned\n",
         "@/ws/a none/x/y\n"},
        {{"--protect", "@/ws/to-a/none"},
         WS "bind+ @/ws/a pinned\nbind+ @/ws/to-a pinned\n",
         "@/ws/a none\n"},
        /* as a pattern finds it */
        {{"--protect", "@/ws/*.lnk"},
         WS "bind+ @/ws/k.lnk pinned\nbind @/ws/x.key protect\n",
         NULL},
        /* where the link itself is protected or hidden no pin opens it again */
        {{"--protect", "@/ws/a", "--protect", "@/ws/a/b/up"},
         WS "bind @/ws/a protect\nbind @/ws/file protect\n",
         NULL},
        {{"--hide", "@/ws/a", "--protect", "@/ws/a/b/up"},
         WS "mask @/ws/a hide\nbind @/ws/file protect\n",
         NULL},
    };

    check_rules(cases, ARRAY_LEN(cases));
}

/* A pinned link is mounted as it is, not what it leads to. */
static void a_pinned_link_is_the_link(void **state)
{
    static const char *const flags[] = {"--protect", "@/ws/to-a", NULL};
    struct hutch_error err = {0};
    plan_auto struct plan *plan = NULL;
    const struct plan_mount *pin = NULL;
    struct stat st;

    assert_int_equal(build(flags, NULL, &plan, &err), 0);
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].why == WHY_PIN)
            pin = &plan->mounts[i];
    if (!pin) {
        fail_msg("there is no pin");
        return;
    }
    assert_int_equal(pin->kind, MOUNT_BIND);
    assert_false(pin->directory);
    assert_string_equal(folded(pin->source), "@/ws/to-a");
    assert_string_equal(pin->origin, "--protect");
    assert_int_equal(lstat(at("@/ws/to-a"), &st), 0);
    assert_true(pin->dev == st.st_dev && pin->ino == st.st_ino);
    assert_int_equal(fstat(pin->source_fd, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(fcntl(pin->source_fd, F_GETFD), FD_CLOEXEC);
}

static void rules_that_are_refused(void **state)
{
    static const struct {
        const char *flags[6];
        int code;
        const char *where, *text;
    } cases[] = {
        {{"--read", "@/none"}, HUTCH_EPOLICY, "--read", "does not exist"},
        {{"--write", "@/none"}, HUTCH_EPOLICY, "--write", "does not exist"},
        {{"--write", "@/ws/gone"}, HUTCH_EPOLICY, "--write", "does not exist"},
        {{"--write", "/"}, HUTCH_EPOLICY, "--write", "root of the host"},
        {{"--read", "/", "--layout", "minimal"}, HUTCH_EPOLICY, "--read", "root of the host"},
        {{"--read", "/", "--layout", "root"}, HUTCH_EPOLICY, "--read", "root of the host"},
        {{"--read", "/proc"}, HUTCH_EPOLICY, "--read", "of its own"},
        {{"--write", "/proc/self"}, HUTCH_EPOLICY, "--write", "of its own"},
        {{"--write", "/dev"}, HUTCH_EPOLICY, "--write", "of its own"},
        {{"--write", "/dev/shm/../shm"}, HUTCH_EPOLICY, "--write", "of its own"},
        {{"--read", "/dev/null"}, HUTCH_EPOLICY, "--read", "neither a file nor a directory"},
        {{"--read", "@/*"}, HUTCH_EPOLICY, "--read", "does not exist"}, /* no patterns */
        {{"--hide", "/proc"}, HUTCH_EPOLICY, "--hide", "'/proc' is in a directory"},
        {{"--hide", "/proc/cpuinfo"}, HUTCH_EPOLICY, "--hide", "of its own"},
        {{"--hide", "/proc/cpu*"}, HUTCH_EPOLICY, "--hide", "of its own"},
        {{"--hide", "/proc/../dev/"}, HUTCH_EPOLICY, "--hide", "of its own"},
        {{"--hide", "/dev/null"}, HUTCH_EPOLICY, "--hide", "of its own"},
        {{"--hide", "/dev/shm"}, HUTCH_EPOLICY, "--hide", "of its own"},
        {{"--protect", "/proc/sys"}, HUTCH_EPOLICY, "--protect", "of its own"},
        {{"--protect", "/proc/none"}, HUTCH_EPOLICY, "--protect", "of its own"},
        {{"--protect", "/dev/null"}, HUTCH_EPOLICY, "--protect", "of its own"},
        {{"--protect", "@/ws/loop"}, HUTCH_ESYSTEM, "--protect", "cannot look at"},
        {{"--protect", "@/ws/loop/x"}, HUTCH_ESYSTEM, "--protect", "cannot look at"},
        {{"--protect", "@/ws/loop/../a"}, HUTCH_ESYSTEM, "--protect", "cannot look at"},
        {{"--protect", "@/ws/ping"}, HUTCH_ESYSTEM, "--protect", "cannot look at"},
        {{"--protect", "@/ws/to-a", "--protect", "ws/pong/x"},
         HUTCH_ESYSTEM,
         "--protect",
         "'ws/pong/x'"},
        {{"--hide", "@/ws/loop"}, HUTCH_ESYSTEM, "--hide", "cannot look at"},
        {{"--protect", "@/ws/a/.."}, HUTCH_EPOLICY, "--protect", "there to be changed"},
        {{"--protect", "@/ws/gone/../x"}, HUTCH_EPOLICY, "--protect", "'..'"},
        {{"--protect", "@/ws"}, HUTCH_EPOLICY, "--protect", "there to be changed"},
        {{"--protect", "@/ws/none/../x"}, HUTCH_EPOLICY, "--protect", "'..'"},
        {{"--hide", "@/ws"}, HUTCH_EPOLICY, "--hide", "cannot be hidden"},
        {{"--hide", "/"}, HUTCH_EPOLICY, "--hide", "cannot be hidden"},
        {{"--hide", "@/ws", "--layout", "minimal"}, HUTCH_EPOLICY, "--hide", "cannot be hidden"},
        {{"--hide", "@/ws", "--layout", "root"}, HUTCH_EPOLICY, "--hide", "cannot be hidden"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        struct plan *plan = NULL;
        int before = open_fds();

        int r = build(cases[i].flags, NULL, &plan, &err);
        plan_free(plan);
        if (r != cases[i].code || !strstr(err.msg, cases[i].text) ||
            !str_eq(err.where, cases[i].where))
            fail_msg("row %zu: code %d, at '%s': '%s'", i, r, err.where, err.msg);
        assert_int_equal(open_fds(), before);
    }
}

static void documents_speak_of_the_workspace(void **state)
{
    static const struct {
        const char *json;
        const char *want;  /* the steps, or part of the message when `code` */
        const char *watch; /* NULL: nothing */
        int code;
    } cases[] = {
        {"{\"filesystem\":{\"hide\":[\"a\"]}}", WS "mask @/ws/a hide\n", NULL, 0},
        {"{\"filesystem\":{\"hide\":[\"*.key\"]}}",
         WS "mask @/ws/x.key hide\nmask @/ws/y.key hide\n", NULL, 0},
        {"{\"filesystem\":{\"protect\":[\"a/b\"]}}",
         WS "bind+ @/ws/a pinned\nbind @/ws/a/b protect\n", NULL, 0},
        {"{\"filesystem\":{\"write\":[\"../other\"]}}", "bind+ @/other write\n" WS, NULL, 0},
        {"{\"filesystem\":{\"protect\":[\"to-a/b\"]}}",
         WS "bind+ @/ws/a pinned\nbind @/ws/a/b protect\nbind+ @/ws/to-a pinned\n", NULL, 0},
        {"{\"filesystem\":{\"protect\":[\"none\"]}}", WS, "@/ws none\n", 0},
        {"{\"filesystem\":{\"protect\":[\".git/hooks\",\".git/config\"]}}", WS,
         "@/ws .git/hooks\n@/ws .git/config\n", 0},
        {"{\"filesystem\":{\"protect\":[\"file/hooks\"]}}", WS "bind @/ws/file protect\n", NULL, 0},
        {"{\"filesystem\":{\"protect\":[\"gone\"]}}", WS "bind+ @/ws/gone pinned\n", "@/ws none\n",
         0},
        {"{\"filesystem\":{\"protect\":[\"loop\"]}}", "cannot look at 'loop'", NULL, HUTCH_ESYSTEM},
        {"{\"filesystem\":{\"read\":[\"none\"]}}", "does not exist", NULL, HUTCH_EPOLICY},
        /* a workspace in memory has nothing to hide or protect, and nothing to grant from */
        {"{\"filesystem\":{\"workspace\":\"tmpfs\",\"hide\":[\"a\",\"*.key\"]}}", "", NULL, 0},
        {"{\"filesystem\":{\"workspace\":\"tmpfs\",\"protect\":[\"a\",\"**/x\"]}}", "", NULL, 0},
        {"{\"filesystem\":{\"workspace\":\"tmpfs\",\"read\":[\"a\"]}}", "in memory", NULL,
         HUTCH_EPOLICY},
        /* the repository is the project too */
        {"{\"filesystem\":{\"repo\":\"@/other\",\"hide\":[\"sub\",\"a\"]}}",
         "bind @/other repo\nmask @/other/sub hide\n" WS "mask @/ws/a hide\n", NULL, 0},
        {"{\"filesystem\":{\"workspace\":\"tmpfs\",\"repo\":\"@/ws\",\"hide\":[\"a\",\"*.key\"]}}",
         "bind @/ws repo\nmask @/ws/a hide\nmask @/ws/x.key hide\nmask @/ws/y.key hide\n", NULL, 0},
        {"{\"filesystem\":{\"workspace\":\"tmpfs\",\"repo\":\"@/ws\",\"write\":[\"@/ws\"],"
         "\"protect\":[\"file\",\"none\"]}}",
         "bind+ @/ws write\nbind @/ws/file protect\n", "@/ws none\n", 0},
        /* and so is the directory of a caller whose workspace is in memory */
        {"{\"filesystem\":{\"workspace\":\"tmpfs\",\"read\":[\"@/other\"],\"hide\":[\"other/sub\"]}}",
         "bind @/other read\nmask @/other/sub hide\n", NULL, 0},
        {"{\"filesystem\":{\"read\":[\"@/other\"],\"hide\":[\"other/sub\"]}}",
         "bind @/other read\n" WS, NULL, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        struct plan *plan = NULL;
        int before = open_fds();

        int r = build(NULL, cases[i].json, &plan, &err);
        assert_int_equal(r, cases[i].code);
        if (r && (!strstr(err.msg, cases[i].want) || !str_starts(err.where, "/filesystem/")))
            fail_msg("row %zu: at '%s': '%s'", i, err.where, err.msg);
        if (!r && !str_eq(steps(plan, "@", false), cases[i].want))
            fail_msg("row %zu: '%s'", i, steps(plan, "@", false));
        if (!r && !str_eq(watches(plan), cases[i].watch ? cases[i].watch : ""))
            fail_msg("row %zu: watched are '%s'", i, watches(plan));
        plan_free(plan);
        assert_int_equal(open_fds(), before);
    }
}

/* One host path seen at two places is hidden and protected at both. */
static void every_place_of_a_path_is_meant(void **state)
{
    static const char *const flags[] = {"--layout", "minimal",   "--write",   "@/ws", "--hide",
                                        "@/ws/a",   "--protect", "@/ws/file", NULL};
    struct hutch_error err = {0};
    plan_auto struct plan *plan = NULL;

    assert_int_equal(build(flags, NULL, &plan, &err), 0);
    assert_non_null(strstr(steps(plan, "@", false), "mask @/ws/a hide\n"));
    assert_non_null(strstr(steps(plan, "@", false), "bind @/ws/file protect\n"));
    assert_string_equal(steps(plan, "/workspace", false), "bind+ /workspace workspace\n"
                                                          "mask /workspace/a hide\n"
                                                          "bind /workspace/file protect\n");
}

/* And so are links and what is missing. */
static void every_place_of_a_missing_path_is_meant(void **state)
{
    static const struct {
        const char *flags[10];
        const char *workspace, *host, *watch; /* steps below the workspace and below @ */
    } cases[] = {
        {{"--layout", "minimal", "--protect", "@/ws/gone", "--protect", "@/ws/a/x"},
         "bind+ /workspace workspace\nbind+ /workspace/a pinned\nbind+ /workspace/gone pinned\n",
         "",
         "/workspace none\n/workspace/a x\n"},
        {{"--layout", "minimal", "--write", "@/ws", "--protect", "@/ws/gone", "--protect",
          "@/ws/a/x"},
         "bind+ /workspace workspace\nbind+ /workspace/a pinned\nbind+ /workspace/gone pinned\n",
         "bind+ @/ws write\nbind+ @/ws/a pinned\nbind+ @/ws/gone pinned\n",
         "@/ws none\n@/ws/a x\n/workspace none\n/workspace/a x\n"},
        {{"--layout", "minimal", "--read", "@/ws", "--protect", "@/ws/none"},
         "bind+ /workspace workspace\n",
         "bind @/ws read\n",
         "/workspace none\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        plan_auto struct plan *plan = NULL;

        if (build(cases[i].flags, NULL, &plan, &err) < 0)
            fail_msg("row %zu: %s", i, err.msg);
        assert_string_equal(steps(plan, "/workspace", false), cases[i].workspace);
        assert_string_equal(steps(plan, "@", false), cases[i].host);
        assert_string_equal(watches(plan), cases[i].watch);
    }
}

/* Where the workspace is the root itself. */
static void missing_paths_of_a_root(void **state)
{
    static const char *const flags[] = {"--layout",  "root",      "--protect",
                                        "@/ws/none", "--protect", "@/ws/a/x/y",
                                        "--protect", "@/ws/gone", NULL};
    struct hutch_error err = {0};
    plan_auto struct plan *plan = NULL;

    assert_int_equal(build(flags, NULL, &plan, &err), 0);
    assert_string_equal(watches(plan), "/ none\n/ none\n/a x/y\n");
    assert_string_equal(steps(plan, "/a", false), "bind+ /a pinned\n");
    assert_string_equal(steps(plan, "/gone", false), "bind+ /gone pinned\n");
}

/* A directory nobody may look into: out of reach inside as well, unless the sandbox can open it. */
static int build_closed(void)
{
    static const char *const rules[] = {"--hide", "--protect"};

    for (int i = 0; i < 2; i++) {
        const char *const reachable[] = {rules[i], "@/ws/a/b/c", NULL};
        const char *const out_of_reach[] = {rules[i], "@/home/.ssh/id", NULL};
        struct hutch_error err = {0};
        struct plan *plan = NULL;

        int r = build(out_of_reach, NULL, &plan, &err);
        bool idle = r == 0 && plan->watch_count == 0;
        plan_free(plan);
        if (!idle)
            return 1 + i;
        r = build(reachable, NULL, &plan, &err);
        plan_free(plan);
        if (r != HUTCH_ESYSTEM || err.sys_errno != EACCES || !str_eq(err.where, rules[i]))
            return 3 + i;
    }
    return 0;
}

static void closed_directories(void **state)
{
    assert_int_equal(chmod(at("@/ws/a"), 0), 0);
    assert_int_equal(chmod(at("@/home/.ssh"), 0), 0);
    int r = as_nobody(build_closed);
    assert_int_equal(chmod(at("@/ws/a"), 0755), 0);
    assert_int_equal(chmod(at("@/home/.ssh"), 0755), 0);
    assert_int_equal(r, 0);
}

#define RULES_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULES_TEST(rules_become_steps),
        RULES_TEST(missing_paths_are_watched),
        RULES_TEST(what_is_in_the_way_is_protected),
        RULES_TEST(links_on_the_way_are_pinned),
        RULES_TEST(a_pinned_link_is_the_link),
        RULES_TEST(rules_that_are_refused),
        RULES_TEST(documents_speak_of_the_workspace),
        RULES_TEST(every_place_of_a_path_is_meant),
        RULES_TEST(every_place_of_a_missing_path_is_meant),
        RULES_TEST(missing_paths_of_a_root),
        RULES_TEST(closed_directories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
