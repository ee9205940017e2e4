/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/resolve.h"

#include "../scratch.h"

static struct arena arena;
static struct resolver resolver;

static int setup(void **state)
{
    static const char *const tree[] = {
        "a.c",
        "b.c",
        "ab.c",
        ".hidden.c",
        "x1",
        "x2",
        "xa",
        "dir/",
        "dir/a.c",
        "dir/sub/",
        "dir/sub/a.c",
        "dir/sub/deep/",
        "dir/sub/deep/a.c",
        "dir/.h/",
        "dir/.h/a.c",
        "out -> dir",
        "empty/",
        "loop -> .",
        NULL,
    };

    scratch_make(tree);
    arena_init(&arena);
    setenv("HOME", at("@/dir"), 1);
    if (chdir(scratch) < 0 || resolver_init(&resolver, &arena, NULL) < 0)
        return -1;
    resolver.workspace.fd = open(at("@/dir"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return resolver.workspace.fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    resolver_clear(&resolver);
    arena_clear(&arena);
    return scratch_remove(state);
}

struct matches {
    const char *paths[64];
    size_t count;
    size_t calls;
    int answer; /* what the callback returns */
};

static int collect(void *arg, const struct policy_item *match, struct hutch_error *err)
{
    struct matches *matches = arg;

    matches->calls++;
    assert_string_equal(match->origin, "--hide");
    if (matches->count < ARRAY_LEN(matches->paths))
        matches->paths[matches->count++] = match->text;
    return matches->answer;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The matches, sorted, without the scratch directory: "a.c b.c". */
static const char *joined(struct matches *matches)
{
    static char out[2048];
    size_t len = 0;
    size_t root = strlen(scratch) + 1;

    qsort(matches->paths, matches->count, sizeof(matches->paths[0]), by_text);
    out[0] = '\0';
    for (size_t i = 0; i < matches->count; i++) {
        assert_memory_equal(matches->paths[i], scratch, root - 1);
        len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s", i ? " " : "",
                                matches->paths[i] + root);
    }
    return out;
}

static int glob_for(const char *pattern, bool from_flag, struct matches *matches,
                    struct hutch_error *err)
{
    struct policy_item item = {.text = at(pattern), .origin = "--hide", .from_flag = from_flag};

    *err = (struct hutch_error){0};
    return resolve_glob(&resolver, &item, collect, matches, err);
}

static void patterns(void **state)
{
    static const struct {
        const char *pattern, *want;
    } cases[] = {
        {"@/*.c", "a.c ab.c b.c"},
        {"@/?.c", "a.c b.c"},
        {"@/??.c", "ab.c"},
        {"@/.*.c", ".hidden.c"},
        {"@/x[0-9]", "x1 x2"},
        {"@/x[!0-9]", "xa"},
        {"@/[a-b]*", "a.c ab.c b.c"},
        {"@/[.]hidden.c", ""}, /* a leading dot is matched by a dot only, as in a shell */
        {"@/*", "a.c ab.c b.c dir empty loop out x1 x2 xa"},
        {"@//*.c", "a.c ab.c b.c"},
        {"@/./*.c", "a.c ab.c b.c"},
        {"@/*/", "a.c ab.c b.c dir empty loop out x1 x2 xa"},
        {"@/*/a.c", "dir/a.c"},
        {"@/d*/s*/a.c", "dir/sub/a.c"},
        {"@/dir/*//a.c", "dir/sub/a.c"},
        {"@/dir/sub/../*.c", "dir/a.c"},
        /* "**": any number of directories, hidden ones too, links never */
        {"@/**/a.c", "a.c dir/.h/a.c dir/a.c dir/sub/a.c dir/sub/deep/a.c"},
        {"@/dir/**/a.c", "dir/.h/a.c dir/a.c dir/sub/a.c dir/sub/deep/a.c"},
        {"@/dir/**/deep", "dir/sub/deep"},
        {"@/dir/**/deep/*", "dir/sub/deep/a.c"},
        {"@/dir/**", "dir/.h dir/a.c dir/sub"},
        {"@/dir/**/", "dir/.h dir/a.c dir/sub"},
        {"@/empty/**", ""},
        {"@/dir/**/**/a.c", "dir/.h/a.c dir/a.c dir/sub/a.c dir/sub/deep/a.c"},
        {"@/dir/**/**//**", "dir/.h dir/a.c dir/sub"},
        {"@/dir/***/a.c", "dir/sub/a.c"},
        {"@/**/none", ""},
        /* links: followed before the first wildcard, never after it */
        {"@/out/*.c", "dir/a.c"},
        {"@/o*", "out"},
        {"@/o*/a.c", ""},
        {"@/loop/loop/*.c", "a.c ab.c b.c"},
        /* nothing there is no mistake */
        {"@/none/*", ""},
        {"@/a.c/*", ""},
        {"@/*/../a.c", ""},
        {"@/[", ""},
        {"@/x[", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct matches matches = {0};
        struct hutch_error err;
        int before = open_fds();

        assert_int_equal(glob_for(cases[i].pattern, true, &matches, &err), 0);
        if (!str_eq(joined(&matches), cases[i].want))
            fail_msg("'%s' matches '%s'", cases[i].pattern, joined(&matches));
        assert_int_equal(open_fds(), before);
    }
}

static void relative_patterns_start_where_they_were_said(void **state)
{
    static const struct {
        const char *pattern;
        bool from_flag;
        const char *want;
    } cases[] = {
        {"*.c", true, "a.c ab.c b.c"},
        {"*.c", false, "dir/a.c"},
        {"**/deep", false, "dir/sub/deep"},
        {"**/deep", true, "dir/sub/deep"},
        {"**", false, "dir/.h dir/a.c dir/sub"},
        {"sub/*", false, "dir/sub/a.c dir/sub/deep"},
        {"~/*.c", false, "dir/a.c"},
        {"~/**/deep", true, "dir/sub/deep"},
        {"./?.c", true, "a.c b.c"},
        {"../*.c", false, "a.c ab.c b.c"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct matches matches = {0};
        struct hutch_error err;

        assert_int_equal(glob_for(cases[i].pattern, cases[i].from_flag, &matches, &err), 0);
        if (!str_eq(joined(&matches), cases[i].want))
            fail_msg("'%s' matches '%s'", cases[i].pattern, joined(&matches));
    }
}

static void a_refusal_ends_the_walk(void **state)
{
    struct matches matches = {.answer = HUTCH_EPOLICY};
    struct hutch_error err;
    int before = open_fds();

    assert_int_equal(glob_for("@/**/a.c", true, &matches, &err), HUTCH_EPOLICY);
    assert_int_equal(matches.calls, 1);
    assert_int_equal(open_fds(), before);
}

static void matches_are_limited(void **state)
{
    struct matches matches = {0};
    struct hutch_error err;
    char name[32];
    int before = open_fds();

    scratch_add("many/");
    for (int i = 0; i < RESOLVE_MATCHES_MAX; i++) {
        snprintf(name, sizeof(name), "many/%d", i);
        scratch_add(name);
    }
    assert_int_equal(glob_for("@/many/*", true, &matches, &err), 0);
    assert_int_equal(matches.calls, RESOLVE_MATCHES_MAX);

    scratch_add("many/more");
    matches = (struct matches){0};
    assert_int_equal(glob_for("@/many/*", true, &matches, &err), HUTCH_EPOLICY);
    assert_int_equal(matches.calls, RESOLVE_MATCHES_MAX);
    assert_string_equal(err.where, "--hide");
    assert_non_null(strstr(err.msg, "4096"));
    assert_int_equal(open_fds(), before);
}

static void depth_is_limited(void **state)
{
    struct matches matches = {0};
    struct hutch_error err;
    char path[300] = "deep/";
    int before = open_fds();

    for (int i = 0; i < 80; i++) {
        scratch_add(path);
        strcat(path, "d/");
    }
    assert_int_equal(glob_for("@/deep/**/none", true, &matches, &err), HUTCH_EPOLICY);
    assert_non_null(strstr(err.msg, "deep"));
    assert_int_equal(open_fds(), before);
    assert_int_equal(glob_for("@/deep/d/d/*", true, &matches, &err), 0);
    assert_int_equal(matches.calls, 1);
}

#define GLOB_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GLOB_TEST(patterns),
        GLOB_TEST(relative_patterns_start_where_they_were_said),
        GLOB_TEST(a_refusal_ends_the_walk),
        GLOB_TEST(matches_are_limited),
        GLOB_TEST(depth_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
