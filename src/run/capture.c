/* SPDX-License-Identifier: Apache-2.0 */
#include "run/capture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

void capture_init(struct capture *capture, uint64_t limit)
{
    *capture = (struct capture){.limit = limit};
    /* Without a limit everything is head. */
    uint64_t half = limit == NUM_NO_LIMIT ? SIZE_MAX / 2 : limit - limit / 2;
    buf_init(&capture->head, half < SIZE_MAX / 2 ? (size_t)half : SIZE_MAX / 2);
    capture->tail_size = limit == NUM_NO_LIMIT ? 0 : (size_t)(limit / 2);
}

void capture_clear(struct capture *capture)
{
    buf_clear(&capture->head);
    free(capture->tail);
    *capture = (struct capture){0};
}

static void add_tail(struct capture *capture, const char *data, size_t len)
{
    if (capture->tail_size == 0)
        return;
    if (!capture->tail)
        capture->tail = malloc(capture->tail_size);
    if (!capture->tail) {
        capture->failed = true;
        return;
    }
    if (len >= capture->tail_size) { /* only its end can survive */
        memcpy(capture->tail, data + len - capture->tail_size, capture->tail_size);
        capture->tail_next = 0;
        capture->tail_full = true;
        return;
    }
    size_t first = capture->tail_size - capture->tail_next;
    if (first > len)
        first = len;
    memcpy(capture->tail + capture->tail_next, data, first);
    memcpy(capture->tail, data + first, len - first);
    if (capture->tail_next + len >= capture->tail_size)
        capture->tail_full = true;
    capture->tail_next = (capture->tail_next + len) % capture->tail_size;
}

void capture_add(struct capture *capture, const char *data, size_t len)
{
    size_t room = capture->head.max - capture->head.len;
    size_t first = len < room ? len : room;

    capture->total += len;
    if (first > 0)
        buf_add(&capture->head, data, first);
    if (len > first)
        add_tail(capture, data + first, len - first);
}

static size_t tail_len(const struct capture *capture)
{
    return capture->tail_full ? capture->tail_size : capture->tail_next;
}

bool capture_is_empty(const struct capture *capture)
{
    return capture->total == 0;
}

bool capture_truncated(const struct capture *capture)
{
    return capture->total > capture->head.len + tail_len(capture);
}

char *capture_take(struct capture *capture, size_t *len)
{
    size_t kept = capture->head.len + tail_len(capture);
    buf_auto struct buf text;
    buf_init(&text, kept + 128);

    if (capture->head.len > 0)
        buf_add(&text, capture->head.data, capture->head.len);
    if (capture->total > kept)
        buf_printf(&text, "\n... %" PRIu64 " bytes of output are missing here ...\n",
                   capture->total - kept);
    if (capture->tail_full)
        buf_add(&text, capture->tail + capture->tail_next, capture->tail_size - capture->tail_next);
    if (capture->tail_next > 0)
        buf_add(&text, capture->tail, capture->tail_next);
    buf_puts(&text, "");
    *len = text.len;
    if (capture->failed || capture->head.failed)
        return NULL;
    return buf_take(&text);
}
