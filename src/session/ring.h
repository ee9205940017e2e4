/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last bytes of a stream, by their position in it. Memory is asked for as it is needed, up to a
 * fixed size; what falls out is the oldest. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ring {
    char *data;
    size_t cap;   /* of `data` now; a power of two, or `max` */
    size_t max;   /* at most so many bytes are kept */
    uint64_t end; /* position after the last byte */
    size_t kept;  /* so many bytes before `end` are there */
};

void ring_init(struct ring *ring, size_t max);
void ring_clear(struct ring *ring);

/* Without memory for more, older bytes go earlier, and without any, all. */
void ring_add(struct ring *ring, const char *data, size_t len);

/*
 * Copy at most `size` bytes that begin at *cursor, or at the oldest byte when that one is gone. Moves
 * *cursor behind them; returns how many they were. *cursor must not be behind the end.
 */
size_t ring_read(const struct ring *ring, uint64_t *cursor, void *out, size_t size);
