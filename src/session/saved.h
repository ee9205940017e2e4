/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a shell in the sandbox left about its state, as far as the engine looks at it.
 *
 * The bytes come from the sandbox: anything may be in them. They are counted, copied and shown, never
 * evaluated, never used as a path outside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

#define SAVED_BYTES_MAX (1 << 20)
#define SAVED_ENV_MAX 4096
#define SAVED_CWD_MAX 4095

struct saved {
    uint64_t generation; /* of the command that saved it; not 0 */
    int pid;
    const char *cwd;        /* absolute */
    const char *const *env; /* "NAME=value"; ends with NULL */
    size_t env_count;
};

/*
 * Read "GENERATION\nPID\0CWD\0" and then "NAME=value\0" as often as it comes. What is no variable, is
 * not ended by a NUL or comes after SAVED_ENV_MAX others is left out. False when what must be there
 * is not, or when out of memory; then *ret is untouched. Strings are in `arena`.
 */
bool saved_parse(struct arena *arena, const char *data, size_t len, struct saved *ret);

/* Read "NUMBER\n" and nothing else, from 1 to `max`; false when it is not that. */
bool saved_parse_number(const char *data, size_t len, uint64_t max, uint64_t *ret);

/* Whether `name`, of `len` bytes, is a name that a shell takes for a variable. */
bool saved_is_name(const char *name, size_t len);
