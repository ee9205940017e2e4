/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

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
    struct resolver resolver = {.cwd_fd = -1, .workspace_fd = -1};
    struct plan *plan = calloc(1, sizeof(*plan));
    int r = 0;

    assert_non_null(plan);
    arena_init(&plan->arena);
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

static void rules_become_steps(void **state)
{
    static const struct {
        const char *flags[8];
        const char *want;
    } cases[] = {
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
        {{"--hide", "@/ws/to-a"}, "bind+ @/ws workspace\nmask @/ws/a hide\n"},
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
        /* without * it would be a rule of its own; a grant has no patterns */
        {{"--hide", "@/none/**"}, "bind+ @/ws workspace\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        plan_auto struct plan *plan = NULL;

        if (build(cases[i].flags, NULL, &plan, &err) < 0)
            fail_msg("row %zu: %s", i, err.msg);
        if (!str_eq(steps(plan, "@", false), cases[i].want))
            fail_msg("row %zu: wanted\n%sgot\n%s", i, cases[i].want, steps(plan, "@", false));
    }
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
        {{"--protect", "@/ws/none"}, HUTCH_EUNSUPPORTED, "--protect", "not enforced yet"},
        {{"--protect", "ws/none/x"}, HUTCH_EUNSUPPORTED, "--protect", "not enforced yet"},
        {{"--protect", "@/ws/gone"}, HUTCH_EUNSUPPORTED, "--protect", "not enforced yet"},
        {{"--protect", "@/ws/a/b/none"}, HUTCH_EUNSUPPORTED, "--protect", "create it first"},
        {{"--write", "@/other", "--protect", "@/other/x"},
         HUTCH_EUNSUPPORTED,
         "--protect",
         "create it first"},
        {{"--protect", "@/ws/to-a"}, HUTCH_EUNSUPPORTED, "--protect", "symbolic link"},
        {{"--protect", "@/ws/to-a/b/c"}, HUTCH_EUNSUPPORTED, "--protect", "symbolic link"},
        {{"--protect", "ws/to-a/b/c"}, HUTCH_EUNSUPPORTED, "--protect", "symbolic link"},
        {{"--protect", "@/ws/away"}, HUTCH_EUNSUPPORTED, "--protect", "symbolic link"},
        {{"--write", "@/other", "--protect", "@/link/sub"},
         HUTCH_EUNSUPPORTED,
         "--protect",
         "symbolic link"},
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
        const char *want; /* in the steps, or in the message when `code` */
        int code;
    } cases[] = {
        {"{\"filesystem\":{\"hide\":[\"a\"]}}", "mask @/ws/a hide\n", 0},
        {"{\"filesystem\":{\"hide\":[\"*.key\"]}}", "mask @/ws/x.key hide\nmask @/ws/y.key hide\n",
         0},
        {"{\"filesystem\":{\"protect\":[\"a/b\"]}}", "bind+ @/ws/a pinned\nbind @/ws/a/b protect\n",
         0},
        {"{\"filesystem\":{\"write\":[\"../other\"]}}", "bind+ @/other write\n", 0},
        {"{\"filesystem\":{\"protect\":[\"to-a/b\"]}}", "symbolic link", HUTCH_EUNSUPPORTED},
        {"{\"filesystem\":{\"protect\":[\"none\"]}}", "create it first", HUTCH_EUNSUPPORTED},
        {"{\"filesystem\":{\"read\":[\"none\"]}}", "does not exist", HUTCH_EPOLICY},
        /* a workspace in memory has nothing to hide or protect, and nothing to grant from */
        {"{\"filesystem\":{\"workspace\":\"tmpfs\",\"hide\":[\"a\",\"*.key\"]}}", "", 0},
        {"{\"filesystem\":{\"workspace\":\"tmpfs\",\"protect\":[\"a\",\"**/x\"]}}", "", 0},
        {"{\"filesystem\":{\"workspace\":\"tmpfs\",\"read\":[\"a\"]}}", "in memory", HUTCH_EPOLICY},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        struct plan *plan = NULL;
        int before = open_fds();

        int r = build(NULL, cases[i].json, &plan, &err);
        assert_int_equal(r, cases[i].code);
        if (!strstr(r ? err.msg : steps(plan, "@", false), cases[i].want))
            fail_msg("row %zu: '%s' '%s'", i, err.msg, r ? "" : steps(plan, "@", false));
        if (r)
            assert_non_null(strstr(err.where, "/filesystem/"));
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

/* A directory nobody may look into: out of reach inside as well, unless the sandbox can open it. */
static int build_closed(void)
{
    static const char *const reachable[] = {"--hide", "@/ws/a/b/c", NULL};
    static const char *const out_of_reach[] = {"--hide", "@/home/.ssh/id", NULL};
    struct hutch_error err = {0};
    struct plan *plan = NULL;

    if (build(out_of_reach, NULL, &plan, &err) < 0)
        return 1;
    plan_free(plan);
    int r = build(reachable, NULL, &plan, &err);
    plan_free(plan);
    return r == HUTCH_ESYSTEM && str_eq(err.where, "--hide") ? 0 : 2;
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
        RULES_TEST(rules_that_are_refused),
        RULES_TEST(documents_speak_of_the_workspace),
        RULES_TEST(every_place_of_a_path_is_meant),
        RULES_TEST(closed_directories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
