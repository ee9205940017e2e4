/* SPDX-License-Identifier: Apache-2.0 */
/* What a run used, in one line: "cpu 0.31s  mem 42M/1G  procs 5/256  wall 1.2s". */
#pragma once

#include <stdint.h>

struct buf;

/* Not measured, or not limited: what hutch.h has for both. */
#define USAGE_NONE UINT64_MAX

struct usage {
    double cpu_ms;
    double wall_ms;
    uint64_t memory_bytes; /* the most at any time */
    uint64_t memory_limit;
    uint64_t processes; /* the most at any time */
    uint64_t process_limit;
    uint64_t disk_bytes; /* added; 0 is not worth a word */
    uint64_t disk_limit;
};

#define USAGE_INIT                                                                                 \
    {                                                                                              \
        .memory_bytes = USAGE_NONE, .memory_limit = USAGE_NONE, .processes = USAGE_NONE,           \
        .process_limit = USAGE_NONE, .disk_bytes = USAGE_NONE, .disk_limit = USAGE_NONE,           \
    }

/* Add the line, without its end. */
void usage_put(struct buf *out, const struct usage *usage);
