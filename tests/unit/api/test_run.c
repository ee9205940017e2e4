/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <hutch.h>

#include "../scratch.h"

static struct hutch_policy *policy;

static int setup(void **state)
{
    static const char *const tree[] = {"ws/", NULL};
    struct hutch_error err = {0};

    scratch_make(tree);
    if (hutch_policy_new(NULL, &policy, &err) < 0 ||
        hutch_policy_set(policy, "--workspace", at("@/ws"), NULL, &err) < 0)
        return -1;
    return chdir(scratch);
}

static int teardown(void **state)
{
    hutch_policy_free(policy);
    policy = NULL;
    return scratch_remove(state);
}

static void null_arguments(void **state)
{
    static const char *const argv[] = {"true", NULL};
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;
    struct hutch_run *run = NULL;
    struct hutch_error err = {0};
    char *text = NULL;

    command.argv = argv;
    const int answers[] = {
        hutch_explain(NULL, &command, HUTCH_TEXT, &text, &err),
        hutch_explain(policy, NULL, HUTCH_TEXT, &text, &err),
        hutch_explain(policy, &command, HUTCH_TEXT, NULL, &err),
        hutch_run(NULL, &command, &result, &err),
        hutch_run(policy, NULL, &result, &err),
        hutch_run(policy, &command, NULL, &err),
        hutch_run_start(NULL, &command, NULL, NULL, &run, &err),
        hutch_run_start(policy, NULL, NULL, NULL, &run, &err),
        hutch_run_start(policy, &command, NULL, NULL, NULL, &err),
        hutch_run_fd(NULL),
        hutch_run_step(NULL, 0, &err),
        hutch_run_signal(NULL, 15, &err),
        hutch_run_resize(NULL, 24, 80, &err),
        hutch_run_cancel(NULL, &err),
        hutch_run_finish(NULL, &result, &err),
        hutch_run_result(NULL, &result, &err),
        hutch_result_from_error(NULL, &result, &err),
        hutch_result_from_error(&err, NULL, &err),
        hutch_run(NULL, NULL, NULL, NULL),
    };

    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        if (answers[i] != HUTCH_EINVALID)
            fail_msg("row %zu: %d", i, answers[i]);
    assert_true(!text && !run && !result);
    hutch_run_free(NULL);
    hutch_result_free(NULL);
}

/* Programs built against another hutch.h: what both know counts, the rest has its default. */
static void sizes_of_a_command(void **state)
{
    static const char *const argv[] = {"true", NULL};
    struct {
        struct hutch_command command;
        char more[64];
    } given = {.command = HUTCH_COMMAND_INIT};
    const struct {
        size_t size;
        int want;
        const char *cwd; /* what is shown of it */
    } cases[] = {
        {0, HUTCH_EINVALID, NULL},
        {sizeof(size_t), HUTCH_EINVALID, NULL},
        {offsetof(struct hutch_command, cwd) - 1, HUTCH_EINVALID, NULL},
        {offsetof(struct hutch_command, cwd), 0, "\ndirectory    @/ws\n"},
        {offsetof(struct hutch_command, stdin_fd), 0, "\ndirectory    /inside\n"},
        {sizeof(struct hutch_command), 0, "\ndirectory    /inside\n"},
        {sizeof(given), 0, "\ndirectory    /inside\n"},
    };

    memset(given.more, 0xff, sizeof(given.more));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        str_auto char *text = NULL;

        given.command.argv = argv;
        given.command.cwd = "/inside";
        given.command.size = cases[i].size;
        assert_int_equal(hutch_explain(policy, &given.command, HUTCH_TEXT, &text, &err),
                         cases[i].want);
        if (cases[i].want) {
            assert_string_equal(err.where, "command");
            assert_non_null(strstr(err.msg, "HUTCH_COMMAND_INIT"));
        } else if (!strstr(folded(text), cases[i].cwd)) {
            fail_msg("row %zu: %s", i, text);
        }
    }
}

static void commands_that_cannot_be(void **state)
{
    static const char *const nothing[] = {NULL};
    static const char *const empty[] = {"", NULL};
    const char *const *const cases[] = {NULL, nothing, empty};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_command command = HUTCH_COMMAND_INIT;
        struct hutch_error err = {0};
        struct hutch_result *result = NULL;
        char *text = NULL;
        int before = open_fds();

        command.argv = cases[i];
        assert_int_equal(hutch_explain(policy, &command, HUTCH_JSON, &text, &err), HUTCH_EINVALID);
        assert_int_equal(hutch_run(policy, &command, &result, &err), HUTCH_EINVALID);
        assert_true(!text && !result);
        assert_int_equal(open_fds(), before);
    }
}

static void plans_are_explained_in_both_forms(void **state)
{
    static const char *const argv[] = {"true", NULL};
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_error err = {0};
    str_auto char *text = NULL;
    str_auto char *json = NULL;
    int before = open_fds();

    command.argv = argv;
    assert_int_equal(hutch_explain(policy, &command, HUTCH_TEXT, &text, &err), 0);
    assert_int_equal(hutch_explain(policy, &command, HUTCH_JSON, &json, &err), 0);
    assert_true(str_starts(text, "command      true\n"));
    assert_true(str_starts(json, "{"));
    assert_int_equal(open_fds(), before);
}

static void an_error_can_be_a_result(void **state)
{
    const struct hutch_error failed = {.code = HUTCH_EPOLICY, .where = "--x", .msg = "wrong"};
    struct hutch_result *result = NULL;

    assert_int_equal(hutch_result_from_error(&failed, &result, NULL), 0);
    assert_int_equal(result->size, sizeof(*result));
    assert_int_equal(result->reason, HUTCH_SETUP);
    assert_int_equal(result->status, 125);
    assert_int_equal(result->exit_code, -1);
    assert_int_equal(result->error.code, HUTCH_EPOLICY);
    assert_string_equal(result->error.msg, "wrong");
    hutch_result_free(result);
}

#define RUN_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(null_arguments),           RUN_TEST(sizes_of_a_command),
        RUN_TEST(commands_that_cannot_be),  RUN_TEST(plans_are_explained_in_both_forms),
        RUN_TEST(an_error_can_be_a_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
