/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is built up, then freed at once. Failure is sticky: after the first failed allocation
 * every later one returns NULL too, so builders check arena_failed() once at the end.
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks;
    size_t first; /* how large the first chunk is to be */
    bool failed;
};

void arena_init(struct arena *arena);

/* The same for one that is known to need about `size` bytes: all of them are asked for at once. */
void arena_init_for(struct arena *arena, size_t size);
void arena_clear(struct arena *arena);
bool arena_failed(const struct arena *arena);

/*
 * The pieces of memory that an arena has: the one after `chunk`, the first after NULL. Returns NULL after the
 * last.
 */
const void *arena_next_chunk(const struct arena *arena, const void *chunk, size_t *ret_size);

/* Zeroed, aligned for any type. NULL when out of memory. */
void *arena_alloc(struct arena *arena, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t len);
/* `first` and `second`, one after the other. */
char *arena_concat(struct arena *arena, const char *first, const char *second);
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Room for one more item in an array that grows: returns `items`, moved when it was full, with
 * *cap adjusted. NULL when out of memory.
 */
void *arena_grow(struct arena *arena, void *items, size_t count, size_t *cap, size_t item_size);
