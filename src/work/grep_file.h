/* SPDX-License-Identifier: Apache-2.0 */
/* Searching one file after the other. */
#pragma once

#include "work/file.h"
#include "work/needle.h"

#define GREP_CONTEXT_MAX 100 /* lines */

struct grep {
    const struct hutch_file_grep_options *options;
    struct arena *arena;
    struct needle *needle;
    uint64_t deadline_ns;
    struct hutch_file_match *found;
    size_t count;
    size_t cap;
    size_t text_bytes;
    bool truncated; /* enough: nothing more is to be searched */
    bool cut;       /* a file was too long to be searched as a whole */
    struct work_bytes file;
    struct work_bytes folded; /* the same in lower case, when case does not matter */
};

/* Add the matches of `fd`, which is at its start. Binary files have none. Returns -errno. */
int grep_file(struct grep *grep, int fd, const char *path);

void grep_clear(struct grep *grep);
