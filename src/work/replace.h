/* SPDX-License-Identifier: Apache-2.0 */
/* New content for a file, all at once. */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

#include "work/path.h"

struct replace {
    const struct work_spot *spot;
    const void *data;
    size_t len;
    mode_t mode;    /* 0: keep */
    bool exclusive; /* only where nothing is */
    /* What happened. */
    bool created;
    bool in_place;
};

/* Returns 0 or -errno; then the old content is still there, unless it was written in place. */
int replace_file(struct replace *replace);
