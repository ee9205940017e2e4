/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers people write: sizes, durations, counts. Strict: no signs, no spaces, no fractions (but
 * for cpus), nothing that overflows, no zero. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The value of "unlimited". Zero is never "no limit". */
#define NUM_NO_LIMIT UINT64_MAX

/*
 * Each parses all of `text`. Returns NULL and sets *ret, or returns why not, as the end of a
 * sentence: "is not a size: use a whole number with K, M, G or T (powers of 1024), or 'unlimited'".
 */
const char *num_parse_size(const char *text, uint64_t *ret);        /* bytes: "64M", "1G", "512" */
const char *num_parse_duration(const char *text, uint64_t *ret_ms); /* "500ms", "30s", "5m", "2h" */
const char *num_parse_count(const char *text, uint64_t *ret);       /* "256" */
const char *num_parse_cpus(const char *text, uint64_t *ret_milli);  /* "2", "0.5", "1.25" */

/* The shortest exact spelling that parses back to the value. Returns `out`. */
#define NUM_TEXT_MAX 32
const char *num_format_size(uint64_t bytes, char out[NUM_TEXT_MAX]);
const char *num_format_duration(uint64_t ms, char out[NUM_TEXT_MAX]);
const char *num_format_cpus(uint64_t milli, char out[NUM_TEXT_MAX]);

/* Write `value` in `base` (2 to 10) at `out`, without an end; returns one past it. For init too. */
char *num_put(char *out, uint64_t value, unsigned base);
