/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results that are freed by their address alone: one lies in an arena, with all that it points to, and
 * holds that arena. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <string.h>

struct arena;

/* A zeroed result of `size` bytes, aligned for any type. NULL when out of memory. */
void *held_new(size_t size);

/* Where what a result points to belongs. */
struct arena *held_arena(void *result);

/* NULL is accepted. */
void held_free(void *result);

static inline void held_clear(void *variable)
{
    void *result;

    memcpy(&result, variable, sizeof result);
    held_free(result);
}
#define held_auto __attribute__((cleanup(held_clear)))
