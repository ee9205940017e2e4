/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "run/result.h"

#include <signal.h>

#include "base/str.h"

static void statuses(void **state)
{
    static const struct {
        enum hutch_reason reason;
        int exit_code, signal, want;
    } cases[] = {
        {HUTCH_EXITED, 0, 0, 0},
        {HUTCH_EXITED, 3, 0, 3},
        {HUTCH_EXITED, 255, 0, 255},
        {HUTCH_SIGNALED, -1, SIGKILL, 137},
        {HUTCH_SIGNALED, -1, SIGSEGV, 139},
        {HUTCH_SIGNALED, -1, 64, 192},
        /* a limit says more than how the command went */
        {HUTCH_TIMEOUT, -1, SIGTERM, 124},
        {HUTCH_TIMEOUT, -1, SIGKILL, 124},
        {HUTCH_TIMEOUT, 0, 0, 124},
        {HUTCH_TIMEOUT, 7, 0, 124},
        {HUTCH_CANCELLED, -1, SIGKILL, 137},
        {HUTCH_CANCELLED, 5, 0, 5},
        {HUTCH_SETUP, -1, 0, 125},
        {HUTCH_SETUP, 0, 0, 125},
        {HUTCH_SETUP, 126, 0, 126},
        {HUTCH_SETUP, 127, 0, 127},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_result result = {
            .reason = cases[i].reason, .exit_code = cases[i].exit_code, .signal = cases[i].signal};
        if (result_status(&result) != cases[i].want)
            fail_msg("row %zu: %d", i, result_status(&result));
    }
}

static void a_new_result_can_be_read(void **state)
{
    struct hutch_result *result = result_new(true);

    assert_non_null(result);
    assert_int_equal(result->size, sizeof(*result));
    assert_int_equal(result->exit_code, -1);
    assert_string_equal(result->stdout_data, "");
    assert_string_equal(result->stderr_data, "");
    assert_string_equal(result->sandbox, "");
    assert_null(result->enforced[0].name);
    assert_null(result->setup[0].name);
    assert_int_equal(result->error.code, 0);
    result_free(result);
    result_free(NULL);
}

static void it_owns_what_it_is_given(void **state)
{
    struct hutch_result *result = result_new(false);

    assert_non_null(result);
    result_give_output(result, 1, strdup("out"), 3);
    result_give_output(result, 2, strdup("er\0r"), 4);
    result->sandbox = arena_strdup(result_arena(result), "k3f9");
    assert_string_equal(result->stdout_data, "out");
    assert_int_equal(result->stdout_len, 3);
    assert_string_equal(result->stderr_data, "er");
    assert_int_equal(result->stderr_len, 4);
    result_free(result); /* the sanitizer build sees what is not freed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses),
        cmocka_unit_test(a_new_result_can_be_read),
        cmocka_unit_test(it_owns_what_it_is_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
