/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/braces.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

static void expands(void **state)
{
    static const struct {
        const char *in, *want; /* sorted by nothing: as they come */
    } cases[] = {
        {"", ""},
        {"a", "a"},
        {"{a,b}", "a b"},
        {"x{a,b}y", "xay xby"},
        {"{a,b}{c,d}", "ac bc ad bd"},
        {"a{b,c{d,e}}f", "abf acdf acef"},
        {"{a,b,}", "a b "},
        {"{,a}", " a"},
        {"{a}", "{a}"},
        {"{}", "{}"},
        {"{a", "{a"},
        {"a}", "a}"},
        {"{a,b", "{a,b"},
        {"{{a,b}", "{a {b"},
        {"{a,b}}", "a} b}"},
        {"{x{a,b}}", "{xa} {xb}"},
        {"\\{a,b}", "\\{a,b}"},
        {"{a\\,b,c}", "a\\,b c"},
        {"[{]a,b}", "[{]a,b}"},
        {"{[,],b}", "[,] b"},
        {"{[]},],b}", "[]},] b"},
        {"{a/b,c}/d", "a/b/d c/d"},
        {"{**,a}/x", "**/x a/x"},
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct braces got;
        char text[256] = "";

        assert_int_equal(braces_expand(cases[i].in, 10, &arena, &got), 0);
        for (size_t k = 0; k < got.count; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k ? " " : "",
                     got.items[k]);
        assert_string_equal(text, cases[i].want);
    }
    arena_clear(&arena);
}

static void knows_how_many_are_too_many(void **state)
{
    struct arena arena;
    struct braces got;
    char deep[900];

    arena_init(&arena);
    assert_int_equal(braces_expand("{a,b}{a,b}{a,b}", 8, &arena, &got), 0);
    assert_int_equal(got.count, 8);
    assert_int_equal(braces_expand("{a,b}{a,b}{a,b}", 7, &arena, &got), -E2BIG);
    assert_int_equal(braces_expand("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
                                   1000, &arena, &got),
                     -E2BIG);
    memset(deep, '{', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    assert_int_equal(braces_expand(deep, 1000, &arena, &got), 0);
    assert_int_equal(got.count, 1);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands),
        cmocka_unit_test(knows_how_many_are_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
