/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cli/rpc/methods.h"

#include "base/str.h"

static void the_table_is_sorted_and_whole(void **state)
{
    for (const struct method *row = methods; row->name; row++) {
        assert_true(row->params && row->help && row->result);
        assert_int_equal(!row->run, row->file != NULL);
        if (row > methods)
            assert_true(strcmp(row[-1].name, row->name) < 0);
        assert_ptr_equal(method_find(row->name), row);
        for (const struct param *param = row->params; param->name[0]; param++) {
            assert_true(param->help[0]);
            assert_int_equal(param->type == PARAM_COUNT, param->max != 0);
            for (const struct param *other = row->params; other < param; other++)
                assert_string_not_equal(other->name, param->name);
        }
    }
    assert_non_null(method_find("host.doctor"));
    assert_null(method_find("guard.check"));
    assert_null(method_find(""));
}

/* The names that can be subscribed to are those that events have. */
static void types_of_events_are_the_librarys(void **state)
{
    char name[64] = "";
    int type;

    for (type = HUTCH_EVENT_SANDBOX_STARTED; !str_eq(name, "unknown"); type++) {
        const struct hutch_event event = {
            .size = sizeof event, .type = (enum hutch_event_type)type, .sandbox = "x", .data = ""};
        str_auto char *json = NULL;

        assert_int_equal(hutch_event_to_json(&event, &json, NULL), 0);
        const char *found = strstr(json, "\"type\":\"");
        assert_non_null(found);
        assert_int_equal(sscanf(found, "\"type\":\"%63[^\"]", name), 1);
        assert_int_equal(notify_bit(name), str_eq(name, "unknown") ? 0 : 1U << type);
    }
    assert_true(type > HUTCH_EVENT_SHELL_STOPPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_sorted_and_whole),
        cmocka_unit_test(types_of_events_are_the_librarys),
    };

    return cmocka_run_group_tests_name("rpc methods", tests, NULL, NULL);
}
