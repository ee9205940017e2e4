/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters that a method takes, as rows: name, type, help. A call is checked against them before
 * its method sees it, so that methods only fetch; docs/rpc.md is made from them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <hutch.h>
#include <jansson.h>

enum param_type {
    PARAM_STRING,
    PARAM_WORD,    /* one of `values` */
    PARAM_STRINGS, /* list of strings */
    PARAM_OBJECTS, /* list of objects, checked by its user */
    PARAM_MAP,     /* object of strings */
    PARAM_OBJECT,  /* checked by its user */
    PARAM_COUNT,   /* whole number from min to max */
    PARAM_BOOL,
    PARAM_DURATION, /* as in a policy: "500ms", "30s"; a number is seconds */
    PARAM_SIGNAL,   /* "TERM", "SIGTERM" or its number */
    PARAM_ID,       /* of a request: a string or a number */
};

/*
 * Without pointers: those would have to be relocated at every start of the command, and there are more of
 * these rows than of all that `hutch run` needs.
 */
struct param { /* NOLINT(clang-analyzer-optin.performance.Padding): in the order rows are read */
    char name[16];
    enum param_type type;
    char help[80]; /* one line */
    bool required;
    uint64_t min; /* of PARAM_COUNT */
    uint64_t max;
    char values[16]; /* of PARAM_WORD: "one|two" */
};

/* How a type is called in documents: "list of strings". */
const char *param_type_name(enum param_type type);

/*
 * Check `params` (NULL: none) against `rows`, which end with an empty name: every required one there, each
 * of its type, none that is not known. null counts as not given. Returns 0 or RPC_PARAMS.
 */
int params_check(const struct param *rows, const json_t *params, struct hutch_error *err);

/* Values of checked params; what was not given is NULL, `missing` or false. */
const char *params_string(const json_t *params, const char *name);
uint64_t params_count(const json_t *params, const char *name, uint64_t missing);
bool params_bool(const json_t *params, const char *name);
uint64_t params_duration_ms(const json_t *params, const char *name, uint64_t missing);
int params_signal(const json_t *params, const char *name);

/*
 * The bytes that a string stands for, as the parameter `encoding` says. *ret is NULL when it is not given;
 * *held is what of them the caller must free. Returns 0 or RPC_PARAMS.
 */
int params_bytes(const json_t *params, const char *name, const char **ret, size_t *len, char **held,
                 struct hutch_error *err);

/* The object or list itself; NULL when not given. */
json_t *params_get(const json_t *params, const char *name);

/*
 * A list of strings as an array that ends with NULL, or a map as one of "NAME=value". The caller owns it,
 * free it with params_free_list(). NULL when not given.
 */
char **params_list(const json_t *params, const char *name);
void params_free_list(char ***list);

#define params_list_auto __attribute__((cleanup(params_free_list)))
