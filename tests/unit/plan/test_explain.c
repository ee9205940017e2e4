/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/explain.h"

#include "hostile.h"

static int teardown(void **state)
{
    return scratch_remove(state);
}

static void nothing_is_shown_raw(void **state)
{
    plan_auto struct plan *plan = NULL;
    struct plan_command command;
    struct hutch_error err = {0};
    str_auto char *text = NULL;

    hostile_plan(&plan, &command);
    assert_int_equal(plan_explain_text(plan, &command, &text, &err), 0);
    assert_harmless(text);
    assert_null(strstr(text, "\xe2\x80\xae")); /* it turns the reading direction */
    /* Still there, spelled out; and no name can begin a line of its own. */
    assert_non_null(strstr(text, "ev\\x1b[31mil\\x0d\\x0a\\xff"));
    assert_null(strstr(text, "\n\\xff"));
}

static void the_page_has_everything(void **state)
{
    static const char *const parts[] = {
        "command      echo '",
        " plain '' 'it'\\''s'\n",
        "directory    /cwd",
        "terminal     none\n",
        "level container, backend native",
        "identity     user 1000, group 1000;",
        "host name hutch, no capabilities, no new privileges\n",
        "network      none but its own loopback\n",
        "limits       timeout    unlimited\n",
        "             open_files 77 (rlimit)\n",
        "             output     1M (supervisor)\n",
        "layout host;",
        "\n  read       /\n",
        "\n  own        /proc\n",
        "\n  memory     /tmp\n",
        "(workspace, --workspace)\n",
        "(hide, --hide)\n",
        "\n  hidden     /tmp/hutch-unit-",
        "\nenvironment\n",
        "\n  SHOWN=value ev",
        "\n  PATH=/usr/local/bin:/usr/bin:/bin\n",
    };
    plan_auto struct plan *plan = NULL;
    struct plan_command command;
    struct hutch_error err = {0};
    str_auto char *text = NULL;

    hostile_plan(&plan, &command);
    assert_int_equal(plan_explain_text(plan, &command, &text, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!strstr(text, parts[i]))
            fail_msg("no '%s' in\n%s", parts[i], text);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void the_locks_are_shown(void **state)
{
    static const struct plan_watch watched[] = {
        {"/ws", "none"}, {"/", "top"}, {"/ws " EVIL, "none " EVIL}};
    static const struct plan_socket sockets[] = {{.path = "/run/a"}, {.path = "/run/" EVIL}};
    static const char *const parts[] = {
        "syscalls     filter default\n",
        "landlock     version 6\n",
        "/run/a",
        "/run/ev\\x1b[31mil",
        "watched      /ws/none\n",
        "\n             /top\n",
        "\n             /ws ev\\x1b[31mil",
    };
    plan_auto struct plan *plan = NULL;
    struct plan_command command;
    struct hutch_error err = {0};
    str_auto char *text = NULL;
    str_auto char *without = NULL;

    hostile_plan(&plan, &command);
    assert_int_equal(plan_explain_text(plan, &command, &without, &err), 0);
    assert_null(strstr(without, "watched"));
    plan->watches = (struct plan_watch *)watched;
    plan->watch_count = ARRAY_LEN(watched);
    plan->sockets = (struct plan_socket *)sockets;
    plan->socket_count = ARRAY_LEN(sockets);
    plan->landlock_abi = 6;
    assert_int_equal(plan_explain_text(plan, &command, &text, &err), 0);
    assert_harmless(text);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!strstr(text, parts[i]))
            fail_msg("no '%s' in\n%s", parts[i], text);
}

static void the_group_is_shown(void **state)
{
    static const struct {
        struct plan_cgroup cgroup;
        const char *want; /* NULL: nothing */
    } cases[] = {
        {{.version = 0}, NULL},
        {{.version = 1}, "in a control group (v1)\n"},
        {{.version = 2}, "in a control group (v2)\n"},
        {{.version = 2, .unit = true}, "in a control group (v2) that the user's systemd makes\n"},
    };
    plan_auto struct plan *plan = NULL;
    struct plan_command command;
    struct hutch_error err = {0};

    hostile_plan(&plan, &command);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan copy = *plan;
        str_auto char *text = NULL;

        copy.cgroup = cases[i].cgroup;
        assert_int_equal(plan_explain_text(&copy, &command, &text, &err), 0);
        assert_int_equal(strstr(text, "control group") != NULL, cases[i].want != NULL);
        assert_true(!cases[i].want || strstr(text, cases[i].want));
    }
}

static void a_command_may_have_its_own(void **state)
{
    static const char *const env[] = {"SHOWN=own", "FOO=bar", NULL};
    plan_auto struct plan *plan = NULL;
    struct plan_command command;
    struct hutch_error err = {0};
    str_auto char *text = NULL;

    hostile_plan(&plan, &command);
    command.env = env;
    command.timeout_ms = 1500;
    assert_int_equal(plan_explain_text(plan, &command, &text, &err), 0);
    assert_non_null(strstr(text, "timeout    1500ms (supervisor)\n"));
    assert_non_null(strstr(text, "\nenvironment\n  SHOWN=own\n  FOO=bar\n"));
}

static void every_word_has_a_name(void **state)
{
    for (int i = WHY_LAYOUT; i <= WHY_HIDE; i++) {
        assert_non_null(plan_why_name(i));
        for (int k = WHY_LAYOUT; k < i; k++)
            assert_string_not_equal(plan_why_name(i), plan_why_name(k));
    }
    for (int i = MOUNT_BIND; i <= MOUNT_SEAL; i++) {
        assert_non_null(plan_kind_name(i));
        for (int k = MOUNT_BIND; k < i; k++)
            assert_string_not_equal(plan_kind_name(i), plan_kind_name(k));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_is_shown_raw, teardown),
        cmocka_unit_test_teardown(the_page_has_everything, teardown),
        cmocka_unit_test_teardown(the_locks_are_shown, teardown),
        cmocka_unit_test_teardown(the_group_is_shown, teardown),
        cmocka_unit_test_teardown(a_command_may_have_its_own, teardown),
        cmocka_unit_test(every_word_has_a_name),
    };

    cmocka_set_message_output(getenv("CMOCKA_MESSAGE_OUTPUT") ? CM_OUTPUT_TAP : CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
