/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte buffer that grows up to a stated maximum. Failure (out of memory, over the maximum) is
 * sticky: later additions do nothing, so builders check buf_take() once at the end.
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* NUL-terminated once anything was added */
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
};

void buf_init(struct buf *buf, size_t max);
void buf_clear(struct buf *buf);
void buf_add(struct buf *buf, const void *data, size_t len);
void buf_puts(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The bytes, NUL-terminated, now the caller's to free(); NULL when anything failed. */
char *buf_take(struct buf *buf);

#define buf_auto __attribute__((cleanup(buf_clear)))
