/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A policy with the default profile fits the first chunk: one malloc for all of it. */
#define CHUNK_FIRST ((size_t)8 << 10)
#define CHUNK_MOST ((size_t)256 << 10)
#define ALIGNMENT _Alignof(max_align_t)

struct arena_chunk {
    struct arena_chunk *next;
    size_t used;
    size_t size;
    _Alignas(max_align_t) unsigned char data[];
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_clear(struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunks;

    while (chunk) {
        struct arena_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
    arena_init(arena);
}

bool arena_failed(const struct arena *arena)
{
    return arena->failed;
}

static bool add_chunk(struct arena *arena, size_t need)
{
    size_t size = arena->chunks ? arena->chunks->size * 2 : CHUNK_FIRST;

    if (size > CHUNK_MOST)
        size = CHUNK_MOST;
    if (size < need)
        size = need;
    /* calloc, because memory is handed out zeroed and never used twice. */
    struct arena_chunk *chunk = calloc(1, sizeof(*chunk) + size);
    if (!chunk)
        return false;
    chunk->size = size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return true;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = arena->chunks;

    if (size > PTRDIFF_MAX - sizeof(*chunk) - ALIGNMENT)
        arena->failed = true;
    if (arena->failed)
        return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!chunk || chunk->size - chunk->used < size) {
        if (!add_chunk(arena, size)) {
            arena->failed = true;
            return NULL;
        }
        chunk = arena->chunks;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

static char *copy_bytes(struct arena *arena, const char *text, size_t len)
{
    char *copy = arena_alloc(arena, len + 1);

    if (copy)
        memcpy(copy, text, len);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return copy_bytes(arena, text, strlen(text));
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
    return copy_bytes(arena, text, strnlen(text, len));
}

char *arena_concat(struct arena *arena, const char *first, const char *second)
{
    size_t first_len = strlen(first);
    size_t second_len = strlen(second);
    char *text = arena_alloc(arena, first_len + second_len + 1);

    if (text) {
        memcpy(text, first, first_len);
        memcpy(text + first_len, second, second_len);
    }
    return text;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args, again;
    char *text = NULL;

    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    if (len < 0)
        arena->failed = true;
    else
        text = arena_alloc(arena, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

void *arena_grow(struct arena *arena, void *items, size_t count, size_t *cap, size_t item_size)
{
    size_t more = *cap ? *cap * 2 : 8;
    size_t bytes;

    if (count < *cap)
        return arena->failed ? NULL : items;
    if (more < *cap || __builtin_mul_overflow(more, item_size, &bytes)) {
        arena->failed = true;
        return NULL;
    }
    void *moved = arena_alloc(arena, bytes);
    if (!moved)
        return NULL;
    if (count)
        memcpy(moved, items, count * item_size);
    *cap = more;
    return moved;
}
