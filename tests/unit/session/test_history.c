/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "session/history.h"

#include <stdlib.h>
#include <string.h>

static void the_last_ones_are_kept(void **state)
{
    struct history history = {0};
    char text[32];

    for (int i = 0; i < HISTORY_MAX + 10; i++) {
        snprintf(text, sizeof text, "echo %d", i);
        history_add(&history, text);
    }
    assert_int_equal(history.count, HISTORY_MAX);
    assert_string_equal(history.rows[0], "echo 10");
    assert_string_equal(history.rows[HISTORY_MAX - 1], "echo 1009");
    history_clear(&history);
    history_clear(&history);
}

static void bytes_are_bounded(void **state)
{
    struct history history = {0};
    char *long_text = malloc(HISTORY_BYTES_MAX + 1);

    assert_non_null(long_text);
    memset(long_text, 'x', HISTORY_BYTES_MAX + 1);
    long_text[HISTORY_BYTES_MAX] = '\0';
    history_add(&history, "first");
    history_add(&history, long_text); /* with its end one too many: not kept */
    assert_int_equal(history.count, 1);

    long_text[HISTORY_BYTES_MAX - 7] = '\0';
    history_add(&history, long_text); /* with "first" exactly all */
    assert_int_equal(history.count, 2);
    assert_int_equal(history.bytes, HISTORY_BYTES_MAX);
    history_add(&history, "a");
    assert_int_equal(history.count, 2);
    assert_string_equal(history.rows[1], "a");
    history_add(&history, long_text);
    assert_int_equal(history.count, 2);
    assert_true(history.bytes <= HISTORY_BYTES_MAX);
    history_clear(&history);
    free(long_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_ones_are_kept),
        cmocka_unit_test(bytes_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
