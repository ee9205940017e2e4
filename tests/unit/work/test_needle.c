/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/needle.h"

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

static void takes_and_refuses(void **state)
{
    static char longest[5000];
    const struct {
        const char *pattern;
        bool regex, ignore_case;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"A.*(\\1", false, false, "A.*(\\1"},
        {"A.*(\\1", false, true, "a.*(\\1"},
        {"ÄB", false, true, "Äb"},
        {"a+", true, false, "a+"},
        {"a(", true, false, NULL},
        {"a\nb", false, false, NULL},
        {"a\nb", true, false, NULL},
        {"", false, false, NULL},
        {"", true, false, NULL},
        {longest, false, false, NULL},
        {"\xff\x01", false, false, "\xff\x01"},
    };

    memset(longest, 'a', sizeof longest - 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        struct needle needle;
        int r = needle_init(&needle, cases[i].pattern, cases[i].regex, cases[i].ignore_case, &arena,
                            &err);

        assert_int_equal(r, cases[i].want ? 0 : HUTCH_EINVALID);
        assert_string_equal(err.where, cases[i].want ? "" : "pattern");
        if (cases[i].want)
            assert_string_equal(needle.text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(takes_and_refuses, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
