/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON that has a fixed shape, strictly: what is not expected is an error that names its place,
 * "/syscalls/3/args/0/op in FILE". One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

struct arena;
struct profile;

enum { READER_PLACE_MAX = sizeof(((struct hutch_error *)NULL)->where) };

struct reader {
    struct profile *profile;
    struct arena *arena;
    const char *source;
    struct hutch_error *err;
    char pointer[READER_PLACE_MAX]; /* of the value at hand */
};

typedef int reader_fn(struct reader *reader, json_t *value, void *arg);

struct reader_member {
    const char *key; /* NULL ends a list */
    reader_fn *read; /* NULL: taken and not used */
};

/* Each returns 0, or fills the error, with the pointer left where the mistake is. */

/* The value at hand will not do; `what` follows its place. */
int reader_refuse(struct reader *reader, const char *what);

/* One of a list of words that ends with NULL: its index. */
int reader_word(struct reader *reader, const json_t *value, const char *what,
                const char *const *words, size_t *ret);

/* Every member of an object, in the order of `members`; null is as good as absent, as in Go. */
int reader_object(struct reader *reader, json_t *object, const struct reader_member *members,
                  void *arg);

int reader_array(struct reader *reader, json_t *array, reader_fn *read, void *arg);
int reader_number(struct reader *reader, const json_t *value, uint64_t most, uint64_t *ret);
int reader_string(struct reader *reader, const json_t *value, const char **ret);
