/* SPDX-License-Identifier: Apache-2.0 */
/* "a{b,c{d,e}}" as "ab", "acd" and "ace". */
#pragma once

#include <stddef.h>

struct arena;

struct braces {
    const char **items;
    size_t count;
};

/*
 * Braces without a comma, without an end, in a class or behind "\" mean themselves. Returns 0, or
 * -errno: -E2BIG when there would be more than `max`, -ENOMEM.
 */
int braces_expand(const char *text, size_t max, struct arena *arena, struct braces *ret);
