/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <hutch.h>

#include "base/json.h"
#include "base/str.h"

#define COMMAND(...) ((const char *const[]){__VA_ARGS__, NULL})

static void bad_arguments(void **state)
{
    struct hutch_policy *policy = NULL;
    struct hutch_suggestion *suggestion = NULL;
    struct hutch_error err = {0};

    assert_int_equal(hutch_policy_new(NULL, &policy, &err), 0);
    const struct {
        int r;
    } cases[] = {
        {hutch_suggest(NULL, &suggestion, &err)},
        {hutch_suggest(COMMAND(NULL), &suggestion, &err)},
        {hutch_suggest(COMMAND(""), &suggestion, &err)},
        {hutch_suggest(COMMAND("ls"), NULL, &err)},
        {hutch_policy_suggest(NULL, COMMAND("ls"), &err)},
        {hutch_policy_suggest(policy, NULL, &err)},
        {hutch_policy_suggest(policy, COMMAND(NULL), NULL)},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (cases[i].r != HUTCH_EINVALID)
            fail_msg("row %zu: %d", i, cases[i].r);
    assert_null(suggestion);
    hutch_policy_free(policy);
}

static void a_suggestion_says_all(void **state)
{
    struct hutch_suggestion *suggestion = NULL;
    struct hutch_error err = {0};
    size_t count = 0;

    assert_int_equal(hutch_suggest(COMMAND("/usr/bin/make", "-j8"), &suggestion, &err), 0);
    assert_string_equal(suggestion->kind, "build");
    assert_string_equal(suggestion->command, "make");
    assert_string_not_equal(suggestion->reason, "");
    for (; suggestion->limits[count].name; count++)
        assert_string_not_equal(suggestion->limits[count].value, "");
    assert_int_equal(count, 9);
    free(suggestion);
}

/* The limit `key` of a policy as text; "none" when it has none. */
static const char *limit_of(const struct hutch_policy *policy, const char *key, char out[32])
{
    str_auto char *text = NULL;
    json_auto_ref json_t *json = NULL;

    assert_int_equal(hutch_policy_to_json(policy, &text, NULL), 0);
    assert_int_equal(json_parse_object(text, strlen(text), strlen(text), "x", &json, NULL), 0);
    json_t *value = json_object_get(json_object_get(json, "limits"), key);
    if (json_is_integer(value))
        snprintf(out, 32, "%lld", (long long)json_integer_value(value));
    else
        snprintf(out, 32, "%s", value ? json_string_value(value) : "none");
    return out;
}

/* Above the profile, below documents and flags that come later. */
static void what_wins(void **state)
{
    static const struct {
        const char *command;
        const char *document;
        const char *flag;
        const char *key;
        const char *want;
    } cases[] = {
        {"make", NULL, NULL, "timeout", "10m"},
        {"make", NULL, NULL, "memory", "4G"},
        {"make", NULL, NULL, "processes", "512"},
        {"make", "{\"limits\":{\"memory\":\"64M\"}}", NULL, "memory", "64M"},
        {"make", "{\"limits\":{\"memory\":\"64M\"}}", NULL, "timeout", "10m"},
        {"make", NULL, "32M", "memory", "32M"},
        {"make", "{\"limits\":{\"memory\":\"64M\"}}", "32M", "memory", "32M"},
        {"make", NULL, "unlimited", "memory", "unlimited"},
        {"make", "{\"extends\":\"strict\"}", NULL, "timeout", "10s"},
        {"nope", NULL, NULL, "timeout", "5m"},
        {"nope", NULL, "32M", "memory", "32M"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_policy *policy = NULL;
        struct hutch_error err = {0};
        const char *document = cases[i].document;
        char got[32];

        assert_int_equal(hutch_policy_new("build", &policy, &err), 0);
        assert_int_equal(hutch_policy_suggest(policy, COMMAND(cases[i].command), &err), 0);
        if (document)
            assert_int_equal(hutch_policy_merge(policy, document, strlen(document), "x", &err), 0);
        if (cases[i].flag)
            assert_int_equal(hutch_policy_set(policy, "--memory", cases[i].flag, NULL, &err), 0);
        if (!str_eq(limit_of(policy, cases[i].key, got), cases[i].want))
            fail_msg("row %zu: %s is %s, wanted %s", i, cases[i].key, got, cases[i].want);
        hutch_policy_free(policy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(a_suggestion_says_all),
        cmocka_unit_test(what_wins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
