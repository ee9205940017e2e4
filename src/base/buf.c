/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 256

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max};
}

void buf_clear(struct buf *buf)
{
    free(buf->data);
    buf_init(buf, buf->max);
}

/* Room for `len` more bytes and the NUL behind them. */
static bool reserve(struct buf *buf, size_t len)
{
    if (buf->failed)
        return false;
    if (len > buf->max - buf->len || len >= PTRDIFF_MAX - buf->len) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->len + len + 1;
    if (need <= buf->cap)
        return true;
    size_t cap = buf->cap ? buf->cap * 2 : FIRST_SIZE;
    if (cap < need)
        cap = need;
    char *data = realloc(buf->data, cap);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
    if (!reserve(buf, len))
        return;
    if (len)
        memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void buf_puts(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
    va_list args, again;

    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    if (len < 0) {
        buf->failed = true;
    } else if (reserve(buf, (size_t)len)) {
        vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
}

char *buf_take(struct buf *buf)
{
    buf_add(buf, "", 0); /* so that nothing added is "" and not NULL */
    char *data = buf->failed ? NULL : buf->data;

    if (data)
        *buf = (struct buf){.max = buf->max};
    return data;
}
