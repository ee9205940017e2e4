/* SPDX-License-Identifier: Apache-2.0 */
/* What hutch needs of JSON beyond the library: strict reading, safe strings. Any thread. */
#pragma once

#include <hutch.h>
#include <jansson.h>
#include <string.h>

/*
 * Parse a whole document, an object. Refuses duplicate keys, NULs in strings, trailing text, deep
 * nesting, and more than `max` bytes. Errors name `source`, line and column. The caller owns *ret
 * (json_decref).
 */
int json_parse_object(const char *text, size_t len, size_t max, const char *source, json_t **ret,
                      struct hutch_error *err);

/* What a value is, for messages: "an array", "null". */
const char *json_kind(const json_t *value);

/* `pointer` with one more component, escaped as RFC 6901 wants it; cut when it does not fit. */
void json_pointer_push(char *pointer, size_t size, const char *component);

/* A JSON string of any bytes: what is not UTF-8 becomes U+FFFD. NULL when out of memory. */
json_t *json_string_lossy(const char *data, size_t len);

/* The same of text. */
static inline json_t *json_text_lossy(const char *text)
{
    return json_string_lossy(text, strlen(text));
}

/* The bytes in base64. NULL when out of memory. */
json_t *json_string_base64(const char *data, size_t len);

/*
 * The bytes of a string in base64: of the usual alphabet, with its padding, nothing between. Returns
 * false when it is not that. The caller owns *ret, with a NUL behind it; NULL when out of memory.
 */
bool json_base64_bytes(const json_t *string, char **ret, size_t *len);

/*
 * Add a value, which is taken. What cannot be added whole is not there at all: out of memory, or when the value is
 * NULL because of that, *object becomes NULL, and so does whatever it would have been put into.
 */
void json_put(json_t **object, const char *key, json_t *value);
void json_push(json_t **array, json_t *value);

/* A time, as exact as a clock here can tell: to microseconds. */
json_t *json_milliseconds(double ms);

/* The value of a fact: a boolean or a number where it is one. */
json_t *json_fact(const char *value);

/* What was enforced, and the steps of a set-up with their total, as results have them. */
json_t *json_facts(const struct hutch_fact *facts);
json_t *json_steps(const struct hutch_step *steps, double total_ms);

static inline void json_decref_auto(json_t **value)
{
    json_decref(*value);
}
#define json_auto_ref __attribute__((cleanup(json_decref_auto)))
