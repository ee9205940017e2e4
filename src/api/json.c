/* SPDX-License-Identifier: Apache-2.0 */
/* Results, events and hosts as JSON: the one place that knows their keys. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

const char *hutch_version(void)
{
    return HUTCH_VERSION;
}

const char *hutch_code_name(int code)
{
    static const char *const names[] = {
        "ok",    "invalid", "policy",    "unsupported", "denied",   "system",
        "nomem", "busy",    "not_found", "state",       "internal",
    };

    return code <= 0 && code > -(int)ARRAY_LEN(names) ? names[-code] : "unknown";
}

const char *hutch_reason_name(enum hutch_reason reason)
{
    static const char *const names[] = {
        [HUTCH_EXITED] = "exited",   [HUTCH_SIGNALED] = "signaled",
        [HUTCH_TIMEOUT] = "timeout", [HUTCH_CANCELLED] = "cancelled",
        [HUTCH_SETUP] = "setup",     [HUTCH_CPU_TIME] = "cpu_time",
        [HUTCH_MEMORY] = "memory",   [HUTCH_PROCESSES] = "processes",
        [HUTCH_DISK] = "disk",
    };

    return (size_t)reason < ARRAY_LEN(names) ? names[reason] : "unknown";
}

const char *hutch_host_state_name(enum hutch_host_state state)
{
    static const char *const names[] = {
        [HUTCH_HOST_UNKNOWN] = "unknown",
        [HUTCH_HOST_OK] = "ok",
        [HUTCH_HOST_WEAKER] = "weaker",
        [HUTCH_HOST_MISSING] = "missing",
    };

    return (size_t)state < ARRAY_LEN(names) ? names[state] : "unknown";
}

static json_t *integer_or_null(bool known, int value)
{
    return known ? json_integer(value) : json_null();
}

/* A stream, and its exact bytes too when JSON cannot carry them. */
static void add_stream(json_t **object, const char *key, const char *data, size_t len)
{
    char exact[32];

    json_put(object, key, json_string_lossy(data, len));
    if (str_is_utf8(data, len))
        return;
    size_t key_len = strlen(key);
    memcpy(exact, key, key_len);
    memcpy(exact + key_len, "_base64", sizeof "_base64");
    json_put(object, exact, json_string_base64(data, len));
}

static json_t *number_or_null(uint64_t number)
{
    return number == HUTCH_UNKNOWN ? json_null() : json_integer((json_int_t)number);
}

static json_t *usage_json(const struct hutch_result *result)
{
    const struct {
        const char *name;
        uint64_t number;
    } numbers[] = {
        {"peak_memory_bytes", result->peak_memory_bytes},
        {"peak_processes", result->peak_processes},
        {"disk_bytes", result->disk_bytes},
        {"read_bytes", result->read_bytes},
        {"written_bytes", result->written_bytes},
        {"stdout_bytes", result->stdout_bytes},
        {"stderr_bytes", result->stderr_bytes},
    };
    json_t *object = json_object();

    json_put(&object, "cpu_ms", json_milliseconds(result->user_ms + result->system_ms));
    json_put(&object, "user_ms", json_milliseconds(result->user_ms));
    json_put(&object, "system_ms", json_milliseconds(result->system_ms));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        json_put(&object, numbers[i].name, number_or_null(numbers[i].number));
    return object;
}

static json_t *error_json(const struct hutch_error *error)
{
    json_t *object = json_object();

    json_put(&object, "code", json_string(hutch_code_name(error->code)));
    json_put(&object, "where", json_string_lossy(error->where, strlen(error->where)));
    json_put(&object, "message", json_string_lossy(error->msg, strlen(error->msg)));
    if (error->sys_errno)
        json_put(&object, "errno", json_text_lossy(strerror(error->sys_errno)));
    return object;
}

static json_t *violation_json(const struct hutch_violation *violation)
{
    json_t *object = json_object();

    json_put(&object, "kind", json_text_lossy(violation->kind));
    json_put(&object, "name", json_text_lossy(violation->name));
    json_put(&object, "detail", json_text_lossy(violation->detail));
    json_put(&object, "pid", json_integer(violation->pid));
    json_put(&object, "command", json_text_lossy(violation->command));
    json_put(&object, "hint", json_text_lossy(violation->hint));
    return object;
}

static json_t *violations_json(const struct hutch_result *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < result->violation_count; i++)
        json_push(&array, violation_json(&result->violations[i]));
    return array;
}

static json_t *result_json(const struct hutch_result *result, bool output)
{
    bool exited = result->signal == 0 && result->exit_code >= 0;
    json_t *object = json_object();

    json_put(&object, "exit_code", integer_or_null(exited, result->exit_code));
    json_put(&object, "signal", integer_or_null(result->signal > 0, result->signal));
    json_put(&object, "success",
             json_boolean(result->reason == HUTCH_EXITED && result->exit_code == 0));
    json_put(&object, "reason", json_string(hutch_reason_name(result->reason)));
    json_put(&object, "timed_out", json_boolean(result->reason == HUTCH_TIMEOUT));
    json_put(&object, "truncated", json_boolean(result->truncated));
    if (result->error.code)
        json_put(&object, "error", error_json(&result->error));
    if (output && result->reason != HUTCH_SETUP) {
        add_stream(&object, "stdout", result->stdout_data, result->stdout_len);
        add_stream(&object, "stderr", result->stderr_data, result->stderr_len);
    }
    if (result->output_errno)
        json_put(&object, "output_error", json_text_lossy(strerror(result->output_errno)));
    json_put(&object, "duration_ms", json_milliseconds(result->duration_ms));
    json_put(&object, "usage", usage_json(result));
    json_put(&object, "violations", violations_json(result));
    if (result->violation_total > result->violation_count)
        json_put(&object, "violation_total", json_integer((json_int_t)result->violation_total));
    json_put(&object, "enforced", json_facts(result->enforced));
    json_put(&object, "setup_ms", json_steps(result->setup, result->setup_total_ms));
    json_put(&object, "sandbox", json_string(result->sandbox));
    json_put(&object, "run", json_integer(result->run));
    return object;
}

static int dump(json_t *object, char **ret, struct hutch_error *err)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

    json_decref(object);
    if (!text)
        return err_in(err_oom(err), "result", err);
    *ret = text;
    return 0;
}

int hutch_result_to_json(const struct hutch_result *result, char **ret, struct hutch_error *err)
{
    if (!result || !ret)
        return err_set(err, HUTCH_EINVALID, result ? "ret" : "result", "NULL was given");
    return dump(result_json(result, true), ret, err);
}

const char *hutch_event_name(enum hutch_event_type type)
{
    static const char *const names[] = {
        [HUTCH_EVENT_SANDBOX_STARTED] = "sandbox.started",
        [HUTCH_EVENT_SANDBOX_STOPPED] = "sandbox.stopped",
        [HUTCH_EVENT_RUN_STARTED] = "run.started",
        [HUTCH_EVENT_RUN_OUTPUT] = "run.output",
        [HUTCH_EVENT_RUN_TIMEOUT] = "run.timeout",
        [HUTCH_EVENT_RUN_EXITED] = "run.exited",
        [HUTCH_EVENT_VIOLATION] = "violation",
        [HUTCH_EVENT_LIMIT_WARNING] = "limit.warning",
        [HUTCH_EVENT_LIMIT_EXCEEDED] = "limit.exceeded",
        [HUTCH_EVENT_SHELL_STARTED] = "shell.started",
        [HUTCH_EVENT_SHELL_STOPPED] = "shell.stopped",
        [HUTCH_EVENT_FILE_WRITTEN] = "file.written",
    };

    return (size_t)type < ARRAY_LEN(names) && names[type] ? names[type] : "unknown";
}

static json_t *argv_json(const char *const *argv)
{
    json_t *array = json_array();

    for (; *argv; argv++)
        json_push(&array, json_text_lossy(*argv));
    return array;
}

int hutch_event_to_json(const struct hutch_event *event, char **ret, struct hutch_error *err)
{
    if (!event || !ret)
        return err_set(err, HUTCH_EINVALID, event ? "ret" : "event", "NULL was given");

    json_t *object = json_object();
    json_put(&object, "time", json_integer((json_int_t)event->time_ms));
    json_put(&object, "sandbox", json_string(event->sandbox));
    if (event->run)
        json_put(&object, "run", json_integer(event->run));
    json_put(&object, "type", json_string(hutch_event_name(event->type)));
    if (event->shell)
        json_put(&object, "shell", json_string(event->shell));
    if (event->argv)
        json_put(&object, "argv", argv_json(event->argv));
    if (event->type == HUTCH_EVENT_RUN_OUTPUT) {
        json_put(&object, "stream", json_string(event->stream == 1 ? "stdout" : "stderr"));
        add_stream(&object, "data", event->data, event->data_len);
    }
    if (event->limit) {
        json_put(&object, "limit", json_string(event->limit));
        json_put(&object, "current", number_or_null(event->current));
        json_put(&object, "max", number_or_null(event->max));
    }
    if (event->path) {
        json_put(&object, "path", json_text_lossy(event->path));
        json_put(&object, "size", json_integer((json_int_t)event->file_bytes));
    }
    if (event->violation)
        json_put(&object, "violation", violation_json(event->violation));
    if (event->result)
        json_put(&object, "result", result_json(event->result, false));
    return dump(object, ret, err);
}

static json_t *text_or_null(const char *text)
{
    return text ? json_text_lossy(text) : json_null();
}

static json_t *host_fact_json(const struct hutch_host_fact *fact)
{
    json_t *object = json_object();

    json_put(&object, "value", fact->value ? json_fact(fact->value) : json_null());
    json_put(&object, "state", json_string(hutch_host_state_name(fact->state)));
    json_put(&object, "reason", text_or_null(fact->reason));
    json_put(&object, "help", text_or_null(fact->help));
    return object;
}

int hutch_host_to_json(const struct hutch_host *host, char **ret, struct hutch_error *err)
{
    if (!host || !ret)
        return err_null(err, host ? "ret" : "host");

    json_t *facts = json_object();
    for (const struct hutch_host_fact *const *fact = host->facts; *fact; fact++)
        json_put(&facts, (*fact)->name, host_fact_json(*fact));
    json_t *object = json_object();
    json_put(&object, "ok", json_boolean(host->ok));
    json_put(&object, "version", json_string(hutch_version()));
    json_put(&object, "kernel", json_text_lossy(host->kernel));
    json_put(&object, "machine", json_text_lossy(host->machine));
    json_put(&object, "error", host->ok ? json_null() : error_json(&host->error));
    json_put(&object, "facts", facts);
    return dump(object, ret, err);
}
