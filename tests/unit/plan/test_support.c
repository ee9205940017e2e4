/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include "base/str.h"

static int support(const char *json, struct hutch_error *err)
{
    struct policy policy;

    *err = (struct hutch_error){0};
    policy_init(&policy);
    if (policy_merge_json(&policy, json, strlen(json), "doc", err) < 0)
        fail_msg("%s: %s", json, err->msg);
    int r = plan_pass_support(&policy, err);
    assert_int_equal(r, err->code);
    policy_clear(&policy);
    return r;
}

static void settings_that_are_not_enforced_are_refused(void **state)
{
    static const struct {
        const char *json, *where, *text;
    } cases[] = {
        {"{\"isolation\":{\"level\":\"none\"}}", "/isolation/level", "'none'"},
        {"{\"isolation\":{\"level\":\"process\"}}", "/isolation/level", "'process'"},
        {"{\"isolation\":{\"level\":\"vm\"}}", "/isolation/level", "'vm'"},
        {"{\"isolation\":{\"level\":\"wasm\"}}", "/isolation/level", "'wasm'"},
        {"{\"isolation\":{\"backend\":\"landlock\"}}", "/isolation/backend", "'landlock'"},
        {"{\"isolation\":{\"backend\":\"bwrap\"}}", "/isolation/backend", "'bwrap'"},
        {"{\"isolation\":{\"backend\":\"firejail\"}}", "/isolation/backend", "'firejail'"},
        {"{\"isolation\":{\"backend\":\"docker\"}}", "/isolation/backend", "'docker'"},
        {"{\"isolation\":{\"backend\":\"podman\"}}", "/isolation/backend", "'podman'"},
        {"{\"isolation\":{\"backend\":\"seatbelt\"}}", "/isolation/backend", "'seatbelt'"},
        {"{\"isolation\":{\"backend\":\"ulimit\"}}", "/isolation/backend", "'ulimit'"},
        {"{\"isolation\":{\"backend\":\"none\"}}", "/isolation/backend", "'none'"},
        {"{\"isolation\":{\"backend\":\"qemu\"}}", "/isolation/backend", "'qemu'"},
        {"{\"isolation\":{\"backend\":\"wasm\"}}", "/isolation/backend", "'wasm'"},
        {"{\"network\":{\"mode\":\"allow\"}}", "/network/mode", "'allow'"},
        {"{\"network\":{\"allow\":[\"example.org\"]}}", "/network/allow/0", "allowed hosts"},
        {"{\"guard\":{\"mode\":\"warn\"}}", "/guard/mode", "guard"},
        {"{\"guard\":{\"mode\":\"deny\"}}", "/guard/mode", "guard"},
        {"{\"guard\":{\"strict\":true}}", "/guard/strict", "guard"},
        {"{\"guard\":{\"allow\":[\"ls\"]}}", "/guard/allow/0", "guard"},
        {"{\"guard\":{\"mode\":\"off\",\"deny\":[\"rm\"]}}", "/guard/deny/0", "guard"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err;

        if (support(cases[i].json, &err) != HUTCH_EUNSUPPORTED ||
            !str_starts(err.where, cases[i].where) || !strstr(err.where, "doc") ||
            !strstr(err.msg, cases[i].text) || !strstr(err.msg, "not enforced yet"))
            fail_msg("%s: %d, at '%s': %s", cases[i].json, err.code, err.where, err.msg);
    }
}

static void settings_that_ask_for_nothing_more_are_taken(void **state)
{
    static const char *const cases[] = {
        "{}",
        "{\"isolation\":{\"level\":\"container\",\"backend\":\"auto\"}}",
        "{\"isolation\":{\"backend\":\"native\"}}",
        "{\"network\":{\"mode\":\"none\",\"allow\":[]}}",
        "{\"network\":{\"mode\":\"host\"}}",
        "{\"limits\":{\"cpu_time\":\"unlimited\",\"cpus\":\"unlimited\"}}",
        "{\"limits\":{\"memory\":\"unlimited\",\"disk\":\"unlimited\"}}",
        "{\"limits\":{\"processes\":\"unlimited\"}}",
        "{\"limits\":{\"cpu_time\":\"1s\",\"cpus\":2,\"memory\":\"1G\",\"disk\":\"1G\"}}",
        "{\"limits\":{\"processes\":10}}",
        "{\"limits\":{\"timeout\":\"1s\",\"output\":\"1K\",\"open_files\":4,\"file_size\":\"1\"}}",
        "{\"guard\":{\"mode\":\"off\"}}",
        "{\"guard\":{\"allow\":[],\"deny\":[],\"strict\":false}}",
        /* the locks' own to judge: test_locks.c */
        "{\"network\":{\"unix\":\"none\"}}",
        "{\"network\":{\"unix\":\"private\"}}",
        "{\"network\":{\"unix\":[\"/run/x\"]}}",
        "{\"syscalls\":\"strict\"}",
        "{\"syscalls\":\"/none\"}",
        "{\"isolation\":{\"require\":[\"unheard_of\"]}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err;

        if (support(cases[i], &err) != 0)
            fail_msg("%s: %s", cases[i], err.msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_are_not_enforced_are_refused),
        cmocka_unit_test(settings_that_ask_for_nothing_more_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
