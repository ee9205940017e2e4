/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about strings and arrays. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline bool str_eq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static inline bool str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static inline void str_free(char **text)
{
    free(*text);
    *text = NULL;
}

#define str_auto __attribute__((cleanup(str_free)))

/*
 * A copy of `text` that is safe to print on a terminal, in *out (of `size` bytes, always
 * terminated): control bytes and bytes that are not UTF-8 become \xNN, and what does not fit ends
 * in "...". Returns `out`.
 */
const char *str_printable(const char *text, char *out, size_t size);

/* Length of the UTF-8 character that `data` begins with; 0 when it does not begin with one. */
size_t str_utf8_len(const char *data, size_t len);

/* Whether `data` is valid UTF-8 (RFC 3629: no surrogates, nothing above U+10FFFF, no overlong). */
bool str_is_utf8(const char *data, size_t len);

/* How many of the last bytes are the beginning of a character whose end is missing. */
size_t str_utf8_begun(const char *data, size_t len);
