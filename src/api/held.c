/* SPDX-License-Identifier: Apache-2.0 */
#include "api/held.h"

#include "base/arena.h"

struct held {
    struct arena arena;
    _Alignas(max_align_t) char result[];
};

void *held_new(size_t size)
{
    struct arena arena;

    arena_init(&arena);
    struct held *held = arena_alloc(&arena, sizeof *held + size);
    if (!held)
        return NULL;
    held->arena = arena;
    return held->result;
}

static struct held *held_of(void *result)
{
    return (void *)((char *)result - offsetof(struct held, result));
}

struct arena *held_arena(void *result)
{
    return &held_of(result)->arena;
}

void held_free(void *result)
{
    if (!result)
        return;
    /* Copied: the original is in the memory that goes. */
    struct arena arena = held_of(result)->arena;
    arena_clear(&arena);
}
