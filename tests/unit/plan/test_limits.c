/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include "base/str.h"

static void limits(void **state)
{
    static const struct {
        const char *json;
        struct plan_limits want;
    } cases[] = {
        {"{}", {120000, 1 << 20, 1024, 1 << 30}},
        {"{\"limits\":{\"timeout\":\"500ms\",\"output\":\"32K\",\"open_files\":16,"
         "\"file_size\":\"2G\"}}",
         {500, 32 << 10, 16, 2ULL << 30}},
        {"{\"limits\":{\"timeout\":\"unlimited\"}}", {NUM_NO_LIMIT, 1 << 20, 1024, 1 << 30}},
        {"{\"limits\":{\"timeout\":\"unlimited\",\"output\":\"unlimited\","
         "\"open_files\":\"unlimited\",\"file_size\":\"unlimited\"}}",
         {NUM_NO_LIMIT, NUM_NO_LIMIT, NUM_NO_LIMIT, NUM_NO_LIMIT}},
        {"{\"limits\":{\"output\":1}}", {120000, 1, 1024, 1 << 30}},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct policy policy;
        struct plan plan = {0};
        struct hutch_error err = {0};

        policy_init(&policy);
        if (policy_merge_json(&policy, cases[i].json, strlen(cases[i].json), "doc", &err) < 0)
            fail_msg("%s: %s", cases[i].json, err.msg);
        plan_pass_limits(&policy, &plan);
        if (plan.limits.timeout_ms != cases[i].want.timeout_ms ||
            plan.limits.output_bytes != cases[i].want.output_bytes ||
            plan.limits.open_files != cases[i].want.open_files ||
            plan.limits.file_size_bytes != cases[i].want.file_size_bytes)
            fail_msg("%s", cases[i].json);
        policy_clear(&policy);
    }
}

/* A profile's number is for hosts of any size, and is not held against this one. */
static void what_was_asked_for(void **state)
{
    static const struct {
        const char *json, *source;
        bool memory, cpus, disk, processes, open_files;
    } cases[] = {
        {"{}", "doc", false, false, false, false, false},
        {"{\"extends\":\"strict\"}", "doc", false, false, false, false, false},
        {"{\"extends\":\"strict\",\"limits\":{\"memory\":\"2G\"}}", "doc", true},
        {"{\"limits\":{\"cpus\":1}}", "cpus in profile", false, true},
        {"{\"limits\":{\"cpus\":1}}", "x in profile y", false, true},
        {"{\"limits\":{\"disk\":\"1G\"}}", "doc", .disk = true},
        {"{\"limits\":{\"open_files\":10}}", "doc", .open_files = true},
        {"{\"limits\":{\"processes\":99999999}}", "doc", .processes = true},
        /* every host has as many: not looked at */
        {"{\"limits\":{\"processes\":32768}}", "doc", .processes = false},
        {"{\"limits\":{\"processes\":\"unlimited\"}}", "doc", .processes = false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct policy policy;
        struct plan plan = {0};
        struct hutch_error err = {0};

        policy_init(&policy);
        if (policy_merge_json(&policy, cases[i].json, strlen(cases[i].json), cases[i].source,
                              &err) < 0)
            fail_msg("%s: %s", cases[i].json, err.msg);
        plan_pass_limits(&policy, &plan);
        assert_int_equal(plan.limits.host_memory_bytes != NUM_NO_LIMIT, cases[i].memory);
        assert_int_equal(plan.limits.cpus_asked_for, cases[i].cpus);
        assert_int_equal(plan.limits.disk_asked_for, cases[i].disk);
        assert_int_equal(plan.limits.host_processes != NUM_NO_LIMIT, cases[i].processes);
        assert_int_equal(plan.limits.host_open_files != NUM_NO_LIMIT, cases[i].open_files);
        policy_clear(&policy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(what_was_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
