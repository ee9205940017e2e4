/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/str.h"

static void utf8(void **state)
{
    static const struct {
        const char *data;
        bool want;
    } cases[] = {
        {"", true},
        {"plain", true},
        {"gr\xc3\xbc\xc3\x9f", true},
        {"\xe2\x82\xac", true},
        {"\xf0\x9f\x90\xb0", true},
        {"\xf4\x8f\xbf\xbf", true},
        {"\xed\x9f\xbf", true},
        {"\xc3", false},
        {"\x80", false},
        {"\xc0\xaf", false}, /* overlong */
        {"\xc1\xbf", false},
        {"\xe0\x80\xaf", false},     /* overlong */
        {"\xf0\x80\x80\xaf", false}, /* overlong */
        {"\xed\xa0\x80", false},     /* surrogate */
        {"\xf4\x90\x80\x80", false}, /* above U+10FFFF */
        {"\xf5\x80\x80\x80", false},
        {"\xe2\x82", false},
        {"\xf0\x9f\x90", false},
        {"\xff", false},
        {"a\xe2(\xa1", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (str_is_utf8(cases[i].data, strlen(cases[i].data)) != cases[i].want)
            fail_msg("case %zu", i);
    }
    assert_true(str_is_utf8("a\0b", 3));
}

static void printable(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        const char *want;
    } cases[] = {
        {"plain", 64, "plain"},
        {"gr\xc3\xbc\xc3\x9f", 64, "gr\xc3\xbc\xc3\x9f"},
        {"a\033[31mb", 64, "a\\x1b[31mb"},
        {"line\nfeed\ttab\r", 64, "line\\x0afeed\\x09tab\\x0d"},
        {"\x7f", 64, "\\x7f"},
        {"\xc2\x9b"
         "31m",
         64, "\\xc2\\x9b31m"}, /* C1 CSI */
        {"\xe2\x80\xae"
         "abc",
         64,
         "\\xe2\\x80\\xae"
         "abc"}, /* right-to-left override */
        {"\xe2\x81\xa6", 64, "\\xe2\\x81\\xa6"},
        {"\xe2\x80\xa8", 64, "\\xe2\\x80\\xa8"}, /* line separator */
        {"\xe2\x80\xa6", 64, "\xe2\x80\xa6"},
        {"\xff\xfe", 64, "\\xff\\xfe"},
        {"back\\slash", 64, "back\\slash"},
        {"abcdef", 7, "abcdef"},
        {"abcdef", 6, "ab..."},
        {"abcdef", 4, "..."},
        {"abcdef", 3, ""},
        {"abcdef", 1, ""},
        {"ab", 3, "ab"},
        {"", 1, ""},
        {"\033\033", 8, "\\x1b..."},
        {"\xc3\xbc\xc3\xbc\xc3\xbc", 6, "\xc3\xbc..."},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[65];

        memset(out, 'X', sizeof(out));
        assert_ptr_equal(str_printable(cases[i].text, out, cases[i].size), out);
        if (!str_eq(out, cases[i].want))
            fail_msg("case %zu: wanted '%s', got '%s'", i, cases[i].want, out);
        assert_int_equal(out[cases[i].size], 'X');
    }
    char none = 'X';
    str_printable("abc", &none, 0);
    assert_int_equal(none, 'X');
}

static void printable_twice_is_printable_once(void **state)
{
    char once[64];
    char twice[64];

    str_printable("a\033b\xff\\x1b\xc3\xbc", once, sizeof(once));
    assert_string_equal(str_printable(once, twice, sizeof(twice)), once);
}

static void starts(void **state)
{
    assert_true(str_starts("abc", "ab"));
    assert_true(str_starts("abc", ""));
    assert_false(str_starts("ab", "abc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8),
        cmocka_unit_test(printable),
        cmocka_unit_test(printable_twice_is_printable_once),
        cmocka_unit_test(starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
