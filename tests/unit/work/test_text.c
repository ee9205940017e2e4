/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/text.h"

#include <string.h>

#include "base/str.h"

static void characters_are_not_cut(void **state)
{
    static const struct {
        const char *data;
        size_t want;
    } cases[] = {
        {"", 0},
        {"a", 1},
        {"aö", 3},
        {"a\xc3", 1},
        {"a\xe2\x82", 1},
        {"a\xe2\x82\xac", 4},
        {"\xf0\x9f\x98", 0},
        {"\xf0\x9f\x98\x80", 4},
        {"\xf0", 0},
        {"a\x80", 2}, /* not UTF-8 anyway */
        {"\x80\x80\x80\x80\x80", 5},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(text_whole(cases[i].data, strlen(cases[i].data)), cases[i].want);
}

static void text_or_not(void **state)
{
    static char data[TEXT_PROBE_BYTES + 16];

    assert_true(text_is_text("", 0));
    assert_true(text_is_text("hello\n", 6));
    assert_true(text_is_text("\xc3\xb6", 2));
    assert_false(text_is_text("a\0b", 3));
    assert_false(text_is_text("a\xff", 2));
    assert_false(text_is_text("a\xc3", 2)); /* the file ends there */
    assert_true(text_is_bytes("a\xff", 2));
    assert_false(text_is_bytes("a\0b", 3));

    memset(data, 'x', sizeof data);
    memcpy(data + TEXT_PROBE_BYTES - 1, "\xc3\xb6", 2); /* cut by the probe, not by the file */
    assert_true(text_is_text(data, sizeof data));
    data[TEXT_PROBE_BYTES + 3] = '\0'; /* too far away to be seen */
    assert_true(text_is_text(data, sizeof data));
    data[TEXT_PROBE_BYTES - 2] = '\0';
    assert_false(text_is_text(data, sizeof data));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_not_cut),
        cmocka_unit_test(text_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
