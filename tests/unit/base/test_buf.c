/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"

#include <stdlib.h>

#include "base/str.h"

static void additions_follow_one_another(void **state)
{
    struct buf buf;

    buf_init(&buf, 1000);
    buf_puts(&buf, "one ");
    buf_add(&buf, "t\0o", 3);
    buf_printf(&buf, " %d", 3);
    assert_int_equal(buf.len, 9);
    assert_memory_equal(buf.data, "one t\0o 3", 10);

    str_auto char *taken = buf_take(&buf);
    assert_memory_equal(taken, "one t\0o 3", 10);
    assert_null(buf.data);
    assert_int_equal(buf.len, 0);
    buf_clear(&buf);
}

static void nothing_added_is_an_empty_string(void **state)
{
    struct buf buf;

    buf_init(&buf, 0);
    str_auto char *taken = buf_take(&buf);
    assert_string_equal(taken, "");
}

static void maximum_is_exact_and_failure_sticky(void **state)
{
    struct buf buf;

    buf_init(&buf, 4);
    buf_puts(&buf, "four");
    assert_false(buf.failed);
    buf_puts(&buf, "!");
    assert_true(buf.failed);
    buf_puts(&buf, "");
    assert_int_equal(buf.len, 4);
    assert_null(buf_take(&buf));
    buf_clear(&buf);
    assert_false(buf.failed);

    buf_printf(&buf, "%d", 12345);
    assert_null(buf_take(&buf));
    buf_clear(&buf);
}

static void sizes_cannot_overflow(void **state)
{
    buf_auto struct buf buf;

    buf_init(&buf, SIZE_MAX);
    buf_puts(&buf, "x");
    buf_add(&buf, "y", SIZE_MAX - 1);
    assert_true(buf.failed);
}

static void grows_to_a_megabyte(void **state)
{
    struct buf buf;

    buf_init(&buf, 1 << 20);
    for (int i = 0; i < 1 << 16; i++)
        buf_puts(&buf, "0123456789abcdef");
    assert_false(buf.failed);
    assert_int_equal(buf.len, 1 << 20);
    buf_clear(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(additions_follow_one_another),
        cmocka_unit_test(nothing_added_is_an_empty_string),
        cmocka_unit_test(maximum_is_exact_and_failure_sticky),
        cmocka_unit_test(sizes_cannot_overflow),
        cmocka_unit_test(grows_to_a_megabyte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
