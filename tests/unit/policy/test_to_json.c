/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/policy.h"

#include <stdlib.h>

#include "base/str.h"

static bool same_text(const char *a, const char *b)
{
    return a && b ? str_eq(a, b) : a == b;
}

static void assert_same(const struct policy *a, const struct policy *b)
{
    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++) {
        const struct policy_value *x = &a->values[i];
        const struct policy_value *y = &b->values[i];

        if (x->set != y->set || x->number != y->number || x->count != y->count ||
            !same_text(x->text, y->text))
            fail_msg("%s differs", policy_fields[i].key);
        for (size_t j = 0; j < x->count; j++) {
            if (!same_text(x->items[j].name, y->items[j].name) ||
                !same_text(x->items[j].text, y->items[j].text))
                fail_msg("%s/%zu differs", policy_fields[i].key, j);
        }
    }
}

static void round_trip(const struct policy *policy)
{
    struct hutch_error err;
    struct policy again;
    str_auto char *text = NULL;
    str_auto char *text_again = NULL;

    if (policy_to_json(policy, &text, &err) < 0)
        fail_msg("%s", err.msg);
    policy_init(&again);
    if (policy_merge_json(&again, text, strlen(text), "again", &err) < 0)
        fail_msg("%s\nat %s: %s", text, err.where, err.msg);
    assert_same(policy, &again);
    assert_int_equal(policy_to_json(&again, &text_again, &err), 0);
    assert_string_equal(text, text_again);
    policy_clear(&again);
}

static void documents_come_back(void **state)
{
    static const char *const cases[] = {
        "{}",
        "{\"limits\":{\"memory\":1}}",
        "{\"limits\":{\"memory\":9223372036854775807,\"processes\":9223372036854775807}}",
        "{\"limits\":{\"cpus\":0.1,\"timeout\":\"1500ms\",\"cpu_time\":\"unlimited\"}}",
        "{\"limits\":{\"cpus\":\"1000000\"}}",
        "{\"limits\":{\"cpus\":\"999999.999\",\"disk\":\"1025\",\"file_size\":\"3T\"}}",
        "{\"limits\":{\"cpus\":\"unlimited\",\"processes\":\"unlimited\",\"output\":\"unlimited\"}}",
        "{\"filesystem\":{\"read\":[],\"write\":[\"/a b\",\"\xc3\xbc\",\"\\n\\\"\"],\"repo\":null}}",
        "{\"environment\":{\"inherit\":[\"A\"],\"set\":{\"B\":\"\",\"A\":\"x\"},\"unset\":[\"C\"]}}",
        "{\"network\":{\"unix\":\"none\"}}",
        "{\"network\":{\"unix\":[\"/run/x\"]}}",
        "{\"network\":{\"unix\":[]}}",
        "{\"identity\":{\"user\":0,\"group\":4294967294},\"guard\":{\"strict\":false}}",
        "{\"isolation\":{\"level\":\"none\",\"backend\":\"wasm\",\"require\":[\"landlock>=4\"]}}",
        "{\"extends\":\"strict\",\"syscalls\":\"./filter.json\"}",
        "{\"extends\":\"dev\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err;
        struct policy policy;

        policy_init(&policy);
        if (policy_merge_json(&policy, cases[i], strlen(cases[i]), "p.json", &err) < 0)
            fail_msg("%s\nat %s: %s", cases[i], err.where, err.msg);
        round_trip(&policy);
        policy_clear(&policy);
    }
}

static void flags_come_back(void **state)
{
    struct policy policy;

    policy_init(&policy);
    assert_int_equal(policy_merge_profile(&policy, "default", NULL), 0);
    assert_int_equal(policy_set_flag(&policy, "--env", "A=1", NULL, NULL), 0);
    assert_int_equal(policy_set_flag(&policy, "--unset-env", "PATH", NULL, NULL), 0);
    assert_int_equal(policy_set_flag(&policy, "--read", "x", NULL, NULL), 0);
    round_trip(&policy);
    assert_int_equal(policy_set_flag(&policy, "--clear-env", NULL, NULL, NULL), 0);
    round_trip(&policy);
    policy_clear(&policy);
}

static void text_is_what_people_would_write(void **state)
{
    static const char json[] =
        "{\"limits\":{\"memory\":67108864,\"timeout\":120,\"cpus\":0.5,\"processes\":7}}";
    struct policy policy;
    str_auto char *text = NULL;

    policy_init(&policy);
    assert_int_equal(policy_merge_json(&policy, json, strlen(json), "p.json", NULL), 0);
    assert_int_equal(policy_to_json(&policy, &text, NULL), 0);
    assert_string_equal(text, "{\n  \"limits\": {\n    \"timeout\": \"2m\",\n    \"cpus\": 0.5,\n"
                              "    \"memory\": \"64M\",\n    \"processes\": 7\n  }\n}");
    policy_clear(&policy);
}

static void names_that_json_cannot_hold_are_refused(void **state)
{
    struct hutch_error err;
    struct policy policy;
    char *text = NULL;

    policy_init(&policy);
    assert_int_equal(policy_set_flag(&policy, "--read", "/\xff", NULL, NULL), 0);
    assert_int_equal(policy_to_json(&policy, &text, &err), HUTCH_EPOLICY);
    assert_null(text);
    assert_string_equal(err.where, "--read");
    policy_clear(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_come_back),
        cmocka_unit_test(flags_come_back),
        cmocka_unit_test(text_is_what_people_would_write),
        cmocka_unit_test(names_that_json_cannot_hold_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
