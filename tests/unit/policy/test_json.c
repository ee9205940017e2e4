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

#define NO_SIZE                                                                                    \
    "is not a size: use a whole number with K, M, G or T (powers of 1024), or 'unlimited'"

static void documents_that_are_refused(void **state)
{
    static const struct {
        const char *json, *where, *msg;
    } cases[] = {
        /* numbers */
        {"{\"limits\":{\"memory\":\"-1\"}}", "/limits/memory in p.json", "'-1' " NO_SIZE},
        {"{\"limits\":{\"memory\":-1}}", "/limits/memory in p.json", "'-1' " NO_SIZE},
        {"{\"limits\":{\"memory\":\"1.5G\"}}", "/limits/memory in p.json", "'1.5G' " NO_SIZE},
        {"{\"limits\":{\"memory\":1.5}}", "/limits/memory in p.json", "'1.5' " NO_SIZE},
        {"{\"limits\":{\"memory\":0}}", "/limits/memory in p.json",
         "'0' is not a limit: use 'unlimited' to lift it"},
        {"{\"limits\":{\"memory\":\"9999999999G\"}}", "/limits/memory in p.json",
         "'9999999999G' is too large"},
        {"{\"limits\":{\"memory\":\"\"}}", "/limits/memory in p.json", "'' " NO_SIZE},
        {"{\"limits\":{\"cpus\":0.0001}}", "/limits/cpus in p.json",
         "'0.0001' is not a number of CPUs: use one such as 2 or 0.5, or 'unlimited'"},
        {"{\"limits\":{\"cpus\":1e300}}", "/limits/cpus in p.json",
         "'1e300' is not a number of CPUs: use one such as 2 or 0.5, or 'unlimited'"},
        {"{\"limits\":{\"processes\":2.5}}", "/limits/processes in p.json",
         "'2.5' is not a count: use a whole number, or 'unlimited'"},
        {"{\"limits\":{\"timeout\":-5}}", "/limits/timeout in p.json",
         "'-5' is not a duration: use a whole number with ms, s, m or h, or 'unlimited'"},
        {"{\"identity\":{\"user\":-1}}", "/identity/user in p.json",
         "'-1' is not an id: use a whole number from 0 to 4294967294"},
        {"{\"identity\":{\"user\":4294967295}}", "/identity/user in p.json",
         "'4294967295' is not an id: use a whole number from 0 to 4294967294"},
        {"{\"identity\":{\"user\":\"unlimited\"}}", "/identity/user in p.json",
         "'unlimited' is not an id: use a whole number from 0 to 4294967294"},
        /* wrong types */
        {"{\"limits\":{\"memory\":[]}}", "/limits/memory in p.json",
         "must be a size such as \"64M\", not an array"},
        {"{\"limits\":{\"memory\":null}}", "/limits/memory in p.json",
         "must be a size such as \"64M\", not null"},
        {"{\"limits\":{\"memory\":true}}", "/limits/memory in p.json",
         "must be a size such as \"64M\", not true"},
        {"{\"limits\":[]}", "/limits in p.json", "must be an object, not an array"},
        {"{\"filesystem\":{\"read\":\"/x\"}}", "/filesystem/read in p.json",
         "must be an array of strings, not a string"},
        {"{\"filesystem\":{\"read\":[\"/x\",1]}}", "/filesystem/read/1 in p.json",
         "must be a string, not a number"},
        {"{\"filesystem\":{\"layout\":1}}", "/filesystem/layout in p.json",
         "must be a string, not a number"},
        {"{\"environment\":{\"set\":[]}}", "/environment/set in p.json",
         "must be an object of strings, not an array"},
        {"{\"environment\":{\"set\":{\"A/B\":1}}}", "/environment/set/A~1B in p.json",
         "must be a string, not a number"},
        {"{\"guard\":{\"strict\":\"true\"}}", "/guard/strict in p.json",
         "must be true or false, not a string"},
        {"{\"network\":{\"unix\":{}}}", "/network/unix in p.json",
         "must be a string or an array of paths, not an object"},
        {"{\"description\":1}", "/description in p.json", "must be a string, not a number"},
        {"{\"extends\":null}", "/extends in p.json", "must be a string, not null"},
        {"[]", "p.json", "must be a JSON object, not an array"},
        /* words and texts */
        {"{\"filesystem\":{\"layout\":\"hots\"}}", "/filesystem/layout in p.json",
         "'hots' is not one of host|minimal|root"},
        {"{\"network\":{\"unix\":\"public\"}}", "/network/unix in p.json",
         "'public' is not one of none|private"},
        {"{\"filesystem\":{\"workspace\":\"\"}}", "/filesystem/workspace in p.json",
         "'' is not a path: it is empty"},
        {"{\"filesystem\":{\"hide\":[\"a\",\"\"]}}", "/filesystem/hide/1 in p.json",
         "'' is not a path: it is empty"},
        {"{\"environment\":{\"set\":{\"\":\"x\"}}}", "/environment/set/ in p.json",
         "'' is not the name of a variable: it is empty"},
        {"{\"environment\":{\"inherit\":[\"A=1\"]}}", "/environment/inherit/0 in p.json",
         "'A=1' is not the name of a variable: it contains '='"},
        {"{\"network\":{\"allow\":[\"a b\"]}}", "/network/allow/0 in p.json",
         "'a b' is not a host: use name, *.name, 1.2.3.4 or [::1], each maybe with :port"},
        {"{\"identity\":{\"hostname\":\"-x\"}}", "/identity/hostname in p.json",
         "'-x' is not a host name: use letters, digits, '-' and '.', at most 63"},
        {"{\"isolation\":{\"require\":[\"User\"]}}", "/isolation/require/0 in p.json",
         "'User' is not a requirement: use a word such as 'seccomp', or 'landlock>=4'"},
        /* keys */
        {"{\"limits\":{\"memroy\":\"1G\"}}", "/limits/memroy in p.json",
         "unknown key 'memroy' (did you mean 'memory'?)"},
        {"{\"memory\":\"1G\"}", "/memory in p.json",
         "unknown key 'memory' (did you mean 'limits.memory'?)"},
        {"{\"limit\":{}}", "/limit in p.json", "unknown key 'limit' (did you mean 'limits'?)"},
        {"{\"extend\":\"x\"}", "/extend in p.json",
         "unknown key 'extend' (did you mean 'extends'?)"},
        {"{\"limits\":{\"extends\":1}}", "/limits/extends in p.json", "unknown key 'extends'"},
        {"{\"qwertyuiop\":1}", "/qwertyuiop in p.json", "unknown key 'qwertyuiop'"},
        {"{\"\":1}", "/ in p.json", "unknown key ''"},
        {"{\"a\\u001b[2J\":1}", "/a\\x1b[2J in p.json", "unknown key 'a\\x1b[2J'"},
        {"{\"limits\":{\"memory\":\"\\u001b[2J\"}}", "/limits/memory in p.json",
         "'\\x1b[2J' " NO_SIZE},
        /* profiles */
        {"{\"extends\":\"defualt\"}", "/extends in p.json",
         "there is no profile 'defualt' (did you mean 'default'?)"},
        {"{\"extends\":\"../../etc/passwd\"}", "/extends in p.json",
         "'../../etc/passwd' is not the name of a profile: use a-z, 0-9, '-' and '_'"},
        {"{\"extends\":\"\"}", "/extends in p.json",
         "'' is not the name of a profile: use a-z, 0-9, '-' and '_'"},
        /* not JSON */
        {"{\"limits\":{},\"limits\":{}}", "p.json:1:21",
         "not valid JSON: duplicate object key near '\"limits\"'"},
        {"{\"filesystem\":{\"read\":[\"/a\\u0000b\"]}}", "p.json:1:34",
         "not valid here: a string contains NUL"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        struct policy policy;

        policy_init(&policy);
        int r = policy_merge_json(&policy, cases[i].json, strlen(cases[i].json), "p.json", &err);
        if (r != HUTCH_EPOLICY || err.code != r || !str_eq(err.where, cases[i].where) ||
            !str_eq(err.msg, cases[i].msg))
            fail_msg("%s\n%d at '%s': %s", cases[i].json, r, err.where, err.msg);
        policy_clear(&policy);
    }
}

static void refuse(const char *json, size_t len, const char *source, struct hutch_error *err)
{
    struct policy policy;

    policy_init(&policy);
    assert_int_equal(policy_merge_json(&policy, json, len, source, err), HUTCH_EPOLICY);
    policy_clear(&policy);
}

static void ten_megabytes_of_arrays_are_refused(void **state)
{
    size_t size = 10 << 20;
    str_auto char *text = malloc(size);
    struct hutch_error err;

    assert_non_null(text);
    memset(text, '[', size);
    refuse(text, size, "p.json", &err);
    assert_string_equal(err.msg, "10485760 bytes of JSON are too many: at most 1048576");
    assert_string_equal(err.where, "p.json");
    /* and what is just small enough */
    refuse(text, 1 << 20, "p.json", &err);
    assert_string_equal(err.msg, "not valid here: nested deeper than 64 levels");
    memcpy(text, "{\"limits\":", 10);
    refuse(text, 1 << 20, "p.json", &err);
    assert_string_equal(err.msg, "not valid here: nested deeper than 64 levels");
}

static void long_names_leave_the_pointer(void **state)
{
    static const char json[] = "{\"limits\":{\"memory\":\"x\"}}";
    struct hutch_error err;
    char source[300];

    memset(source, 'f', sizeof(source) - 1);
    source[sizeof(source) - 1] = '\0';
    refuse(json, strlen(json), source, &err);
    assert_true(str_starts(err.where, "/limits/memory in fff"));
    refuse("{", 1, source, &err);
    assert_non_null(strstr(err.where, ":1:1"));
    refuse(json, strlen(json), "\033[2J", &err);
    assert_string_equal(err.where, "/limits/memory in \\x1b[2J");
}

static void merge(struct policy *policy, const char *json)
{
    struct hutch_error err;

    if (policy_merge_json(policy, json, strlen(json), "p.json", &err) < 0)
        fail_msg("%s\nat '%s': %s", json, err.where, err.msg);
}

static void every_key_is_read(void **state)
{
    struct policy policy;
    const struct policy_value *v = policy.values;

    policy_init(&policy);
    merge(
        &policy,
        "{\"description\":\"all\",\"extends\":\"default\","
        "\"isolation\":{\"level\":\"container\",\"backend\":\"auto\","
        "  \"require\":[\"userns\",\"landlock>=4\"]},"
        "\"filesystem\":{\"layout\":\"host\",\"workspace\":\"/w\",\"repo\":null,\"read\":[],"
        "  \"write\":[\"/x\"],\"hide\":[\"~/.foo\"],\"protect\":[\".git/hooks\"]},"
        "\"network\":{\"mode\":\"none\",\"allow\":[\"registry.example:443\",\"*.example.org\"],"
        "  \"unix\":\"private\"},"
        "\"environment\":{\"inherit\":[\"PATH\",\"LANG\"],\"set\":{\"CI\":\"1\"},\"unset\":[\"X\"]},"
        "\"limits\":{\"timeout\":30,\"cpu_time\":\"60s\",\"cpus\":0.1,\"memory\":1048576,"
        "  \"disk\":\"1G\",\"processes\":256,\"open_files\":\"12\",\"file_size\":\"unlimited\","
        "  \"output\":\"1M\"},"
        "\"syscalls\":\"default\","
        "\"identity\":{\"user\":0,\"group\":4294967294,\"hostname\":\"hutch\"},"
        "\"guard\":{\"mode\":\"deny\",\"allow\":[\"ls\"],\"deny\":[],\"strict\":true}}");

    assert_int_equal(v[POLICY_LEVEL].number, LEVEL_CONTAINER);
    assert_int_equal(v[POLICY_REQUIRE].count, 2);
    assert_string_equal(v[POLICY_WORKSPACE].text, "/w");
    assert_false(v[POLICY_REPO].set);
    assert_true(v[POLICY_READ].set);
    assert_int_equal(v[POLICY_READ].count, 0);
    assert_string_equal(v[POLICY_WRITE].items[0].text, "/x");
    assert_string_equal(v[POLICY_WRITE].items[0].origin, "/filesystem/write/0 in p.json");
    assert_false(v[POLICY_WRITE].items[0].from_flag);
    assert_string_equal(v[POLICY_HIDE].items[0].text, "~/.ssh");
    assert_string_equal(v[POLICY_HIDE].items[0].origin, "/filesystem/hide/0 in profile default");
    assert_string_equal(v[POLICY_HIDE].items[v[POLICY_HIDE].count - 1].text, "~/.foo");
    assert_int_equal(v[POLICY_NET_ALLOW].count, 2);
    assert_string_equal(v[POLICY_NET_UNIX].text, "private");
    assert_string_equal(v[POLICY_ENV_SET].items[0].name, "CI");
    assert_string_equal(v[POLICY_ENV_SET].items[0].text, "1");
    assert_string_equal(v[POLICY_ENV_SET].items[0].origin, "/environment/set/CI in p.json");
    assert_int_equal(v[POLICY_TIMEOUT].number, 30000);
    assert_string_equal(v[POLICY_TIMEOUT].origin, "/limits/timeout in p.json");
    assert_int_equal(v[POLICY_CPU_TIME].number, 60000);
    assert_int_equal(v[POLICY_CPUS].number, 100);
    assert_int_equal(v[POLICY_MEMORY].number, 1 << 20);
    assert_int_equal(v[POLICY_PROCESSES].number, 256);
    assert_int_equal(v[POLICY_OPEN_FILES].number, 12);
    assert_true(v[POLICY_FILE_SIZE].number == NUM_NO_LIMIT);
    assert_string_equal(v[POLICY_SYSCALLS].text, "default");
    assert_true(v[POLICY_USER].set);
    assert_int_equal(v[POLICY_USER].number, 0);
    assert_int_equal(v[POLICY_GROUP].number, UINT32_MAX - 1);
    assert_int_equal(v[POLICY_GUARD_MODE].number, GUARD_DENY);
    assert_int_equal(v[POLICY_GUARD_STRICT].number, 1);
    policy_clear(&policy);
}

static void later_documents_win(void **state)
{
    struct policy policy;
    const struct policy_value *v = policy.values;

    policy_init(&policy);
    merge(&policy,
          "{\"filesystem\":{\"repo\":\"/r\",\"read\":[\"/a\"]},\"limits\":{\"memory\":\"1G\"},"
          "\"environment\":{\"set\":{\"A\":\"1\",\"B\":\"2\"},\"unset\":[\"C\"]},"
          "\"network\":{\"unix\":\"none\"}}");
    merge(&policy, "{\"filesystem\":{\"repo\":null,\"read\":[\"/b\",\"/a\"]},"
                   "\"limits\":{\"memory\":\"unlimited\"},"
                   "\"environment\":{\"set\":{\"A\":\"3\",\"C\":\"4\"}},"
                   "\"network\":{\"unix\":[\"/run/x\",\"none\"]}}");
    assert_false(v[POLICY_REPO].set);
    assert_null(v[POLICY_REPO].text);
    assert_true(v[POLICY_MEMORY].number == NUM_NO_LIMIT);
    assert_int_equal(v[POLICY_READ].count, 2);
    assert_string_equal(v[POLICY_READ].items[1].text, "/b");
    assert_int_equal(v[POLICY_ENV_SET].count, 3);
    assert_string_equal(v[POLICY_ENV_SET].items[0].name, "A");
    assert_string_equal(v[POLICY_ENV_SET].items[0].text, "3");
    assert_string_equal(v[POLICY_ENV_SET].items[2].name, "C");
    assert_int_equal(v[POLICY_ENV_UNSET].count, 0);
    assert_null(v[POLICY_NET_UNIX].text);
    assert_int_equal(v[POLICY_NET_UNIX].count, 2);
    merge(&policy, "{\"network\":{\"unix\":\"private\"}}");
    assert_string_equal(v[POLICY_NET_UNIX].text, "private");
    assert_int_equal(v[POLICY_NET_UNIX].count, 0);
    merge(&policy, "{\"network\":{\"unix\":[]}}");
    assert_null(v[POLICY_NET_UNIX].text);
    assert_true(v[POLICY_NET_UNIX].set);
    policy_clear(&policy);
}

/* In one document, the stricter of two contradicting keys: what is unset stays out. */
static void unset_wins_within_a_document(void **state)
{
    struct policy policy;

    policy_init(&policy);
    merge(&policy,
          "{\"environment\":{\"unset\":[\"A\"],\"set\":{\"A\":\"1\"},\"inherit\":[\"A\"]}}");
    assert_int_equal(policy.values[POLICY_ENV_SET].count, 0);
    assert_int_equal(policy.values[POLICY_ENV_INHERIT].count, 0);
    assert_int_equal(policy.values[POLICY_ENV_UNSET].count, 1);
    policy_clear(&policy);
}

static void errors_may_be_unwanted(void **state)
{
    struct policy policy;

    policy_init(&policy);
    assert_int_equal(policy_merge_json(&policy, "{\"x\":1}", 7, "p.json", NULL), HUTCH_EPOLICY);
    policy_clear(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_that_are_refused),
        cmocka_unit_test(ten_megabytes_of_arrays_are_refused),
        cmocka_unit_test(long_names_leave_the_pointer),
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(later_documents_win),
        cmocka_unit_test(unset_wins_within_a_document),
        cmocka_unit_test(errors_may_be_unwanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
