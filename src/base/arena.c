/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/asan.h"

#define CHUNK_FIRST ((size_t)4 << 10)
#define CHUNK_MOST ((size_t)256 << 10)
#define ALIGNMENT _Alignof(max_align_t)

struct arena_chunk {
    struct arena_chunk *next;
    size_t used; /* with this header */
    size_t size;
    _Alignas(max_align_t) char end[];
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_init_for(struct arena *arena, size_t size)
{
    *arena = (struct arena){.first = size};
}

/*
 * For what is made and freed with every command, whose page is better kept than asked for again. And for
 * AddressSanitizer, which knows the heap: it follows pointers in it to what they keep from being a leak, and forgets
 * what it knew of a stack that was in it.
 */
static bool is_on_heap(size_t size)
{
    return BASE_ASAN || size <= CHUNK_FIRST;
}

void arena_clear(struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunks;

    while (chunk) {
        struct arena_chunk *next = chunk->next;

        if (is_on_heap(chunk->size))
            free(chunk);
        else
            munmap(chunk, chunk->size);
        chunk = next;
    }
    arena_init(arena);
}

bool arena_failed(const struct arena *arena)
{
    return arena->failed;
}

const void *arena_next_chunk(const struct arena *arena, const void *chunk, size_t *ret_size)
{
    const struct arena_chunk *next = chunk ? ((const struct arena_chunk *)chunk)->next
                                           : arena->chunks;

    if (next)
        *ret_size = next->size;
    return next;
}

/*
 * Larger ones come from the kernel, which hands out zeroed memory. The first chunk will be filled, so that
 * its pages are asked for all at once; that costs a fraction of a fault for each.
 */
static struct arena_chunk *new_chunk(size_t size, bool first)
{
    if (is_on_heap(size))
        return calloc(1, size);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (first ? MAP_POPULATE : 0), -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool add_chunk(struct arena *arena, size_t need)
{
    bool first = !arena->chunks;
    size_t size = first ? CHUNK_FIRST : arena->chunks->size * 2;

    if (first && arena->first > size)
        size = arena->first;

    if (size > CHUNK_MOST)
        size = CHUNK_MOST;
    need += sizeof(struct arena_chunk);
    if (size < need)
        size = need;
    struct arena_chunk *chunk = new_chunk(size, first);
    if (!chunk)
        return false;
    chunk->size = size;
    chunk->used = sizeof *chunk;
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
    void *memory = (unsigned char *)chunk + chunk->used;
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
