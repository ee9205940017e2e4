/* SPDX-License-Identifier: Apache-2.0 */
/* Text or not, and where characters end. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much of a file's start decides whether it is text. */
#define TEXT_PROBE_BYTES 8192

/*
 * The character at *at, which moves past it; there is one before `end`. A byte that is not UTF-8 gets a
 * number of its own above all characters, so that it equals nothing but itself.
 */
uint32_t text_take(const char **at, const char *end);

/* `len`, or less when the last character is incomplete. What is not UTF-8 is left as it is. */
size_t text_whole(const char *data, size_t len);

/* Whether a file that begins with `data` is text: no NUL, and UTF-8. */
bool text_is_text(const char *data, size_t len);

/* The same, for what only compares bytes: no NUL. */
bool text_is_bytes(const char *data, size_t len);
