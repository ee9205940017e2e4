/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/explain.h"

#include "base/json.h"
#include "hostile.h"

static json_t *explained(const struct plan *plan, const struct plan_command *command)
{
    struct hutch_error err = {0};
    str_auto char *text = NULL;

    assert_int_equal(plan_explain_json(plan, command, &text, &err), 0);
    assert_harmless(text);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!root)
        fail_msg("not JSON: %s", text);
    return root;
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void every_step_is_listed(void **state)
{
    plan_auto struct plan *plan = NULL;
    struct plan_command command;

    hostile_plan(&plan, &command);
    json_auto_ref json_t *root = explained(plan, &command);
    const json_t *mounts = json_object_get(root, "mounts");
    assert_true(plan->mount_count > 20);
    assert_int_equal(json_array_size(mounts), plan->mount_count);
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        const json_t *row = json_array_get(mounts, i);
        bool has_access = mount->kind == MOUNT_BIND || mount->kind == MOUNT_TMPFS;

        assert_string_equal(text_at(row, "kind"), plan_kind_name(mount->kind));
        assert_string_equal(text_at(row, "why"), plan_why_name(mount->why));
        assert_non_null(text_at(row, "target"));
        if (str_is_utf8(mount->target, strlen(mount->target)))
            assert_string_equal(text_at(row, "target"), mount->target);
        assert_int_equal(!text_at(row, "source"), !mount->source);
        assert_int_equal(!text_at(row, "origin"), !mount->origin);
        assert_int_equal(!json_object_get(row, "writable"), !has_access);
        if (has_access)
            assert_int_equal(json_is_true(json_object_get(row, "writable")), mount->writable);
    }
}

/* Filter, Landlock and what is watched, or may be connected to: all of it, whatever it is called. */
static void the_locks_are_listed(void **state)
{
    static const struct plan_watch watched[] = {
        {"/ws", "none"}, {"/ws", ".git/hooks"}, {"/", "top"}, {"/ws " EVIL, "none " EVIL}};
    static const char *const want[] = {"/ws/none", "/ws/.git/hooks", "/top"};
    static const struct plan_socket sockets[] = {{.path = "/run/a"}, {.path = "/run/" EVIL}};
    plan_auto struct plan *plan = NULL;
    struct plan_command command;

    hostile_plan(&plan, &command);
    plan->watches = (struct plan_watch *)watched;
    plan->watch_count = ARRAY_LEN(watched);
    plan->sockets = (struct plan_socket *)sockets;
    plan->socket_count = ARRAY_LEN(sockets);
    plan->landlock_abi = 6;
    json_auto_ref json_t *root = explained(plan, &command);
    const json_t *locks = json_object_get(root, "locks");
    assert_int_equal(json_object_size(locks), 5);
    assert_string_equal(text_at(locks, "syscalls"), "default");
    assert_int_equal(json_integer_value(json_object_get(locks, "landlock")), 6);
    assert_string_equal(text_at(locks, "unix"), "private");
    const json_t *array = json_object_get(locks, "sockets");
    assert_int_equal(json_array_size(array), ARRAY_LEN(sockets));
    assert_string_equal(json_string_value(json_array_get(array, 0)), "/run/a");
    array = json_object_get(locks, "watched");
    assert_int_equal(json_array_size(array), ARRAY_LEN(watched));
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_string_equal(json_string_value(json_array_get(array, i)), want[i]);
    plan->unix_filter = plan->filter;
    json_auto_ref json_t *none = explained(plan, &command);
    assert_string_equal(text_at(json_object_get(none, "locks"), "unix"), "none");
}

static void keys(void **state)
{
    static const char *const known[] = {"argv",     "cwd",     "tty",    "isolation",
                                        "identity", "network", "layout", "workspace",
                                        "limits",   "locks",   "mounts", "environment"};
    plan_auto struct plan *plan = NULL;
    struct plan_command command;

    hostile_plan(&plan, &command);
    plan->identity.uid = 4294967294U;
    plan->net = NET_HOST;
    command.tty = true;
    json_auto_ref json_t *root = explained(plan, &command);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (!json_object_get(root, known[i]))
            fail_msg("no key '%s'", known[i]);
    assert_int_equal(json_object_size(root), ARRAY_LEN(known));
    assert_int_equal(json_array_size(json_object_get(root, "argv")), 5);
    assert_true(json_is_true(json_object_get(root, "tty")));
    assert_string_equal(text_at(root, "network"), "host");
    assert_string_equal(text_at(root, "layout"), "host");
    const json_t *identity = json_object_get(root, "identity");
    assert_int_equal(json_integer_value(json_object_get(identity, "user")), 4294967294LL);
    assert_int_equal(json_integer_value(json_object_get(identity, "host_user")),
                     plan->identity.host_uid);
    assert_string_equal(text_at(identity, "hostname"), "hutch");
    const json_t *limits = json_object_get(root, "limits");
    assert_string_equal(text_at(limits, "timeout_ms"), "unlimited");
    assert_int_equal(json_integer_value(json_object_get(limits, "output_bytes")), 1 << 20);
    assert_int_equal(json_integer_value(json_object_get(limits, "open_files")), 77);
    /* No bytes of the name but those that are not UTF-8 are lost. */
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "argv"), 1)),
                        "ev\033[31mil\r\n\xef\xbf\xbd\xe2\x80\xae'\"");
}

static void a_command_may_have_its_own(void **state)
{
    static const char *const env[] = {"FOO=bar", NULL};
    plan_auto struct plan *plan = NULL;
    struct plan_command command;

    hostile_plan(&plan, &command);
    command.env = env;
    command.timeout_ms = 1500;
    json_auto_ref json_t *root = explained(plan, &command);
    const json_t *limits = json_object_get(root, "limits");
    assert_int_equal(json_integer_value(json_object_get(limits, "timeout_ms")), 1500);
    assert_string_equal(text_at(json_object_get(limits, "means"), "timeout"), "supervisor");
    const json_t *variables = json_object_get(root, "environment");
    assert_int_equal(json_array_size(variables), 1);
    assert_string_equal(json_string_value(json_array_get(variables, 0)), "FOO=bar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_step_is_listed, scratch_remove),
        cmocka_unit_test_teardown(the_locks_are_listed, scratch_remove),
        cmocka_unit_test_teardown(keys, scratch_remove),
        cmocka_unit_test_teardown(a_command_may_have_its_own, scratch_remove),
    };

    cmocka_set_message_output(getenv("CMOCKA_MESSAGE_OUTPUT") ? CM_OUTPUT_TAP : CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
