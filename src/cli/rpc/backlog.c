/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/backlog.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

enum {
    CHUNK_MAX = 65536,
    CHARACTER_MAX = 4, /* bytes of UTF-8 */
};

struct backlog_chunk {
    struct backlog_chunk *next;
    int stream;
    size_t len;
    size_t cap;
    char data[];
};

static size_t cost_of(const struct backlog_chunk *chunk)
{
    return sizeof *chunk + chunk->cap;
}

static void drop_first(struct backlog *backlog)
{
    struct backlog_chunk *chunk = backlog->first;

    backlog->first = chunk->next;
    if (!backlog->first)
        backlog->last = NULL;
    backlog->start += chunk->len;
    backlog->cost -= cost_of(chunk);
    free(chunk);
}

void backlog_clear(struct backlog *backlog)
{
    while (backlog->first)
        drop_first(backlog);
    *backlog = (struct backlog){0};
}

/*
 * A chunk at the end with room for some of `len` bytes. As large as they are at first, then twice the
 * last one: neither many small writes nor one waste much.
 */
static struct backlog_chunk *room_for(struct backlog *backlog, int stream, size_t len)
{
    struct backlog_chunk *last = backlog->last;
    bool goes_on = last && last->stream == stream;
    size_t room = goes_on ? last->cap - last->len : 0;

    if (room >= len || room >= CHARACTER_MAX)
        return last;
    size_t cap = len;
    if (last && goes_on && cap < 2 * last->cap)
        cap = 2 * last->cap;
    if (cap > CHUNK_MAX)
        cap = CHUNK_MAX;
    struct backlog_chunk *chunk = malloc(sizeof *chunk + cap);
    if (!chunk)
        abort();
    *chunk = (struct backlog_chunk){.stream = stream, .cap = cap};
    if (last)
        last->next = chunk;
    else
        backlog->first = chunk;
    backlog->last = chunk;
    backlog->cost += cost_of(chunk);
    return chunk;
}

static void append(struct backlog *backlog, int stream, const char *data, size_t len)
{
    while (len > 0) {
        struct backlog_chunk *chunk = room_for(backlog, stream, len);
        size_t n = chunk->cap - chunk->len < len ? chunk->cap - chunk->len : len;

        if (n < len)
            n -= str_utf8_begun(data, n); /* no character lies in two chunks */
        memcpy(chunk->data + chunk->len, data, n);
        chunk->len += n;
        backlog->end += n;
        data += n;
        len -= n;
    }
    while (backlog->cost > BACKLOG_MAX && backlog->first != backlog->last)
        drop_first(backlog);
}

void backlog_add(struct backlog *backlog, int stream, const char *data, size_t len)
{
    struct backlog_held *held = &backlog->held[stream == 2];

    /* Complete what was begun, byte by byte: it takes three at most. */
    while (held->len > 0 && len > 0) {
        held->data[held->len++] = *data++;
        len--;
        if (str_utf8_begun(held->data, held->len) == held->len)
            continue;
        append(backlog, stream, held->data, held->len);
        held->len = 0;
    }
    if (len == 0)
        return;
    held->len = str_utf8_begun(data, len);
    memcpy(held->data, data + len - held->len, held->len);
    append(backlog, stream, data, len - held->len);
}

void backlog_finish(struct backlog *backlog)
{
    for (int i = 0; i < BACKLOG_STREAMS; i++) {
        append(backlog, i + 1, backlog->held[i].data, backlog->held[i].len);
        backlog->held[i].len = 0;
    }
}

static void add_piece(json_t *list, int stream, const char *data, size_t len)
{
    json_t *piece = json_object();

    json_object_set_new(piece, "stream", json_string(stream == 2 ? "stderr" : "stdout"));
    json_object_set_new(piece, "data", json_string_lossy(data, len));
    if (!str_is_utf8(data, len))
        json_object_set_new(piece, "data_base64", json_string_base64(data, len));
    json_array_append_new(list, piece);
}

json_t *backlog_from(const struct backlog *backlog, uint64_t cursor, size_t max, uint64_t *next,
                     uint64_t *dropped)
{
    uint64_t at = backlog->start; /* the cursor of the chunk's first byte */
    json_t *list = json_array();

    *dropped = cursor < backlog->start ? backlog->start - cursor : 0;
    cursor += *dropped;
    for (const struct backlog_chunk *chunk = backlog->first; chunk && max > 0;
         chunk = chunk->next) {
        size_t skip = cursor - at < chunk->len ? (size_t)(cursor - at) : chunk->len;
        size_t len = chunk->len - skip;

        if (len > max) {
            len = max;
            len -= str_utf8_begun(chunk->data + skip, len);
            max = len; /* not a byte of the next one, even if a character did not fit */
        }
        if (len > 0)
            add_piece(list, chunk->stream, chunk->data + skip, len);
        at += chunk->len;
        cursor += len;
        max -= len;
    }
    *next = cursor;
    return list;
}
