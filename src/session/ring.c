/* SPDX-License-Identifier: Apache-2.0 */
#include "session/ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 4096 };

void ring_init(struct ring *ring, size_t max)
{
    *ring = (struct ring){.max = max};
}

void ring_clear(struct ring *ring)
{
    free(ring->data);
    *ring = (struct ring){.max = ring->max, .end = ring->end};
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copy `len` bytes that are there, from position `from` on. */
static void copy_out(const struct ring *ring, uint64_t from, char *out, size_t len)
{
    assert(ring->cap > 0);
    size_t at = (size_t)(from % ring->cap);
    size_t first = smaller(len, ring->cap - at);

    memcpy(out, ring->data + at, first);
    memcpy(out + first, ring->data, len - first);
}

/* Room for `len` more, if that can be had; a byte's place depends on the size, so they all move. */
static void grow(struct ring *ring, size_t len)
{
    size_t want = len > ring->max - ring->kept ? ring->max : ring->kept + len;
    size_t cap = ring->cap ? ring->cap : smaller(FIRST, ring->max);

    while (cap < want)
        cap = cap > ring->max / 2 ? ring->max : cap * 2;
    if (cap <= ring->cap)
        return;
    char *data = malloc(cap);
    if (!data)
        return;
    struct ring larger = {.data = data, .cap = cap, .max = ring->max, .end = ring->end};
    for (uint64_t at = ring->end - ring->kept; at < ring->end;) {
        size_t to = (size_t)(at % cap);
        size_t piece = smaller(cap - to, (size_t)(ring->end - at));
        copy_out(ring, at, data + to, piece);
        at += piece;
    }
    larger.kept = ring->kept;
    free(ring->data);
    *ring = larger;
}

void ring_add(struct ring *ring, const char *data, size_t len)
{
    grow(ring, len);
    if (len > ring->cap) {
        ring->end += len - ring->cap;
        data += len - ring->cap;
        len = ring->cap;
        ring->kept = 0;
    }
    if (len == 0)
        return;
    size_t at = (size_t)(ring->end % ring->cap);
    size_t first = smaller(len, ring->cap - at);
    memcpy(ring->data + at, data, first);
    memcpy(ring->data, data + first, len - first);
    ring->end += len;
    ring->kept = smaller(ring->kept + len, ring->cap);
}

size_t ring_read(const struct ring *ring, uint64_t *cursor, void *out, size_t size)
{
    uint64_t oldest = ring->end - ring->kept;
    uint64_t from = *cursor < oldest ? oldest : *cursor;
    size_t len = ring->end - from < size ? (size_t)(ring->end - from) : size;

    if (len)
        copy_out(ring, from, out, len);
    *cursor = from + len;
    return len;
}
