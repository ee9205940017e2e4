/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/pattern.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"

static struct arena arena;

static int setup(void **state)
{
    arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    arena_clear(&arena);
    return 0;
}

enum { HIDDEN = 1, ANCHORED = 2 };

/* Whether any of the alternatives matches the whole of `path`; prefixes are left in. */
static bool matches(const char *text, int flags, const char *path)
{
    struct pattern_options options = {
        .hidden = flags & HIDDEN, .anchored = flags & ANCHORED, .keep_prefix = true};
    struct hutch_error err = {0};
    struct pattern_set set;

    if (pattern_parse(text, &options, "pattern", &arena, &set, &err) < 0)
        fail_msg("'%s': %s", text, err.msg);
    for (size_t i = 0; i < set.count; i++)
        if (pattern_is_end(&set.items[i], pattern_walk(&set.items[i], path)))
            return true;
    return false;
}

static void paths(void **state)
{
    static const struct {
        const char *pattern;
        unsigned long flags;
        const char *path;
        bool want;
    } cases[] = {
        {"*.py", 0, "x.py", true},
        {"*.py", 0, "a/b/x.py", true},
        {"*.py", ANCHORED, "x.py", true},
        {"*.py", ANCHORED, "a/x.py", false},
        {"/*.py", 0, "x.py", true},
        {"/*.py", 0, "a/x.py", false},
        {"./*.py", 0, "a/x.py", false},
        {"*.py", 0, ".venv/x.py", true}, /* a bare pattern looks everywhere ... */
        {"*.py", 0, ".x.py", false},     /* ... but for names of its own kind */
        {".*.py", 0, ".x.py", true},
        {"*.py", HIDDEN, ".x.py", true},
        {"**/*.py", 0, "x.py", true},
        {"**/*.py", 0, "a/b/c/x.py", true},
        {"**/*.py", 0, ".venv/x.py", false},
        {"**/*.py", HIDDEN, ".venv/x.py", true},
        {".venv/**/*.py", 0, ".venv/a/x.py", true},
        {"a/**", 0, "a", false},
        {"a/**", 0, "a/b", true},
        {"a/**", 0, "a/b/c", true},
        {"a/**", 0, "a/.b", false},
        {"**", 0, "a/b/c", true},
        {"**/**/**", 0, "a", true},
        {"a/**/b", 0, "a/b", true},
        {"a/**/b", 0, "a/x/y/b", true},
        {"a/**/b", 0, "a/x/y/c", false},
        {"a/**/b/**/c", 0, "a/b/b/x/c", true},
        {"**/x/**/.h/**/b", 0, "x/y/x/.h/b", true},
        {"a**/b", 0, "axx/b", true},
        {"a**/b", 0, "a/x/b", false},
        {"{src,test}/*.{c,h}", 0, "test/x.h", true},
        {"{src,test}/*.{c,h}", 0, "doc/x.h", false},
        {"{a/b,c}/d", 0, "a/b/d", true},
        {"a//b", 0, "a/b", true},
        {"a/./b", 0, "a/b", true},
        {"[a/b]", 0, "a/b", false}, /* "/" ends a component, brackets or not */
        {"*", 0, "new\nline", true},
        {"*", 0, "\xff\xfe", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (matches(cases[i].pattern, cases[i].flags, cases[i].path) != cases[i].want)
            fail_msg("'%s' and '%s' (%lu)", cases[i].pattern, cases[i].path, cases[i].flags);
}

static void prefixes(void **state)
{
    static const struct {
        const char *pattern, *prefix;
        unsigned parts;
    } cases[] = {
        {"src/lib/*.c", "src/lib", 1},
        {"src/*/x", "src", 2},
        {"a/b", "a", 1},
        {"*.c", "", 2},
        {"a/**", "a", 2},
        {"a/\\b/c", "a", 2},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pattern_options options = {0};
        struct pattern_set set;

        assert_int_equal(pattern_parse(cases[i].pattern, &options, "p", &arena, &set, NULL), 0);
        assert_int_equal(set.count, 1);
        assert_string_equal(set.items[0].prefix, cases[i].prefix);
        assert_int_equal(set.items[0].count, cases[i].parts);
    }
}

static void refuses(void **state)
{
    static char many[400], longest[1100], broad[80];
    const char *const cases[] = {"",       "/",        ".",  "./",    "..", "../x",
                                 "a/../b", "{a,../b}", many, longest, broad};

    for (size_t i = 0; i < 80; i++)
        memcpy(many + 2 * i, "a/", 3);
    memset(longest, 'a', sizeof longest - 1);
    for (size_t i = 0; i < 12; i++)
        memcpy(broad + 5 * i, "{a,b}", 6);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pattern_options options = {0};
        struct hutch_error err = {0};
        struct pattern_set set;

        if (pattern_parse(cases[i], &options, "glob", &arena, &set, &err) != HUTCH_EINVALID)
            fail_msg("'%s' is taken", cases[i]);
        assert_string_equal(err.where, "glob");
        assert_int_equal(err.code, HUTCH_EINVALID);
    }
}

static void knows_what_is_not_worth_entering(void **state)
{
    struct pattern_options options = {.keep_prefix = true};
    struct pattern_set set;

    assert_int_equal(pattern_parse("a/*/c", &options, "p", &arena, &set, NULL), 0);
    const struct pattern *p = &set.items[0];
    assert_true(pattern_goes_on(p, pattern_walk(p, "a")));
    assert_true(pattern_goes_on(p, pattern_walk(p, "a/b")));
    assert_false(pattern_goes_on(p, pattern_walk(p, "b")));
    assert_false(pattern_goes_on(p, pattern_walk(p, "a/b/c")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paths, setup, teardown),
        cmocka_unit_test_setup_teardown(prefixes, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(knows_what_is_not_worth_entering, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
