/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <hutch.h>

#include <stdlib.h>

#include "base/str.h"

static struct hutch_policy *new_policy(void)
{
    struct hutch_policy *policy = NULL;
    struct hutch_error err = {0};

    if (hutch_policy_new(NULL, &policy, &err) < 0)
        fail_msg("%s", err.msg);
    return policy;
}

static void null_arguments(void **state)
{
    struct hutch_policy *policy = new_policy();
    struct hutch_policy *none = NULL;
    struct hutch_profile *profiles = NULL;
    struct hutch_error err = {0};
    char *text = NULL;
    size_t count = 0;
    const struct {
        int r;
        const char *where;
    } cases[] = {
        {hutch_policy_new("default", NULL, NULL), "ret"},
        {hutch_policy_merge(NULL, "{}", 2, "x", NULL), "policy"},
        {hutch_policy_merge(policy, NULL, 0, "x", NULL), "json"},
        {hutch_policy_set(NULL, "--net", "none", NULL, NULL), "policy"},
        {hutch_policy_set(policy, NULL, "none", NULL, NULL), "flag"},
        {hutch_policy_to_json(NULL, &text, NULL), "policy"},
        {hutch_policy_to_json(policy, NULL, NULL), "ret"},
        {hutch_schema(NULL, NULL), "ret"},
        {hutch_profile_list(NULL, &count, NULL), "ret"},
        {hutch_profile_list(&profiles, NULL, NULL), "count"},
        {hutch_profile_text(NULL, &text, NULL), "name"},
        {hutch_profile_text("default", NULL, NULL), "ret"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (cases[i].r != HUTCH_EINVALID)
            fail_msg("row %zu: %d", i, cases[i].r);
    assert_int_equal(hutch_policy_to_json(NULL, &text, &err), HUTCH_EINVALID);
    assert_int_equal(err.code, HUTCH_EINVALID);
    assert_string_equal(err.where, "policy");
    int r = hutch_policy_new("no-such-profile", &none, &err);
    assert_int_equal(r, err.code);
    assert_true(r < 0);
    assert_null(none);
    assert_null(text);
    hutch_policy_free(policy);
    hutch_policy_free(NULL);
}

static void a_policy_is_made_and_merged(void **state)
{
    static const char json[] = "{\"limits\":{\"timeout\":\"7s\"}} trailing";
    struct hutch_policy *policy = new_policy();
    struct hutch_error err = {0};
    str_auto char *text = NULL;

    /* Only `len` bytes are read. */
    assert_int_equal(hutch_policy_merge(policy, json, strlen(json) - 9, NULL, &err), 0);
    assert_int_equal(hutch_policy_set(policy, "--net", "host", NULL, &err), 0);
    assert_int_equal(hutch_policy_to_json(policy, &text, &err), 0);
    assert_non_null(strstr(text, "\"7s\""));
    assert_non_null(strstr(text, "\"host\""));
    assert_int_equal(hutch_policy_merge(policy, json, strlen(json), NULL, &err), HUTCH_EPOLICY);
    assert_non_null(strstr(err.where, "the document"));
    hutch_policy_free(policy);
}

static void options_and_profiles_are_listed(void **state)
{
    struct hutch_profile *profiles = NULL;
    struct hutch_error err = {0};
    size_t count = 0;
    const struct hutch_option *options = hutch_options(&count);

    assert_true(count > 20);
    assert_ptr_equal(hutch_options(NULL), options);
    for (size_t i = 0; i < count; i++)
        assert_true(str_starts(options[i].flag, "--") && options[i].help[0] && options[i].key[0]);

    assert_int_equal(hutch_profile_list(&profiles, &count, &err), 0);
    assert_true(count >= 8);
    for (size_t i = 0; i < count; i++) {
        str_auto char *text = NULL;
        assert_int_equal(hutch_profile_text(profiles[i].name, &text, &err), 0);
        assert_non_null(text);
    }
    free(profiles);

    str_auto char *schema = NULL;
    assert_int_equal(hutch_schema(&schema, &err), 0);
    assert_int_equal(schema[0], '{');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(a_policy_is_made_and_merged),
        cmocka_unit_test(options_and_profiles_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
