/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <hutch.h>

#include <errno.h>
#include <limits.h>

#include "base/json.h"
#include "base/str.h"

static void every_code_has_a_word(void **state)
{
    static const struct {
        int code;
        const char *want;
    } cases[] = {
        {HUTCH_OK, "ok"},
        {HUTCH_EINVALID, "invalid"},
        {HUTCH_EPOLICY, "policy"},
        {HUTCH_EUNSUPPORTED, "unsupported"},
        {HUTCH_EDENIED, "denied"},
        {HUTCH_ESYSTEM, "system"},
        {HUTCH_ENOMEM, "nomem"},
        {HUTCH_EBUSY, "busy"},
        {HUTCH_ENOTFOUND, "not_found"},
        {HUTCH_ESTATE, "state"},
        {HUTCH_EINTERNAL, "internal"},
        {HUTCH_EINTERNAL - 1, "unknown"},
        {1, "unknown"},
        {INT_MAX, "unknown"},
        {INT_MIN, "unknown"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(hutch_code_name(cases[i].code), cases[i].want);
}

static void every_reason_has_a_word(void **state)
{
    static const char *const want[] = {"exited",   "signaled", "timeout",   "cancelled", "setup",
                                       "cpu_time", "memory",   "processes", "disk"};

    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_string_equal(hutch_reason_name((enum hutch_reason)i), want[i]);
    assert_string_equal(hutch_reason_name((enum hutch_reason)ARRAY_LEN(want)), "unknown");
    assert_string_equal(hutch_reason_name((enum hutch_reason) - 1), "unknown");
    assert_string_equal(hutch_version(), HUTCH_VERSION);
}

static const struct hutch_fact facts[] = {{"backend", "native"}, {"pidns", "true"},
                                          {"netns", "false"},    {"seccomp", "default"},
                                          {"landlock", "6"},     {NULL, NULL}};
static const struct hutch_step steps[] = {{"clone", 0.5}, {"mounts", 0.0625}, {NULL, 0}};

static const struct hutch_result sample = {
    .size = sizeof(sample),
    .reason = HUTCH_EXITED,
    .duration_ms = 12.5,
    .user_ms = 5,
    .system_ms = 3.1,
    .peak_memory_bytes = 8388608,
    .stdout_data = "hello\n",
    .stdout_len = 6,
    .stdout_bytes = 6,
    .stderr_data = "",
    .enforced = facts,
    .setup = steps,
    .setup_total_ms = 1.4,
    .sandbox = "k3f9",
    .run = 1,
    .peak_processes = 3,
    .read_bytes = 512,
    .written_bytes = HUTCH_UNKNOWN,
};

static json_t *as_json(const struct hutch_result *result)
{
    struct hutch_error err = {0};
    str_auto char *text = NULL;

    assert_int_equal(hutch_result_to_json(result, &text, &err), 0);
    assert_null(strchr(text, '\n'));
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (!object)
        fail_msg("not JSON: %s", text);
    return object;
}

/* "a b c": exactly these keys, in any order. */
static void assert_keys(const json_t *object, const char *keys)
{
    char copy[400];
    size_t count = 0;

    snprintf(copy, sizeof(copy), "%s", keys);
    for (char *rest = copy, *key; (key = strsep(&rest, " "));) {
        count++;
        if (!json_object_get(object, key))
            fail_msg("no key '%s'", key);
    }
    if (json_object_size(object) != count)
        fail_msg("%zu keys, and not only %s", json_object_size(object), keys);
}

#define KEYS_OF_EVERY_RESULT                                                                       \
    "exit_code signal success reason timed_out truncated duration_ms usage violations enforced "   \
    "setup_ms sandbox run"

static void keys_of_a_result(void **state)
{
    json_auto_ref json_t *object = as_json(&sample);

    assert_keys(object, KEYS_OF_EVERY_RESULT " stdout stderr");
    assert_keys(json_object_get(object, "usage"),
                "cpu_ms user_ms system_ms peak_memory_bytes peak_processes disk_bytes "
                "read_bytes written_bytes stdout_bytes stderr_bytes");
    assert_keys(json_object_get(object, "enforced"), "backend pidns netns seccomp landlock");
    assert_keys(json_object_get(object, "setup_ms"), "total clone mounts");

    json_auto_ref json_t *want = json_pack(
        "{s:i, s:n, s:b, s:s, s:b, s:b, s:f, s:s, s:s, s:s, s:i,"
        " s:{s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:n, s:i, s:i}, s:[], s:{s:s, s:b, s:b, s:s, s:i}, s:{s:f, s:f, s:f}}",
        "exit_code", 0, "signal", "success", 1, "reason", "exited", "timed_out", 0, "truncated", 0,
        "duration_ms", 12.5, "stdout", "hello\n", "stderr", "", "sandbox", "k3f9", "run", 1,
        "usage", "cpu_ms", 8.1, "user_ms", 5.0, "system_ms", 3.1, "peak_memory_bytes", 8388608,
        "peak_processes", 3, "disk_bytes", 0, "read_bytes", 512, "written_bytes", "stdout_bytes", 6,
        "stderr_bytes", 0, "violations", "enforced", "backend", "native", "pidns", 1, "netns", 0,
        "seccomp", "default", "landlock", 6, "setup_ms", "total", 1.4, "clone", 0.5, "mounts",
        0.063);
    assert_non_null(want);
    if (!json_equal(object, want)) {
        str_auto char *got = json_dumps(object, JSON_SORT_KEYS);
        str_auto char *wanted = json_dumps(want, JSON_SORT_KEYS);
        fail_msg("got    %s\nwanted %s", got, wanted);
    }
}

/* What a program branches on must be a boolean or a number, and all else the text as it is. */
static void facts_have_types(void **state)
{
    static const struct {
        const char *value, *json;
    } cases[] = {
        {"true", "true"},
        {"false", "false"},
        {"0", "0"},
        {"6", "6"},
        {"12", "12"},
        {"", "\"\""},
        {"-1", "\"-1\""},
        {"6.0", "\"6.0\""},
        {"6 ", "\"6 \""},
        {"True", "\"True\""},
        {"x6", "\"x6\""},
        {"native", "\"native\""},
        {"/f.json", "\"/f.json\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct hutch_fact one[] = {{"fact", cases[i].value}, {NULL, NULL}};
        struct hutch_result result = sample;

        result.enforced = one;
        json_auto_ref json_t *object = as_json(&result);
        json_auto_ref json_t *want = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        const json_t *enforced = json_object_get(object, "enforced");
        assert_non_null(want);
        assert_keys(enforced, "fact");
        if (!json_equal(json_object_get(enforced, "fact"), want))
            fail_msg("'%s' is not %s", cases[i].value, cases[i].json);
    }
}

/* ---- Hosts ---- */

static const struct hutch_host_fact good = {
    .size = sizeof(good), .name = "landlock", .value = "7", .state = HUTCH_HOST_OK};
static const struct hutch_host_fact bad = {.size = sizeof(bad),
                                           .name = "memory",
                                           .value = "sampled",
                                           .state = HUTCH_HOST_WEAKER,
                                           .reason = "no \xff group",
                                           .help = "a group"};
static const struct hutch_host_fact unknown = {.size = sizeof(unknown), .name = "pidns"};
static const struct hutch_host_fact *const host_facts[] = {&good, &bad, &unknown, NULL};
static const struct hutch_host_fact *const no_facts[] = {NULL};

static void assert_host(const struct hutch_host *host, const char *want)
{
    struct hutch_error err = {0};
    str_auto char *text = NULL;

    assert_int_equal(hutch_host_to_json(host, &text, &err), 0);
    assert_null(strchr(text, '\n'));
    assert_string_equal(text, want);
}

static void hosts(void **state)
{
    struct hutch_host host = {
        .size = sizeof(host), .ok = true, .kernel = "6.1", .machine = "arm64", .facts = host_facts};
    struct hutch_error err = {0};
    char *text = NULL;

    assert_host(&host, "{\"ok\":true,\"version\":\"" HUTCH_VERSION
                       "\",\"kernel\":\"6.1\",\"machine\":\"arm64\",\"error\":null,\"facts\":{"
                       "\"landlock\":{\"value\":7,\"state\":\"ok\",\"reason\":null,\"help\":null},"
                       "\"memory\":{\"value\":\"sampled\",\"state\":\"weaker\","
                       "\"reason\":\"no \xef\xbf\xbd group\",\"help\":\"a group\"},"
                       "\"pidns\":{\"value\":null,\"state\":\"unknown\",\"reason\":null,"
                       "\"help\":null}}}");
    host.ok = false;
    host.facts = no_facts;
    host.error = (struct hutch_error){HUTCH_EUNSUPPORTED, 0, "ids", "not here"};
    assert_host(&host, "{\"ok\":false,\"version\":\"" HUTCH_VERSION
                       "\",\"kernel\":\"6.1\",\"machine\":\"arm64\",\"error\":{"
                       "\"code\":\"unsupported\",\"where\":\"ids\",\"message\":\"not here\"},"
                       "\"facts\":{}}");
    assert_int_equal(hutch_host_to_json(NULL, &text, &err), HUTCH_EINVALID);
    assert_int_equal(hutch_host_to_json(&host, NULL, &err), HUTCH_EINVALID);
    assert_string_equal(hutch_host_state_name(HUTCH_HOST_MISSING), "missing");
    assert_string_equal(hutch_host_state_name((enum hutch_host_state)99), "unknown");
    assert_string_equal(hutch_host_state_name((enum hutch_host_state) - 1), "unknown");
}

static const struct hutch_violation violations[] = {
    {"syscall", "mount", "tmpfs", 12, "sh", "no policy allows it"},
    {"protect", "create", "/ws/.git/hooks", 0, "", "leave it out of protect"},
};

static void assert_violation(const json_t *object, const struct hutch_violation *want)
{
    assert_keys(object, "kind name detail pid command hint");
    assert_string_equal(json_string_value(json_object_get(object, "kind")), want->kind);
    assert_string_equal(json_string_value(json_object_get(object, "name")), want->name);
    assert_string_equal(json_string_value(json_object_get(object, "detail")), want->detail);
    assert_true(json_is_integer(json_object_get(object, "pid")));
    assert_int_equal(json_integer_value(json_object_get(object, "pid")), want->pid);
    assert_string_equal(json_string_value(json_object_get(object, "command")), want->command);
    assert_string_equal(json_string_value(json_object_get(object, "hint")), want->hint);
}

/* `violation_total` is there when more happened than is told, and only then. */
static void violations_are_told(void **state)
{
    static const struct {
        size_t count;
        uint64_t total;
    } cases[] = {{0, 0}, {1, 1}, {2, 2}, {2, 3}, {0, 7}, {2, 1ULL << 40}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_result result = sample;

        result.violations = cases[i].count ? violations : NULL;
        result.violation_count = cases[i].count;
        result.violation_total = cases[i].total;
        json_auto_ref json_t *object = as_json(&result);
        const json_t *array = json_object_get(object, "violations");
        bool more = cases[i].total > cases[i].count;

        assert_keys(object, more ? KEYS_OF_EVERY_RESULT " stdout stderr violation_total"
                                 : KEYS_OF_EVERY_RESULT " stdout stderr");
        assert_true(json_is_array(array));
        assert_int_equal(json_array_size(array), cases[i].count);
        for (size_t k = 0; k < cases[i].count; k++)
            assert_violation(json_array_get(array, k), &violations[k]);
        if (more)
            assert_int_equal(json_integer_value(json_object_get(object, "violation_total")),
                             cases[i].total);
        /* They are no failure of the command. */
        assert_true(json_is_true(json_object_get(object, "success")));
    }
}

static void how_it_ended(void **state)
{
    static const struct {
        enum hutch_reason reason;
        int exit_code, signal;
        bool has_code, success, timed_out;
        const char *word;
    } cases[] = {
        {HUTCH_EXITED, 0, 0, true, true, false, "exited"},
        {HUTCH_EXITED, 3, 0, true, false, false, "exited"},
        {HUTCH_SIGNALED, -1, 9, false, false, false, "signaled"},
        {HUTCH_TIMEOUT, -1, 15, false, false, true, "timeout"},
        {HUTCH_TIMEOUT, 0, 0, true, false, true, "timeout"},
        {HUTCH_CANCELLED, -1, 9, false, false, false, "cancelled"},
        {HUTCH_SETUP, -1, 0, false, false, false, "setup"},
        {HUTCH_SETUP, 127, 0, true, false, false, "setup"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_result result = sample;

        result.reason = cases[i].reason;
        result.exit_code = cases[i].exit_code;
        result.signal = cases[i].signal;
        json_auto_ref json_t *object = as_json(&result);
        const json_t *code = json_object_get(object, "exit_code");
        const json_t *signal = json_object_get(object, "signal");

        assert_true(cases[i].has_code ? json_integer_value(code) == cases[i].exit_code
                                      : json_is_null(code));
        assert_true(cases[i].signal ? json_integer_value(signal) == cases[i].signal
                                    : json_is_null(signal));
        assert_int_equal(json_is_true(json_object_get(object, "success")), cases[i].success);
        assert_int_equal(json_is_true(json_object_get(object, "timed_out")), cases[i].timed_out);
        assert_string_equal(json_string_value(json_object_get(object, "reason")), cases[i].word);
        assert_int_equal(!json_object_get(object, "stdout"), cases[i].reason == HUTCH_SETUP);
    }
}

static void bytes_that_are_not_text(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        const char *text, *base64; /* NULL: the text says it all */
    } cases[] = {
        {"", 0, "", NULL},
        {"\xc3\xa4\n", 3, "\xc3\xa4\n", NULL},
        {"\033[1m\x7f", 5, "\033[1m\x7f", NULL},
        {"\xff", 1, "\xef\xbf\xbd", "/w=="},
        {"a\xffz", 3, "a\xef\xbf\xbdz", "Yf96"},
        {"\xe2\x82", 2, NULL, "4oI="}, /* cut in the middle of a character */
        {"\xed\xa0\x80", 3, NULL, "7aCA"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_result result = sample;

        result.stdout_data = cases[i].data;
        result.stdout_len = cases[i].len;
        result.stderr_data = cases[i].data;
        result.stderr_len = cases[i].len;
        json_auto_ref json_t *object = as_json(&result);
        const char *text = json_string_value(json_object_get(object, "stdout"));
        const char *base64 = json_string_value(json_object_get(object, "stdout_base64"));

        assert_non_null(text);
        assert_true(str_is_utf8(text, strlen(text)));
        if (cases[i].text)
            assert_string_equal(text, cases[i].text);
        assert_int_equal(!base64, !cases[i].base64);
        if (base64)
            assert_string_equal(base64, cases[i].base64);
        assert_string_equal(text, json_string_value(json_object_get(object, "stderr")));
        assert_int_equal(!json_object_get(object, "stderr_base64"), !base64);
    }
}

static void a_nul_is_a_character(void **state)
{
    struct hutch_result result = sample;

    result.stdout_data = "a\0b";
    result.stdout_len = 3;
    json_auto_ref json_t *object = as_json(&result);
    assert_int_equal(json_string_length(json_object_get(object, "stdout")), 3);
}

static void errors(void **state)
{
    const struct hutch_error failed = {.code = HUTCH_ESYSTEM,
                                       .sys_errno = EPERM,
                                       .where = "clone",
                                       .msg = "cannot create namespaces"};
    struct hutch_error err = {0};
    struct hutch_result *result = NULL;

    assert_int_equal(hutch_result_from_error(&failed, &result, &err), 0);
    assert_int_equal(result->status, 125);
    json_auto_ref json_t *object = as_json(result);
    assert_keys(object, KEYS_OF_EVERY_RESULT " error");
    const json_t *error = json_object_get(object, "error");
    assert_keys(error, "code where message errno");
    assert_string_equal(json_string_value(json_object_get(error, "code")), "system");
    assert_string_equal(json_string_value(json_object_get(error, "where")), "clone");
    assert_string_equal(json_string_value(json_object_get(error, "message")), failed.msg);
    assert_string_equal(json_string_value(json_object_get(error, "errno")), strerror(EPERM));
    hutch_result_free(result);

    struct hutch_result lost = sample;
    lost.output_errno = ENOSPC;
    json_auto_ref json_t *with = as_json(&lost);
    assert_keys(with, KEYS_OF_EVERY_RESULT " stdout stderr output_error");
    assert_string_equal(json_string_value(json_object_get(with, "output_error")), strerror(ENOSPC));
}

static void events(void **state)
{
    static const char *const argv[] = {"echo", "a\xff", NULL};
    static const struct {
        struct hutch_event event;
        const char *type, *keys;
    } cases[] = {
        {{.type = HUTCH_EVENT_SANDBOX_STARTED}, "sandbox.started", "time sandbox type"},
        {{.type = HUTCH_EVENT_SANDBOX_STOPPED}, "sandbox.stopped", "time sandbox type"},
        {{.type = HUTCH_EVENT_RUN_STARTED, .run = 1, .argv = argv},
         "run.started",
         "time sandbox run type argv"},
        {{.type = HUTCH_EVENT_RUN_OUTPUT, .run = 1, .stream = 1, .data = "x\n", .data_len = 2},
         "run.output",
         "time sandbox run type stream data"},
        {{.type = HUTCH_EVENT_RUN_OUTPUT, .run = 1, .stream = 2, .data = "\xff", .data_len = 1},
         "run.output",
         "time sandbox run type stream data data_base64"},
        {{.type = HUTCH_EVENT_RUN_TIMEOUT, .run = 1}, "run.timeout", "time sandbox run type"},
        {{.type = HUTCH_EVENT_RUN_EXITED, .run = 1, .result = &sample},
         "run.exited",
         "time sandbox run type result"},
        {{.type = HUTCH_EVENT_VIOLATION, .run = 1, .violation = &violations[0]},
         "violation",
         "time sandbox run type violation"},
        {{.type = HUTCH_EVENT_VIOLATION, .violation = &violations[1]},
         "violation",
         "time sandbox type violation"},
        {{.type = HUTCH_EVENT_LIMIT_WARNING, .run = 1, .limit = "memory", .current = 8, .max = 10},
         "limit.warning",
         "time sandbox run type limit current max"},
        {{.type = HUTCH_EVENT_LIMIT_EXCEEDED, .run = 1, .limit = "disk", .current = 11, .max = 10},
         "limit.exceeded",
         "time sandbox run type limit current max"},
        {{.type = HUTCH_EVENT_SHELL_STARTED, .shell = "5e11"},
         "shell.started",
         "time sandbox type shell"},
        {{.type = HUTCH_EVENT_SHELL_STOPPED, .shell = "5e11"},
         "shell.stopped",
         "time sandbox type shell"},
        {{.type = HUTCH_EVENT_FILE_WRITTEN, .path = "/ws/\xff", .file_bytes = 5},
         "file.written",
         "time sandbox type path size"},
        {{.type = (enum hutch_event_type)0}, "unknown", "time sandbox type"},
        {{.type = (enum hutch_event_type)(HUTCH_EVENT_FILE_WRITTEN + 1)},
         "unknown",
         "time sandbox type"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_event event = cases[i].event;
        struct hutch_error err = {0};
        str_auto char *text = NULL;

        event.size = sizeof(event);
        event.time_ms = 1700000000123;
        event.sandbox = "k3f9";
        assert_int_equal(hutch_event_to_json(&event, &text, &err), 0);
        assert_null(strchr(text, '\n'));
        json_auto_ref json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(object);
        assert_keys(object, cases[i].keys);
        assert_string_equal(json_string_value(json_object_get(object, "type")), cases[i].type);
        assert_string_equal(json_string_value(json_object_get(object, "sandbox")), "k3f9");
        assert_int_equal(json_integer_value(json_object_get(object, "time")), 1700000000123);
        if (event.stream)
            assert_string_equal(json_string_value(json_object_get(object, "stream")),
                                event.stream == 1 ? "stdout" : "stderr");
        /* The result of an event is without the output that other events have told. */
        if (event.result)
            assert_keys(json_object_get(object, "result"), KEYS_OF_EVERY_RESULT);
        if (event.path)
            assert_int_equal(json_integer_value(json_object_get(object, "size")), 5);
        if (event.violation)
            assert_violation(json_object_get(object, "violation"), event.violation);
    }
}

static void null_arguments(void **state)
{
    struct hutch_error err = {0};
    struct hutch_event event = {.sandbox = ""};
    char *text = (char *)"untouched";

    assert_int_equal(hutch_result_to_json(NULL, &text, &err), HUTCH_EINVALID);
    assert_string_equal(err.where, "result");
    assert_int_equal(hutch_result_to_json(&sample, NULL, &err), HUTCH_EINVALID);
    assert_string_equal(err.where, "ret");
    assert_int_equal(hutch_event_to_json(NULL, &text, &err), HUTCH_EINVALID);
    assert_string_equal(err.where, "event");
    assert_int_equal(hutch_event_to_json(&event, NULL, &err), HUTCH_EINVALID);
    assert_int_equal(hutch_result_to_json(NULL, NULL, NULL), HUTCH_EINVALID);
    assert_string_equal(text, "untouched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_word),
        cmocka_unit_test(every_reason_has_a_word),
        cmocka_unit_test(keys_of_a_result),
        cmocka_unit_test(facts_have_types),
        cmocka_unit_test(hosts),
        cmocka_unit_test(violations_are_told),
        cmocka_unit_test(how_it_ended),
        cmocka_unit_test(bytes_that_are_not_text),
        cmocka_unit_test(a_nul_is_a_character),
        cmocka_unit_test(errors),
        cmocka_unit_test(events),
        cmocka_unit_test(null_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
