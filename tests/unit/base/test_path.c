/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/path.h"

#include "base/arena.h"
#include "base/str.h"

static void normalize(void **state)
{
    static const struct {
        const char *base, *path, *want; /* NULL: refused */
    } cases[] = {
        {"/home/me", "src", "/home/me/src"},
        {"/home/me", "./src//lib/.", "/home/me/src/lib"},
        {"/home/me", ".", "/home/me"},
        {"/home/me", "", "/home/me"},
        {"/home//me/", "x/", "/home/me/x"},
        {"/home/me", "/etc", "/etc"},
        {"/home/me", "//etc///passwd//", "/etc/passwd"},
        {"/home/me", "/", "/"},
        {"/home/me", "///", "/"},
        {"/", ".", "/"},
        {"/", "a", "/a"},
        {"/home/me", "/./.", "/"},
        {"/home/me", "...", "/home/me/..."},
        {"/home/me", "..a/b..", "/home/me/..a/b.."},
        {"/home/me", ".hidden", "/home/me/.hidden"},
        {"/home/me", "..", NULL},
        {"/home/me", "a/..", NULL},
        {"/home/me", "a/../b", NULL},
        {"/home/me", "/..", NULL},
        {"/home/../me", "a", NULL},
        {"/home/../me", "/a", "/a"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena arena;

        arena_init(&arena);
        const char *got = path_normalize(&arena, cases[i].base, cases[i].path);
        if (!got != !cases[i].want || (got && !str_eq(got, cases[i].want)))
            fail_msg("'%s' in '%s': wanted '%s', got '%s'", cases[i].path, cases[i].base,
                     cases[i].want ? cases[i].want : "NULL", got ? got : "NULL");
        assert_false(arena_failed(&arena));
        arena_clear(&arena);
    }
}

static void join(void **state)
{
    static const struct {
        const char *dir, *name, *want;
    } cases[] = {
        {"/usr", "bin", "/usr/bin"}, {"/usr/", "/bin", "/usr/bin"}, {"/", "usr", "/usr"},
        {"/", "/usr", "/usr"},       {"a", "b/c", "a/b/c"},         {"/usr//", "bin", "/usr/bin"},
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(path_join(&arena, cases[i].dir, cases[i].name), cases[i].want);
    arena_clear(&arena);
}

static void within(void **state)
{
    static const struct {
        const char *path, *dir;
        bool want;
    } cases[] = {
        {"/usr/bin", "/usr", true}, {"/usr", "/usr", true},       {"/usr", "/", true},
        {"/", "/", true},           {"/usrlocal", "/usr", false}, {"/usr", "/usr/bin", false},
        {"/", "/usr", false},       {"/us", "/usr", false},       {"/usr/bin2", "/usr/bin", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (path_is_within(cases[i].path, cases[i].dir) != cases[i].want)
            fail_msg("'%s' in '%s'", cases[i].path, cases[i].dir);
    }
}

static void depth_and_parent(void **state)
{
    static const struct {
        const char *path;
        size_t depth;
        const char *parent;
    } cases[] = {
        {"/", 0, "/"},
        {"/usr", 1, "/"},
        {"/usr/bin", 2, "/usr"},
        {"/usr/bin/env", 3, "/usr/bin"},
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(path_depth(cases[i].path), cases[i].depth);
        assert_string_equal(path_parent(&arena, cases[i].path), cases[i].parent);
    }
    arena_clear(&arena);
}

static void globs(void **state)
{
    assert_true(path_is_glob("*.c"));
    assert_true(path_is_glob("/a/**/b"));
    assert_true(path_is_glob("a?"));
    assert_true(path_is_glob("[ab]"));
    assert_false(path_is_glob("/plain/path]"));
    assert_false(path_is_glob(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalize),        cmocka_unit_test(join),  cmocka_unit_test(within),
        cmocka_unit_test(depth_and_parent), cmocka_unit_test(globs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
