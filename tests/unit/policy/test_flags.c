/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/policy.h"

#include "base/str.h"

static void values_that_are_refused(void **state)
{
    static const struct {
        const char *flag, *value, *msg;
    } cases[] = {
        {"--memory", "-1",
         "'-1' is not a size: use a whole number with K, M, G or T (powers of 1024), or 'unlimited'"},
        {"--memory", "1.5G",
         "'1.5G' is not a size: use a whole number with K, M, G or T (powers of 1024), or "
         "'unlimited'"},
        {"--memory", "0", "'0' is not a limit: use 'unlimited' to lift it"},
        {"--memory", "99999999T", "'99999999T' is too large"},
        {"--memory", NULL, "'--memory' needs a value"},
        {"--timeout", "1d",
         "'1d' is not a duration: use a whole number with ms, s, m or h, or 'unlimited'"},
        {"--net", "some", "'some' is not one of none|host|allow"},
        {"--net", "non", "'non' is not one of none|host|allow"},
        {"--net", "", "'' is not one of none|host|allow"},
        {"--net", "none|host", "'none|host' is not one of none|host|allow"},
        {"--read", "", "'' is not a path: it is empty"},
        {"-w", "", "'' is not a path: it is empty"},
        {"--env", "=x", "'' is not the name of a variable: it is empty"},
        {"--env", "", "'' is not the name of a variable: it is empty"},
        {"--env", NULL, "'--env' needs a value"},
        {"--unset-env", "A=B", "'A=B' is not the name of a variable: it contains '='"},
        {"--clear-env", "x", "'--clear-env' takes no value"},
        {"--require", "userns,,seccomp",
         "'' is not a requirement: use a word such as 'seccomp', or 'landlock>=4'"},
        {"--require", "userns,",
         "'' is not a requirement: use a word such as 'seccomp', or 'landlock>=4'"},
        {"--allow-host", "a:0", "'a:0' has no valid port: use 1 to 65535"},
        {"--syscalls", "", "'' is empty"},
        {"--hide", "\033[2J", NULL},
        {"--level", "\033[2J", "'\\x1b[2J' is not one of none|process|container|vm|wasm"},
        {"--memroy", "1G", "unknown flag '--memroy' (did you mean '--memory'?)"},
        {"--nonsense", "1G", "unknown flag '--nonsense'"},
        {"", "x", "unknown flag ''"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        struct policy policy;

        policy_init(&policy);
        int r = policy_set_flag(&policy, cases[i].flag, cases[i].value, NULL, &err);
        if (r != (cases[i].msg ? HUTCH_EPOLICY : 0) || err.code != r ||
            !str_eq(err.msg, cases[i].msg ? cases[i].msg : "") ||
            (cases[i].msg && !str_eq(err.where, cases[i].flag)))
            fail_msg("case %zu: %d at '%s': %s", i, r, err.where, err.msg);
        policy_clear(&policy);
    }
}

static void set(struct policy *policy, const char *flag, const char *value)
{
    struct hutch_error err;

    if (policy_set_flag(policy, flag, value, NULL, &err) < 0)
        fail_msg("%s %s: %s", flag, value ? value : "", err.msg);
}

static void single_values_replace(void **state)
{
    struct policy policy;

    policy_init(&policy);
    set(&policy, "--memory", "64M");
    set(&policy, "--memory", "1G");
    set(&policy, "--net", "host");
    set(&policy, "-w", "dir");
    set(&policy, "--cpus", "0.5");
    set(&policy, "--timeout", "unlimited");
    assert_int_equal(policy.values[POLICY_MEMORY].number, 1 << 30);
    assert_string_equal(policy.values[POLICY_MEMORY].origin, "--memory");
    assert_true(policy.values[POLICY_MEMORY].set);
    assert_int_equal(policy.values[POLICY_NET].number, NET_HOST);
    assert_string_equal(policy.values[POLICY_WORKSPACE].text, "dir");
    assert_int_equal(policy.values[POLICY_CPUS].number, 500);
    assert_true(policy.values[POLICY_TIMEOUT].number == NUM_NO_LIMIT);
    assert_false(policy.values[POLICY_DISK].set);
    policy_clear(&policy);
}

static void lists_append(void **state)
{
    struct policy policy;

    policy_init(&policy);
    set(&policy, "--read", "a");
    set(&policy, "--read", "/b");
    set(&policy, "--read", "a");
    set(&policy, "--require", "userns,landlock>=4");
    const struct policy_value *read = &policy.values[POLICY_READ];
    assert_int_equal(read->count, 2);
    assert_string_equal(read->items[0].text, "a");
    assert_string_equal(read->items[1].text, "/b");
    assert_string_equal(read->items[1].origin, "--read");
    assert_true(read->items[1].from_flag);
    assert_null(read->items[1].name);
    assert_int_equal(policy.values[POLICY_REQUIRE].count, 2);
    assert_string_equal(policy.values[POLICY_REQUIRE].items[1].text, "landlock>=4");
    policy_clear(&policy);
}

static void origin_can_be_given(void **state)
{
    struct hutch_error err;
    struct policy policy;

    policy_init(&policy);
    assert_int_equal(policy_set_flag(&policy, "--timeout", "5m", "HUTCH_TIMEOUT", &err), 0);
    assert_string_equal(policy.values[POLICY_TIMEOUT].origin, "HUTCH_TIMEOUT");
    assert_int_equal(policy_set_flag(&policy, "--timeout", "x", "HUTCH_TIMEOUT", &err),
                     HUTCH_EPOLICY);
    assert_string_equal(err.where, "HUTCH_TIMEOUT");
    policy_clear(&policy);
}

/* Variables as text: "inherit|set|unset". */
static void check_env(const struct policy *policy, const char *want)
{
    static const enum policy_id ids[] = {POLICY_ENV_INHERIT, POLICY_ENV_SET, POLICY_ENV_UNSET};
    char text[200] = "";
    size_t len = 0;

    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        const struct policy_value *value = &policy->values[ids[i]];

        for (size_t j = 0; j < value->count; j++)
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s ",
                                    value->items[j].name ? value->items[j].name : "",
                                    value->items[j].name ? "=" : "", value->items[j].text);
        if (i + 1 < ARRAY_LEN(ids))
            len += (size_t)snprintf(text + len, sizeof(text) - len, "|");
    }
    assert_string_equal(text, want);
}

static void last_word_about_a_variable_wins(void **state)
{
    struct policy policy;

    policy_init(&policy);
    set(&policy, "--env", "A=1");
    set(&policy, "--env", "B");
    set(&policy, "--env", "C=x=y");
    set(&policy, "--env", "A=2");
    check_env(&policy, "B |A=2 C=x=y |");
    set(&policy, "--unset-env", "A");
    set(&policy, "--unset-env", "B");
    check_env(&policy, "|C=x=y |A B ");
    set(&policy, "--env", "A=");
    set(&policy, "--env", "B");
    check_env(&policy, "B |C=x=y A= |");
    set(&policy, "--env", "A");
    set(&policy, "--env", "LC_*");
    check_env(&policy, "B A LC_* |C=x=y |");
    set(&policy, "--unset-env", "D");
    set(&policy, "--clear-env", NULL);
    check_env(&policy, "||D ");
    set(&policy, "--env", "E=1");
    check_env(&policy, "|E=1 |D ");
    policy_clear(&policy);
}

static void too_many_entries_are_refused(void **state)
{
    struct hutch_error err;
    struct policy policy;
    int r = 0;
    int i;

    policy_init(&policy);
    for (i = 0; i < 5000 && r == 0; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/p/%d", i);
        r = policy_set_flag(&policy, "--read", path, NULL, &err);
    }
    assert_int_equal(r, HUTCH_EPOLICY);
    assert_int_equal(i, 4097);
    assert_string_equal(err.msg, "more than 4096 entries");
    policy_clear(&policy);
}

static void options_are_the_rows_with_a_flag(void **state)
{
    size_t count;
    const struct hutch_option *rows = policy_options(&count);
    size_t with_flag = 0;
    bool timeout = false, env = false, syscalls = false;

    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++)
        with_flag += policy_fields[i].flag != NULL;
    assert_int_equal(count, with_flag + 2);
    for (size_t i = 0; i < count; i++) {
        assert_true(str_starts(rows[i].flag, "--"));
        assert_non_null(rows[i].help);
        timeout |= str_eq(rows[i].flag, "--timeout") && str_eq(rows[i].key, "limits.timeout") &&
                   str_eq(rows[i].variable, "HUTCH_TIMEOUT") && str_eq(rows[i].argument, "T");
        env |= str_eq(rows[i].flag, "--env");
        syscalls |= str_eq(rows[i].flag, "--syscalls") && str_eq(rows[i].key, "syscalls");
    }
    assert_true(timeout && env && syscalls);
    assert_ptr_equal(policy_options(&count), rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_are_refused),
        cmocka_unit_test(single_values_replace),
        cmocka_unit_test(lists_append),
        cmocka_unit_test(origin_can_be_given),
        cmocka_unit_test(last_word_about_a_variable_wins),
        cmocka_unit_test(too_many_entries_are_refused),
        cmocka_unit_test(options_are_the_rows_with_a_flag),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
