/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/err.h"
#include "base/str.h"

/* jansson's parser recurses: far below what overflows the stack of a small thread. */
#define DEPTH_MOST 64

/*
 * jansson takes its hash seed from /dev/urandom when its first object is made: three system calls
 * on every start. The kernel has already given this process 16 random bytes. They also hold the
 * stack protector's secret, so only a digest of them is used.
 *
 * The seed is global to the process, and the first one given stays: a program that has seeded
 * jansson before keeps its own. jansson makes this call safe for threads.
 */
static void seed_hashes(void)
{
    const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    uint64_t words[2];

    if (!random)
        return;
    memcpy(words, random, sizeof(words));
    uint64_t digest = (words[0] ^ (words[1] >> 32) ^ (words[1] << 32)) *
                      UINT64_C(0x9e3779b97f4a7c15);
    json_object_seed((size_t)((digest >> 32) | 1)); /* 0 would mean /dev/urandom */
}

/* Whether brackets nest deeper than DEPTH_MOST; what is a string is skipped. */
static bool is_too_deep(const char *text, size_t len)
{
    size_t depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == '"')
            quoted = !quoted;
        else if (quoted && c == '\\')
            i++;
        else if (!quoted && (c == '[' || c == '{') && ++depth > DEPTH_MOST)
            return true;
        else if (!quoted && (c == ']' || c == '}') && depth > 0)
            depth--;
    }
    return false;
}

const char *json_kind(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: break;
    }
    return "null";
}

static int refuse_text(const char *source, const json_error_t *problem, struct hutch_error *err)
{
    char where[sizeof(err->where)];

    /* Line and column must survive a long name. */
    snprintf(where, sizeof(where), "%.90s:%d:%d", source, problem->line, problem->column);
    switch (json_error_code(problem)) {
    case json_error_out_of_memory: return err_oom(err);
    case json_error_null_character:
        return err_set(err, HUTCH_EPOLICY, where, "not valid here: a string contains NUL");
    case json_error_null_byte_in_key:
        return err_set(err, HUTCH_EPOLICY, where, "not valid here: a key contains NUL");
    default: return err_set(err, HUTCH_EPOLICY, where, "not valid JSON: %s", problem->text);
    }
}

int json_parse_object(const char *text, size_t len, size_t max, const char *source, json_t **ret,
                      struct hutch_error *err)
{
    json_error_t problem;

    if (len > max)
        return err_set(err, HUTCH_EPOLICY, source, "%zu bytes of JSON are too many: at most %zu",
                       len, max);
    if (is_too_deep(text, len))
        return err_set(err, HUTCH_EPOLICY, source, "not valid here: nested deeper than %d levels",
                       DEPTH_MOST);
    seed_hashes();
    json_t *value = json_loadb(text ? text : "", len, JSON_REJECT_DUPLICATES, &problem);
    if (!value)
        return refuse_text(source, &problem, err);
    if (!json_is_object(value)) {
        err_set(err, HUTCH_EPOLICY, source, "must be a JSON object, not %s", json_kind(value));
        json_decref(value);
        return HUTCH_EPOLICY;
    }
    *ret = value;
    return 0;
}

void json_pointer_push(char *pointer, size_t size, const char *component)
{
    size_t len = strnlen(pointer, size);

    if (len + 2 > size)
        return;
    pointer[len++] = '/';
    for (; *component; component++) {
        bool escaped = *component == '~' || *component == '/';

        if (len + (escaped ? 2 : 1) >= size)
            break;
        pointer[len++] = escaped ? '~' : *component;
        if (escaped)
            pointer[len++] = *component == '~' ? '0' : '1';
    }
    pointer[len] = '\0';
}

json_t *json_string_lossy(const char *data, size_t len)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t used = 0;

    if (str_is_utf8(data, len))
        return json_stringn_nocheck(data, len);
    if (len > SIZE_MAX / 3)
        return NULL;
    str_auto char *text = malloc(len * 3);
    if (!text)
        return NULL;
    for (size_t i = 0; i < len;) {
        size_t n = str_utf8_len(data + i, len - i);

        memcpy(text + used, n ? data + i : replacement, n ? n : sizeof(replacement) - 1);
        used += n ? n : sizeof(replacement) - 1;
        i += n ? n : 1;
    }
    return json_stringn_nocheck(text, used);
}

json_t *json_string_base64(const char *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)data;
    size_t used = 0;

    if (len > SIZE_MAX / 4)
        return NULL;
    str_auto char *text = malloc((len + 2) / 3 * 4 + 1);
    if (!text)
        return NULL;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t bits = (uint32_t)in[i] << 16;

        bits |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
        bits |= left > 2 ? (uint32_t)in[i + 2] : 0;
        text[used++] = digits[bits >> 18 & 63];
        text[used++] = digits[bits >> 12 & 63];
        text[used++] = left > 1 ? digits[bits >> 6 & 63] : '=';
        text[used++] = left > 2 ? digits[bits & 63] : '=';
    }
    return json_stringn_nocheck(text, used);
}

/* The value of a digit; -1 when it is none. */
static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool json_base64_bytes(const json_t *string, char **ret, size_t *len)
{
    const char *text = json_string_value(string);
    size_t size = json_string_length(string), used = 0;
    size_t digits = size;
    uint32_t bits = 0;

    while (digits > 0 && size - digits < 2 && text[digits - 1] == '=')
        digits--;
    if (!text || size % 4 != 0)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (base64_digit(text[i]) < 0)
            return false;
    }

    char *data = malloc(size / 4 * 3 + 1);
    *ret = data;
    *len = 0;
    if (!data)
        return true;
    for (size_t i = 0; i < digits; i++) {
        bits = bits << 6 | (uint32_t)base64_digit(text[i]);
        if (i % 4 > 0)
            data[used++] = (char)(bits >> (6 - i % 4 * 2));
    }
    data[used] = '\0';
    *len = used;
    return true;
}

json_t *json_milliseconds(double ms)
{
    return json_real((double)(int64_t)(ms * 1e3 + 0.5) / 1e3);
}

/* Of a container that something could not be put into nothing stays; the library lets NULL pass everywhere. */
static void drop_unless(bool put, json_t **container)
{
    if (put)
        return;
    json_decref(*container);
    *container = NULL;
}

void json_put(json_t **object, const char *key, json_t *value)
{
    drop_unless(json_object_set_new(*object, key, value) == 0, object);
}

void json_push(json_t **array, json_t *value)
{
    drop_unless(json_array_append_new(*array, value) == 0, array);
}

json_t *json_fact(const char *value)
{
    if (str_eq(value, "true") || str_eq(value, "false"))
        return json_boolean(value[0] == 't');
    if (value[0] && !value[strspn(value, "0123456789")])
        return json_integer(strtoll(value, NULL, 10));
    return json_text_lossy(value);
}

json_t *json_facts(const struct hutch_fact *facts)
{
    json_t *object = json_object();

    for (; facts->name; facts++)
        json_put(&object, facts->name, json_fact(facts->value));
    return object;
}

json_t *json_steps(const struct hutch_step *steps, double total_ms)
{
    json_t *object = json_object();

    json_put(&object, "total", json_milliseconds(total_ms));
    for (; steps->name; steps++)
        json_put(&object, steps->name, json_milliseconds(steps->ms));
    return object;
}
