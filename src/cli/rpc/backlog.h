/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a run, kept until the client asks for it. A cursor is a number of bytes from the
 * beginning, of both streams in the order they arrived. The oldest output goes when there is too much.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum {
    BACKLOG_MAX = 1 << 20, /* bytes kept of a run */
    BACKLOG_STREAMS = 2,
};

struct backlog {
    struct backlog_chunk *first; /* oldest */
    struct backlog_chunk *last;
    uint64_t start; /* the cursor of the oldest byte that is kept */
    uint64_t end;   /* the cursor behind the newest */
    size_t cost;    /* memory of all chunks */

    /* The beginning of a character whose end has not been written yet, for each stream. */
    struct backlog_held {
        char data[4];
        size_t len;
    } held[BACKLOG_STREAMS];
};

void backlog_clear(struct backlog *backlog);

/* Add output of stream 1 or 2. */
void backlog_add(struct backlog *backlog, int stream, const char *data, size_t len);

/* No more comes: half a character stays one. */
void backlog_finish(struct backlog *backlog);

/*
 * Output from `cursor` on as a list of {stream, data}, with data_base64 where it is not UTF-8; at most
 * `max` bytes. *next is the cursor behind it, *dropped how many bytes after `cursor` are gone.
 */
json_t *backlog_from(const struct backlog *backlog, uint64_t cursor, size_t max, uint64_t *next,
                     uint64_t *dropped);
