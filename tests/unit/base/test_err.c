/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"

#include <errno.h>
#include <string.h>

static void set_fills_everything(void **state)
{
    struct hutch_error err;

    memset(&err, 0x55, sizeof(err));
    assert_int_equal(err_set(&err, HUTCH_EPOLICY, "/a/b", "'%s' is %d", "x", 7), HUTCH_EPOLICY);
    assert_int_equal(err.code, HUTCH_EPOLICY);
    assert_int_equal(err.sys_errno, 0);
    assert_string_equal(err.where, "/a/b");
    assert_string_equal(err.msg, "'x' is 7");

    err_set(&err, HUTCH_EINVALID, NULL, "no place");
    assert_string_equal(err.where, "");
}

static void sys_keeps_errno(void **state)
{
    struct hutch_error err;

    assert_int_equal(err_sys(&err, -EACCES, "/x", "cannot open '%s'", "x"), HUTCH_ESYSTEM);
    assert_int_equal(err.sys_errno, EACCES);
    assert_string_equal(err.msg, "cannot open 'x': Permission denied");
    assert_int_equal(err_sys(&err, -ENOMEM, NULL, "no"), HUTCH_ENOMEM);
    assert_int_equal(err_oom(&err), HUTCH_ENOMEM);
    assert_int_equal(err.code, HUTCH_ENOMEM);
    assert_int_equal(err.sys_errno, ENOMEM);
    assert_string_equal(err.msg, "out of memory");
}

static void the_step_is_named_once(void **state)
{
    struct hutch_error err = {0};

    assert_int_equal(err_in(err_oom(&err), "plan", &err), HUTCH_ENOMEM);
    assert_string_equal(err.where, "plan");
    assert_int_equal(err_in(err.code, "run", &err), HUTCH_ENOMEM);
    assert_string_equal(err.where, "plan");
    err.where[0] = '\0';
    assert_int_equal(err_in(0, "run", &err), 0);
    assert_string_equal(err.where, "");
    assert_int_equal(err_in(HUTCH_EBUSY, "run", NULL), HUTCH_EBUSY);
}

static void null_is_accepted(void **state)
{
    assert_int_equal(err_set(NULL, HUTCH_EBUSY, "a", "b"), HUTCH_EBUSY);
    assert_int_equal(err_sys(NULL, -EIO, "a", "b"), HUTCH_ESYSTEM);
    assert_int_equal(err_oom(NULL), HUTCH_ENOMEM);
}

static void nothing_reaches_a_terminal_raw(void **state)
{
    struct hutch_error err;

    err_set(&err, HUTCH_EPOLICY, "/\033[2J", "bad '%s'", "\033]0;owned\a\n");
    assert_string_equal(err.where, "/\\x1b[2J");
    assert_string_equal(err.msg, "bad '\\x1b]0;owned\\x07\\x0a'");
}

static void long_texts_are_cut(void **state)
{
    struct hutch_error err;
    char text[2000];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    err_set(&err, HUTCH_EPOLICY, text, "%s", text);
    assert_int_equal(strlen(err.where), sizeof(err.where) - 1);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    assert_string_equal(err.where + sizeof(err.where) - 4, "...");
    assert_string_equal(err.msg + sizeof(err.msg) - 4, "...");

    static const char end[] = "a...: Input/output error";
    err_sys(&err, -EIO, text, "%s", text);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    assert_string_equal(err.msg + sizeof(err.msg) - sizeof(end), end);
}

static void own_fields_can_be_arguments(void **state)
{
    struct hutch_error err;

    err_set(&err, HUTCH_EPOLICY, "place", "inner");
    err_set(&err, HUTCH_EPOLICY, err.where, "outer: %s", err.msg);
    assert_string_equal(err.where, "place");
    assert_string_equal(err.msg, "outer: inner");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_everything),           cmocka_unit_test(sys_keeps_errno),
        cmocka_unit_test(the_step_is_named_once),         cmocka_unit_test(null_is_accepted),
        cmocka_unit_test(nothing_reaches_a_terminal_raw), cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(own_fields_can_be_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
