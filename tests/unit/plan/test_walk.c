/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "resolving.h"

#include <errno.h>

#include "base/err.h"

static int setup(void **state)
{
    static const char *const tree[] = {
        "home/",
        "home/.ssh/",
        "ws/",
        "ws/a/",
        "ws/a/b/",
        "ws/a/b/c",
        "ws/link -> a",
        "ws/slashed -> a//b/",
        "ws/abs -> @/ws/a",
        "ws/up -> ../home",
        "ws/l1 -> l2",
        "ws/l2 -> ./l3",
        "ws/l3 -> a/b",
        "ws/a/b/out -> ../../../home",
        "ws/a/self -> .",
        "ws/root -> /",
        "ws/file-link -> a/b/c",
        "ws/gone -> none",
        "ws/gone-2 -> gone/x",
        "ws/loop -> loop",
        "ws/ping -> pong",
        "ws/pong -> ping",
        "cwd/",
        "closed/",
        "closed/secret -> ../ws",
        NULL,
    };

    return resolving_begin(tree);
}

/* The links that were met, with a space after each. */
struct met {
    char links[2048];
    int stop_at; /* fail at this one, from 1 on; 0: never */
    int count;
};

static int note(void *arg, const char *path, struct hutch_error *err)
{
    struct met *met = arg;
    size_t len = strlen(met->links);

    snprintf(met->links + len, sizeof(met->links) - len, "%s ", folded(path));
    if (++met->count == met->stop_at)
        return err_set(err, HUTCH_EBUSY, "here", "enough");
    return 0;
}

/* resolve_walk() with where it ended in two variables. */
static int walk_to(struct resolver *from, const struct policy_item *item, resolve_link_fn *fn,
                   void *arg, const char **directory, const char **rest, struct hutch_error *err)
{
    struct resolved_walk walk = {.directory = *directory, .rest = *rest};
    int r = resolve_walk(from, item, fn, arg, &walk, err);

    *directory = walk.directory;
    *rest = walk.rest;
    return r;
}

static void walks(void **state)
{
    static const struct {
        const char *text, *links, *directory, *rest;
        int from;
    } cases[] = {
        /* without links */
        {"@/ws/a/b", "", "@/ws/a/b", "", FLAG},
        {"@//ws/./a//b/", "", "@/ws/a/b", "", FLAG},
        {"@/ws/a/b/c", "", "@/ws/a/b", "c", FLAG},
        {"@/ws/a/b/c/", "", "@/ws/a/b", "c/", FLAG},
        {"@/ws/a/b/c/below", "", "@/ws/a/b", "c/below", FLAG},
        {"@/ws/none", "", "@/ws", "none", FLAG},
        {"@/ws//none//x/y", "", "@/ws", "none//x/y", FLAG},
        {"@/ws/a/../a/b", "", "@/ws/a/b", "", FLAG},
        {"@/ws/none/../a", "", "@/ws", "none/../a", FLAG}, /* the kernel would not go on either */
        {"/", "", "/", "", FLAG},
        {"/../..", "", "/", "", FLAG},
        {"/hutch-none", "", "/", "hutch-none", FLAG},
        /* where it starts */
        {".", "", "@/cwd", "", FLAG},
        {".", "", "@/ws", "", DOCUMENT},
        {"..", "", "@", "", FLAG},
        {"a/b", "", "@/ws/a/b", "", DOCUMENT},
        {"a/b", "", "@/cwd", "a/b", FLAG},
        {"../ws/a", "", "@/ws/a", "", FLAG},
        {"~", "", "@/home", "", DOCUMENT},
        {"~/.ssh", "", "@/home/.ssh", "", FLAG},
        {"~/.none/x", "", "@/home", ".none/x", DOCUMENT},
        /* with links */
        {"@/ws/link", "@/ws/link ", "@/ws/a", "", FLAG},
        {"@/ws/link/b/none", "@/ws/link ", "@/ws/a/b", "none", FLAG},
        {"link", "@/ws/link ", "@/ws/a", "", DOCUMENT},
        {"@/ws/slashed/c", "@/ws/slashed ", "@/ws/a/b", "c", FLAG},
        {"@/ws/abs/b", "@/ws/abs ", "@/ws/a/b", "", FLAG},
        {"@/ws/up/.ssh", "@/ws/up ", "@/home/.ssh", "", FLAG},
        {"@/ws/l1", "@/ws/l1 @/ws/l2 @/ws/l3 ", "@/ws/a/b", "", FLAG},
        {"@/ws/l1/out/.ssh", "@/ws/l1 @/ws/l2 @/ws/l3 @/ws/a/b/out ", "@/home/.ssh", "", FLAG},
        /* a link by its canonical name, however it was reached */
        {"@/ws/link/b/out", "@/ws/link @/ws/a/b/out ", "@/home", "", FLAG},
        {"@/ws/a/self/self/b", "@/ws/a/self @/ws/a/self ", "@/ws/a/b", "", FLAG},
        {"@/ws/root", "@/ws/root ", "/", "", FLAG},
        {"@/ws/file-link", "@/ws/file-link ", "@/ws/a/b", "c/", FLAG},
        /* ".." is where the link leads */
        {"@/ws/up/..", "@/ws/up ", "@", "", FLAG},
        {"@/ws/l1/../b/c", "@/ws/l1 @/ws/l2 @/ws/l3 ", "@/ws/a/b", "c", FLAG},
        {"../ws/link/../link", "@/ws/link @/ws/link ", "@/ws/a", "", FLAG},
        /* dangling */
        {"@/ws/gone", "@/ws/gone ", "@/ws", "none/", FLAG},
        {"@/ws/gone/x", "@/ws/gone ", "@/ws", "none//x", FLAG},
        {"@/ws/gone-2/y", "@/ws/gone-2 @/ws/gone ", "@/ws", "none//x//y", FLAG},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct policy_item it = item(cases[i].text, cases[i].from);
        struct hutch_error err = {0};
        struct met met = {0};
        const char *directory = NULL;
        const char *rest = NULL;
        int before = open_fds();

        if (walk_to(&resolver, &it, note, &met, &directory, &rest, &err) < 0)
            fail_msg("'%s': %s", cases[i].text, err.msg);
        if (!str_eq(met.links, cases[i].links) || !str_eq(folded(directory), cases[i].directory) ||
            !str_eq(rest, cases[i].rest))
            fail_msg("'%s': links '%s', at '%s', rest '%s'", cases[i].text, met.links,
                     folded(directory), rest);
        assert_int_equal(open_fds(), before);
    }
}

/* What the walk says is what the kernel does: the last directory is the path's own. */
static void the_kernel_agrees(void **state)
{
    static const char *const paths[] = {"@/ws/a/b",  "@/ws/l1/out/.ssh", "@/ws/up/..",
                                        "@/ws/root", "@/ws/a/self/self", "@/ws/l1/../b"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct policy_item it = item(paths[i], FLAG);
        struct met met = {0};
        const char *directory = NULL;
        const char *rest = NULL;
        struct stat walked;
        struct stat kernel;

        assert_int_equal(walk_to(&resolver, &it, note, &met, &directory, &rest, NULL), 0);
        assert_string_equal(rest, "");
        assert_int_equal(lstat(directory, &walked), 0);
        assert_int_equal(stat(it.text, &kernel), 0);
        assert_true(walked.st_dev == kernel.st_dev && walked.st_ino == kernel.st_ino);
    }
}

static void walks_that_fail(void **state)
{
    static const struct {
        const char *text;
        int sys_errno;
    } cases[] = {
        {"@/ws/loop", ELOOP},
        {"@/ws/loop/x", ELOOP},
        {"@/ws/ping", ELOOP},
        {"@/ws/pong/../a", ELOOP},
        {"@/ws/" NAME_100 NAME_100 NAME_100, ENAMETOOLONG},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct policy_item it = item(cases[i].text, FLAG);
        struct hutch_error err = {0};
        struct met met = {0};
        const char *directory = "untouched";
        const char *rest = "untouched";

        assert_int_equal(walk_to(&resolver, &it, note, &met, &directory, &rest, &err),
                         HUTCH_ESYSTEM);
        assert_int_equal(err.code, HUTCH_ESYSTEM);
        assert_int_equal(err.sys_errno, cases[i].sys_errno);
        assert_string_equal(err.where, "--x");
        assert_string_equal(directory, "untouched");
        assert_string_equal(rest, "untouched");
        assert_int_equal(walk_to(&resolver, &it, note, &met, &directory, &rest, NULL),
                         HUTCH_ESYSTEM);
    }
}

/* A chain as long as the kernel follows, and one that is longer. */
static void long_chains(void **state)
{
    char path[PATH_MAX];
    struct policy_item it = {.text = path, .origin = "--x", .from_flag = true};
    char entry[64];

    snprintf(path, sizeof(path), "%s/ws/chain-0", scratch);
    for (int count = 40; count <= 41; count++) {
        struct hutch_error err = {0};
        struct met met = {0};
        const char *directory = NULL;
        const char *rest = NULL;
        struct stat st;

        /* Each leads to the next; the last one to a directory. */
        for (int i = count == 40 ? 0 : 39; i < count; i++) {
            snprintf(entry, sizeof(entry), "@/ws/chain-%d", i);
            unlink(at(entry));
            if (i + 1 < count)
                snprintf(entry, sizeof(entry), "ws/chain-%d -> chain-%d", i, i + 1);
            else
                snprintf(entry, sizeof(entry), "ws/chain-%d -> a", i);
            scratch_add(entry);
        }
        int r = walk_to(&resolver, &it, note, &met, &directory, &rest, &err);
        assert_int_equal(r == 0, stat(it.text, &st) == 0);
        assert_int_equal(r, count == 40 ? 0 : HUTCH_ESYSTEM);
        if (r == 0)
            assert_int_equal(met.count, 40);
        else
            assert_int_equal(err.sys_errno, ELOOP);
    }
}

/* The caller's word is passed on as it is. */
static void the_caller_can_stop(void **state)
{
    struct policy_item it = item("@/ws/l1/out", FLAG);
    const char *directory = "untouched";
    const char *rest = "untouched";

    for (int with_error = 0; with_error < 2; with_error++) {
        struct hutch_error err = {.code = HUTCH_EINTERNAL, .msg = "of before"};
        struct met met = {.stop_at = 2};

        assert_int_equal(
            walk_to(&resolver, &it, note, &met, &directory, &rest, with_error ? &err : NULL),
            HUTCH_EBUSY);
        assert_string_equal(met.links, "@/ws/l1 @/ws/l2 ");
        assert_string_equal(directory, "untouched");
        if (with_error) {
            assert_int_equal(err.code, HUTCH_EBUSY);
            assert_string_equal(err.where, "here");
            assert_string_equal(err.msg, "enough");
        }
    }
}

static void links_are_kept(void **state)
{
    static const struct {
        const char *text, *links; /* the last one first */
    } cases[] = {
        {"@/ws/a/b", ""},
        {"@/ws/link/b", "@/ws/link "},
        {"@/ws/l1/c", "@/ws/l3 @/ws/l2 @/ws/l1 "},
        {"@/ws/file-link", "@/ws/file-link "},
        {"@/ws/l1/out/.ssh", "@/ws/a/b/out @/ws/l3 @/ws/l2 @/ws/l1 "},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct policy_item it = item(cases[i].text, FLAG);
        struct resolved found = {.fd = -1};
        struct hutch_error err = {0};
        char links[2048] = "";

        assert_int_equal(resolve_existing(&resolver, &it, &found, &err), 0);
        for (const struct resolved_link *link = found.links; link; link = link->next)
            snprintf(links + strlen(links), sizeof(links) - strlen(links), "%s ",
                     folded(link->path));
        assert_string_equal(links, cases[i].links);
        fd_close(&found.fd);
    }
}

/* Somebody has changed a link after the kernel followed it: what it led to is not known any more. */
static void links_that_changed_are_refused(void **state)
{
    struct policy_item it = item("@/ws/link/b/c", FLAG);
    struct resolved found = {.exists = true, .path = at("@/home/.ssh")};
    struct hutch_error err = {0};

    assert_int_equal(resolve_links(&resolver, &it, &found, &err), HUTCH_EPOLICY);
    assert_non_null(strstr(err.msg, "name the target itself"));
    assert_null(found.links);
    found.path = at("@/ws/a/b/c");
    assert_int_equal(resolve_links(&resolver, &it, &found, &err), 0);
    assert_non_null(found.links);
}

static void nowhere_to_start(void **state)
{
    struct resolver lost = resolver;
    struct policy_item relative = item("a", DOCUMENT);
    struct policy_item home = item("~/x", FLAG);
    struct hutch_error err = {0};
    struct met met = {0};
    const char *directory = NULL;
    const char *rest = NULL;

    lost.home = NULL;
    lost.workspace.fd = -1;
    assert_int_equal(walk_to(&lost, &relative, note, &met, &directory, &rest, &err), HUTCH_EPOLICY);
    assert_non_null(strstr(err.msg, "in memory"));
    assert_int_equal(walk_to(&lost, &home, note, &met, &directory, &rest, &err), HUTCH_EPOLICY);
    assert_non_null(strstr(err.msg, "HOME"));
    assert_int_equal(met.count, 0);
}

static int walk_into_closed(void)
{
    struct policy_item it = item("@/closed/secret/a", FLAG);
    struct hutch_error err = {0};
    struct met met = {0};
    const char *directory = NULL;
    const char *rest = NULL;

    if (walk_to(&resolver, &it, note, &met, &directory, &rest, &err) < 0)
        return 1;
    if (met.count != 0 || !str_eq(folded(directory), "@/closed"))
        return 2;
    return str_eq(rest, "secret/a") ? 0 : 3;
}

/* What may not be looked at ends the walk, as what is not there does. */
static void a_closed_directory_is_the_end(void **state)
{
    assert_int_equal(chmod(at("@/closed"), 0), 0);
    int r = as_nobody(walk_into_closed);
    assert_int_equal(chmod(at("@/closed"), 0755), 0);
    assert_int_equal(r, 0);
}

#define WALK_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, resolving_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WALK_TEST(walks),
        WALK_TEST(the_kernel_agrees),
        WALK_TEST(walks_that_fail),
        WALK_TEST(long_chains),
        WALK_TEST(the_caller_can_stop),
        WALK_TEST(links_are_kept),
        WALK_TEST(links_that_changed_are_refused),
        WALK_TEST(nowhere_to_start),
        WALK_TEST(a_closed_directory_is_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
