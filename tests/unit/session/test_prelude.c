/* SPDX-License-Identifier: Apache-2.0 */
/* The programs as text; what they do is tested where they run, in tests/box/test_shell.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "session/prelude.h"

#include <string.h>

#include "base/buf.h"

#define DIR "/tmp/.hutch-shell-00"

/* One line, every placeholder replaced, nothing of `~`, which a shell would take for a home. */
static void check_text(struct buf *script)
{
    assert_false(script->failed);
    assert_null(strchr(script->data, '\n'));
    assert_null(strchr(script->data, '~'));
    assert_null(strchr(script->data, '#'));
    assert_non_null(strstr(script->data, DIR));
    buf_clear(script);
}

static void programs_are_one_line(void **state)
{
    struct buf script;

    buf_init(&script, 1 << 16);
    prelude_probe(&script, DIR);
    check_text(&script);
    buf_init(&script, 1 << 16);
    prelude_interactive(&script, PRELUDE_SH, DIR, 1);
    check_text(&script);
    buf_init(&script, 1 << 16);
    prelude_interactive(&script, PRELUDE_BASH, DIR, 1);
    check_text(&script);
}

static void commands_name_their_number_and_parts(void **state)
{
    static const enum prelude_dialect dialects[] = {PRELUDE_SH, PRELUDE_BASH};

    for (size_t i = 0; i < 2; i++) {
        struct buf script;

        buf_init(&script, 1 << 16);
        prelude_command(&script, dialects[i], DIR, UINT64_MAX, 11);
        assert_non_null(strstr(script.data, "18446744073709551615 "));
        assert_non_null(strstr(script.data, "${1}${2}"));
        assert_non_null(strstr(script.data, "${10}${11}; set --;"));
        check_text(&script);
    }
}

static void a_full_buffer_is_noticed(void **state)
{
    struct buf script;

    buf_init(&script, 100);
    prelude_command(&script, PRELUDE_BASH, DIR, 1, 1);
    assert_true(script.failed);
    buf_clear(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_one_line),
        cmocka_unit_test(commands_name_their_number_and_parts),
        cmocka_unit_test(a_full_buffer_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
