/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox adds to directories on the host, from its first run on: all of its runs share the limit.
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct growth;
struct plan;
struct sandbox;

struct disk {
    const struct plan *plan;
    struct growth *growth; /* NULL: nothing to watch */
    bool nested_known;     /* what is mounted below the directories */
    bool beyond;           /* the limit, by the last walk; of a sandbox that lasts */
    uint64_t bytes;        /* added, as measured last */
    /* Beyond the limit, by walks that went to their end; NUM_NO_LIMIT: not known. */
    uint64_t found;
    uint64_t least_found; /* since a run was ended for it */
};

/*
 * What is there now is the base: before the first command can write. Does nothing when that was before.
 * `arena` must outlive it.
 */
int disk_start(struct disk *disk, const struct plan *plan, struct arena *arena);

/* The sandbox has processes, which hold files. */
void disk_set_sandbox(struct disk *disk, const struct sandbox *sandbox);

/* File systems that are mounted below the directories, at most. */
#define DISK_ROOTS_MAX 256

/* Measure, for a few milliseconds at most. 1: there is more to look at. -E2BIG: there are too many. */
int disk_measure(struct disk *disk);

/* A command may be over before it was looked at, and what it wrote is there all the same. */
void disk_measure_last(struct disk *disk);

/*
 * Whether a run has added something that began with these bytes, and these found at least. A sandbox beyond its
 * limit may grow a little more (a sixteenth of it, in all runs together) before anybody is ended for it.
 */
bool disk_grows(const struct disk *disk, uint64_t base_bytes, uint64_t base_found);

/* A run was ended for it: the next one begins with what is there now. */
void disk_set_ended(struct disk *disk);

void disk_clear(struct disk *disk);
