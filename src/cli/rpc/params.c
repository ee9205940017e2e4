/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/params.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/num.h"
#include "base/str.h"
#include "base/suggest.h"
#include "cli/rpc/message.h"

enum { SIGNAL_MAX = 64 };

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"ILL", SIGILL},
    {"TRAP", SIGTRAP},     {"ABRT", SIGABRT}, {"BUS", SIGBUS},     {"FPE", SIGFPE},
    {"KILL", SIGKILL},     {"USR1", SIGUSR1}, {"SEGV", SIGSEGV},   {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE},     {"ALRM", SIGALRM}, {"TERM", SIGTERM},   {"CHLD", SIGCHLD},
    {"CONT", SIGCONT},     {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},   {"TTIN", SIGTTIN},
    {"TTOU", SIGTTOU},     {"URG", SIGURG},   {"XCPU", SIGXCPU},   {"XFSZ", SIGXFSZ},
    {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"IO", SIGIO},
    {"PWR", SIGPWR},       {"SYS", SIGSYS},
};

const char *param_type_name(enum param_type type)
{
    switch (type) {
    case PARAM_STRING: return "string";
    case PARAM_WORD: return "word";
    case PARAM_STRINGS: return "list of strings";
    case PARAM_OBJECTS: return "list of objects";
    case PARAM_MAP: return "object of strings";
    case PARAM_OBJECT: return "object";
    case PARAM_COUNT: return "whole number";
    case PARAM_BOOL: return "true or false";
    case PARAM_DURATION: return "duration";
    case PARAM_SIGNAL: return "signal";
    case PARAM_ID: break;
    }
    return "string or number";
}

/* 0 when it is none. */
static int signal_number(const json_t *value)
{
    const char *name = json_string_value(value);

    if (json_is_integer(value)) {
        json_int_t number = json_integer_value(value);
        return number >= 1 && number <= SIGNAL_MAX ? (int)number : 0;
    }
    if (name && str_starts(name, "SIG"))
        name += strlen("SIG");
    for (size_t i = 0; name && i < ARRAY_LEN(signals); i++) {
        if (str_eq(signals[i].name, name))
            return signals[i].number;
    }
    return 0;
}

/* Numbers are read as the text they would be in quotes, as in a policy. */
static const char *duration_problem(const json_t *value, uint64_t *ret_ms)
{
    char number[64];
    const char *text = json_string_value(value);

    if (json_is_number(value)) {
        size_t len = json_dumpb(value, number, sizeof number - 1,
                                JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

        number[len < sizeof number ? len : 0] = '\0';
        text = number;
    }
    return text ? num_parse_duration(text, ret_ms) : "is not a duration";
}

/* ---- Checking ---- */

/* The name of a parameter, or of a member of it, as a pointer. */
static void point_at(char *where, size_t size, const char *name, const char *member)
{
    where[0] = '\0';
    json_pointer_push(where, size, name);
    if (member)
        json_pointer_push(where, size, member);
}

static int refuse_type(const struct param *row, const char *member, const json_t *value,
                       struct hutch_error *err)
{
    char where[sizeof err->where];

    point_at(where, sizeof where, row->name, member);
    err_set(err, HUTCH_EINVALID, where, "must be a %s, not %s",
            !member                      ? param_type_name(row->type)
            : row->type == PARAM_OBJECTS ? "object"
                                         : "string",
            json_kind(value));
    return RPC_PARAMS;
}

static int refuse_value(const struct param *row, const char *why, struct hutch_error *err)
{
    char where[sizeof err->where];

    point_at(where, sizeof where, row->name, NULL);
    err_set(err, HUTCH_EINVALID, where, "%s", why);
    return RPC_PARAMS;
}

static int check_word(const struct param *row, const json_t *value, struct hutch_error *err)
{
    const char *word = json_string_value(value);
    char why[96];

    if (!word)
        return refuse_type(row, NULL, value, err);
    for (const char *values = row->values; *values; values += *values == '|') {
        size_t len = strcspn(values, "|");

        if (strlen(word) == len && strncmp(word, values, len) == 0)
            return 0;
        values += len;
    }
    snprintf(why, sizeof why, "must be one of %s", row->values);
    return refuse_value(row, why, err);
}

static int check_list(const struct param *row, const json_t *value, struct hutch_error *err)
{
    json_type wanted = row->type == PARAM_OBJECTS ? JSON_OBJECT : JSON_STRING;

    if (!json_is_array(value))
        return refuse_type(row, NULL, value, err);
    for (size_t i = 0; i < json_array_size(value); i++) {
        char index[24];

        if (json_typeof(json_array_get(value, i)) == wanted)
            continue;
        snprintf(index, sizeof index, "%zu", i);
        return refuse_type(row, index, json_array_get(value, i), err);
    }
    return 0;
}

static int check_map(const struct param *row, const json_t *value, struct hutch_error *err)
{
    const char *name;
    json_t *entry;

    if (!json_is_object(value))
        return refuse_type(row, NULL, value, err);
    json_object_foreach((json_t *)value, name, entry)
    {
        if (!json_is_string(entry))
            return refuse_type(row, name, entry, err);
        if (!*name || strchr(name, '='))
            return refuse_value(row, "a name must not be empty or contain '='", err);
    }
    return 0;
}

static int check_count(const struct param *row, const json_t *value, struct hutch_error *err)
{
    json_int_t number = json_integer_value(value);
    char why[96];

    if (!json_is_integer(value))
        return refuse_type(row, NULL, value, err);
    if (number >= 0 && (uint64_t)number >= row->min && (uint64_t)number <= row->max)
        return 0;
    snprintf(why, sizeof why, "must be from %" PRIu64 " to %" PRIu64, row->min, row->max);
    return refuse_value(row, why, err);
}

static int check_duration(const struct param *row, const json_t *value, struct hutch_error *err)
{
    uint64_t ms;

    if (!json_is_string(value) && !json_is_number(value))
        return refuse_type(row, NULL, value, err);
    const char *why = duration_problem(value, &ms);
    return why ? refuse_value(row, why, err) : 0;
}

static int check_signal(const struct param *row, const json_t *value, struct hutch_error *err)
{
    if (!json_is_string(value) && !json_is_integer(value))
        return refuse_type(row, NULL, value, err);
    return signal_number(value) ? 0 : refuse_value(row, "is not a signal", err);
}

static int check_value(const struct param *row, const json_t *value, struct hutch_error *err)
{
    bool good = false;

    switch (row->type) {
    case PARAM_WORD: return check_word(row, value, err);
    case PARAM_STRINGS:
    case PARAM_OBJECTS: return check_list(row, value, err);
    case PARAM_MAP: return check_map(row, value, err);
    case PARAM_COUNT: return check_count(row, value, err);
    case PARAM_DURATION: return check_duration(row, value, err);
    case PARAM_SIGNAL: return check_signal(row, value, err);
    case PARAM_STRING: good = json_is_string(value); break;
    case PARAM_OBJECT: good = json_is_object(value); break;
    case PARAM_BOOL: good = json_is_boolean(value); break;
    case PARAM_ID: good = json_is_string(value) || json_is_number(value); break;
    }
    return good ? 0 : refuse_type(row, NULL, value, err);
}

static const struct param *find(const struct param *rows, const char *name)
{
    for (; rows->name[0]; rows++) {
        if (str_eq(rows->name, name))
            return rows;
    }
    return NULL;
}

static int refuse_unknown(const struct param *rows, const char *name, struct hutch_error *err)
{
    char where[sizeof err->where];
    struct suggest suggest;

    suggest_init(&suggest, name);
    for (; rows->name[0]; rows++)
        suggest_offer(&suggest, rows->name);
    const char *nearest = suggest_best(&suggest);

    point_at(where, sizeof where, name, NULL);
    if (nearest)
        err_set(err, HUTCH_EINVALID, where, "unknown parameter '%s' (did you mean '%s'?)", name,
                nearest);
    else
        err_set(err, HUTCH_EINVALID, where, "unknown parameter '%s'", name);
    return RPC_PARAMS;
}

int params_check(const struct param *rows, const json_t *params, struct hutch_error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)params, name, value)
    {
        const struct param *row = find(rows, name);
        int r = !row                  ? refuse_unknown(rows, name, err)
                : json_is_null(value) ? 0
                                      : check_value(row, value, err);
        if (r < 0)
            return r;
    }
    for (const struct param *row = rows; row->name[0]; row++) {
        if (row->required && !params_get(params, row->name))
            return refuse_value(row, "this parameter is needed", err);
    }
    return 0;
}

/* ---- Fetching ---- */

json_t *params_get(const json_t *params, const char *name)
{
    json_t *value = json_object_get(params, name);

    return json_is_null(value) ? NULL : value;
}

const char *params_string(const json_t *params, const char *name)
{
    return json_string_value(params_get(params, name));
}

int params_bytes(const json_t *params, const char *name, const char **ret, size_t *len, char **held,
                 struct hutch_error *err)
{
    const char *encoding = params_string(params, "encoding");
    const json_t *value = params_get(params, name);
    char where[sizeof err->where];

    *ret = json_string_value(value);
    *len = json_string_length(value);
    *held = NULL;
    if (!value || !encoding || str_eq(encoding, "utf-8"))
        return 0;
    if (!json_base64_bytes(value, held, len)) {
        point_at(where, sizeof where, name, NULL);
        err_set(err, HUTCH_EINVALID, where, "is not base64");
        return RPC_PARAMS;
    }
    if (!*held)
        abort();
    *ret = *held;
    return 0;
}

uint64_t params_count(const json_t *params, const char *name, uint64_t missing)
{
    const json_t *value = params_get(params, name);

    return value ? (uint64_t)json_integer_value(value) : missing;
}

bool params_bool(const json_t *params, const char *name)
{
    return json_is_true(params_get(params, name));
}

uint64_t params_duration_ms(const json_t *params, const char *name, uint64_t missing)
{
    const json_t *value = params_get(params, name);
    uint64_t ms = missing;

    if (value)
        duration_problem(value, &ms);
    return ms;
}

int params_signal(const json_t *params, const char *name)
{
    return signal_number(params_get(params, name));
}

static char *copy(const char *name, const char *value)
{
    char *text = NULL;
    int r = name ? asprintf(&text, "%s=%s", name, value) : asprintf(&text, "%s", value);

    if (r < 0)
        abort();
    return text;
}

char **params_list(const json_t *params, const char *name)
{
    json_t *value = params_get(params, name);
    size_t count = 0;

    if (!value)
        return NULL;
    size_t size = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    char **list = calloc(size + 1, sizeof *list);
    if (!list)
        abort();
    for (size_t i = 0; i < json_array_size(value); i++)
        list[count++] = copy(NULL, json_string_value(json_array_get(value, i)));

    const char *key;
    json_t *entry;
    json_object_foreach(value, key, entry) list[count++] = copy(key, json_string_value(entry));
    return list;
}

void params_free_list(char ***list)
{
    for (char **item = *list; item && *item; item++)
        free(*item);
    free(*list);
    *list = NULL;
}
