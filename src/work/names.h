/* SPDX-License-Identifier: Apache-2.0 */
/* The names in one directory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "work/work.h"

struct name {
    const char *text;
    unsigned char type; /* DT_*; of the moment it was read */
};

struct names {
    struct name *items; /* sorted, as bytes */
    size_t count;
    bool truncated; /* there were more than `max` */
};

/* Without "." and "..". `dir` is open for reading, at its start. Returns -errno. */
int names_read(int dir, size_t max, struct arena *arena, struct names *ret);
