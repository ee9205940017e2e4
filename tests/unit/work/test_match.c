/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/match.h"

#include <string.h>
#include <time.h>

#include "base/str.h"

static void names(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool want, want_hidden;
    } cases[] = {
        {"a", "a", true, true},
        {"a", "b", false, false},
        {"a", "ab", false, false},
        {"ab", "a", false, false},
        {"*", "anything", true, true},
        {"*", "", true, true},
        {"?", "", false, false},
        {"?", "x", true, true},
        {"?", "ö", true, true},
        {"?", "\xff", true, true},
        {"??", "\xffz", true, true},
        {"?", "\xc3", true, true},
        {"*.py", "x.py", true, true},
        {"*.py", "x.pyc", false, false},
        {"*.py", ".py", false, true},
        {"*.py", ".x.py", false, true},
        {".*", ".x", true, true},
        {"\\.x", ".x", true, true},
        {"[.]x", ".x", false, true},
        {"?x", ".x", false, true},
        {"a*b*c", "abc", true, true},
        {"a*b*c", "aXbYbZc", true, true},
        {"a*b*c", "aXbYbZ", false, false},
        {"**", "ab", true, true},
        {"a**b", "aXb", true, true},
        {"[abc]", "b", true, true},
        {"[abc]", "d", false, false},
        {"[a-c]x", "bx", true, true},
        {"[!a-c]", "d", true, true},
        {"[!a-c]", "b", false, false},
        {"[^a-c]", "b", false, false},
        {"[^a-c]", "ü", true, true},
        {"[ä-ö]", "ö", true, true},
        {"[ä-ö]", "z", false, false},
        {"[]]", "]", true, true},
        {"[!]]", "]", false, false},
        {"[]-a]", "^", true, true},
        {"[a-]", "-", true, true},
        {"[-a]", "-", true, true},
        {"[\\]]", "]", true, true},
        {"[[:digit:]]", "7", true, true},
        {"[[:digit:]]", "x", false, false},
        {"[[:alpha:][:digit:]_]", "_", true, true},
        {"[![:space:]]", "x", true, true},
        {"[[:nonsense:]]", "x", false, false},
        {"[[:alpha:]]", "ä", false, false},
        {"[", "[", true, true},
        {"[a", "[a", true, true},
        {"[!", "[!", true, true},
        {"[[:alpha:]", "[[:alpha:]", false, false},
        {"\\*", "*", true, true},
        {"\\*", "x", false, false},
        {"\\", "\\", true, true},
        {"a\\", "a\\", true, true},
        {"\n*", "\nx", true, true},
        {"\xff*", "\xff\xfe", true, true},
        {"\xff", "ÿ", false, false},
        {"", "", true, true},
        {"", "x", false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (match_name(cases[i].pattern, cases[i].name, false) != cases[i].want ||
            match_name(cases[i].pattern, cases[i].name, true) != cases[i].want_hidden)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
    }
}

static void stars_do_not_multiply(void **state)
{
    char pattern[256], name[256];
    clock_t start = clock();

    for (size_t i = 0; i < 250; i += 2)
        memcpy(pattern + i, "a*", 3);
    memcpy(pattern + 250, "b", 2);
    memset(name, 'a', 255);
    name[255] = '\0';
    assert_false(match_name(pattern, name, false));
    assert_true((clock() - start) < CLOCKS_PER_SEC / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(stars_do_not_multiply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
