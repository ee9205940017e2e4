/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/plan.h"

#include "base/str.h"

static void directories(void **state)
{
    static const struct {
        const char *cwd, *want; /* NULL: refused */
    } cases[] = {
        {NULL, "/work/space"},
        {"", "/work/space"},
        {".", "/work/space"},
        {"sub", "/work/space/sub"},
        {"./sub//deep/", "/work/space/sub/deep"},
        {"/", "/"},
        {"//tmp//", "/tmp"},
        {"/tmp/.", "/tmp"},
        {"~", "/work/space/~"},
        {"..x", "/work/space/..x"},
        {"..", NULL},
        {"sub/..", NULL},
        {"/tmp/../etc", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        static const char *const argv[] = {"true", NULL};
        struct plan plan = {.workspace = "/work/space"};
        struct hutch_command command = HUTCH_COMMAND_INIT;
        struct plan_command built = {.cwd = "untouched"};
        struct hutch_error err = {0};

        arena_init(&plan.arena);
        command.argv = argv;
        command.cwd = cases[i].cwd;
        int r = plan_command_build(&plan, &command, &plan.arena, &built, &err);
        if (r != (cases[i].want ? 0 : HUTCH_EINVALID))
            fail_msg("'%s': %d %s", cases[i].cwd, r, err.msg);
        assert_string_equal(built.cwd, cases[i].want ? cases[i].want : "untouched");
        if (!cases[i].want) {
            assert_string_equal(err.where, "--cwd");
            assert_non_null(strstr(err.msg, cases[i].cwd));
        }
        arena_clear(&plan.arena);
    }
}

static void commands_that_are_none(void **state)
{
    static const char *const nothing[] = {NULL};
    static const char *const no_name[] = {"", "argument", NULL};
    const char *const *const cases[] = {NULL, nothing, no_name};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan = {.workspace = "/"};
        struct hutch_command command = HUTCH_COMMAND_INIT;
        struct plan_command built;
        struct hutch_error err = {0};

        arena_init(&plan.arena);
        command.argv = cases[i];
        assert_int_equal(plan_command_build(&plan, &command, &plan.arena, &built, &err),
                         HUTCH_EINVALID);
        assert_string_equal(err.where, "command");
        assert_non_null(strstr(err.msg, i < 2 ? "no command" : "empty"));
        arena_clear(&plan.arena);
    }
}

static void a_command_is_copied(void **state)
{
    char name[] = "echo";
    char arg[] = "a b\n";
    char cwd[] = "/tmp";
    const char *argv[] = {name, arg, "", NULL};
    struct plan plan = {.workspace = "/"};
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct plan_command built;
    struct hutch_error err = {0};

    arena_init(&plan.arena);
    command.argv = argv;
    command.cwd = cwd;
    assert_int_equal(plan_command_build(&plan, &command, &plan.arena, &built, &err), 0);
    memset(name, 'x', 4);
    memset(arg, 'x', 4);
    memset(cwd, 'x', 4);
    argv[0] = NULL;
    assert_string_equal(built.argv[0], "echo");
    assert_string_equal(built.argv[1], "a b\n");
    assert_string_equal(built.argv[2], "");
    assert_null(built.argv[3]);
    assert_string_equal(built.cwd, "/tmp");
    arena_clear(&plan.arena);
}

static void terminals_have_a_size(void **state)
{
    static const struct {
        bool tty;
        uint16_t rows, cols, want_rows, want_cols;
    } cases[] = {
        {false, 0, 0, 24, 80},   {true, 0, 0, 24, 80},       {true, 50, 0, 50, 80},
        {true, 0, 132, 24, 132}, {true, 65535, 1, 65535, 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        static const char *const argv[] = {"true", NULL};
        struct plan plan = {.workspace = "/"};
        struct hutch_command command = HUTCH_COMMAND_INIT;
        struct plan_command built;
        struct hutch_error err = {0};

        arena_init(&plan.arena);
        command.argv = argv;
        command.tty = cases[i].tty;
        command.rows = cases[i].rows;
        command.cols = cases[i].cols;
        assert_int_equal(plan_command_build(&plan, &command, &plan.arena, &built, &err), 0);
        assert_int_equal(built.tty, cases[i].tty);
        assert_int_equal(built.rows, cases[i].want_rows);
        assert_int_equal(built.cols, cases[i].want_cols);
        arena_clear(&plan.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directories),
        cmocka_unit_test(commands_that_are_none),
        cmocka_unit_test(a_command_is_copied),
        cmocka_unit_test(terminals_have_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
