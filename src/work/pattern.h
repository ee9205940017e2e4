/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns for paths: braces, "**", and one component after the other.
 *
 * A pattern is matched as a state machine: a set of places in it, moved by each name of a path. So a
 * directory's set is found once, and for each of its entries one step says both whether it matches and
 * whether anything below it could. Time is bounded by length times length, whatever the pattern.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "work/work.h"

#define PATTERN_PARTS_MAX 62        /* components; a set of places is the bits of a word */
#define PATTERN_LENGTH_MAX 1024     /* bytes, braces and all */
#define PATTERN_EXPANSIONS_MAX 1000 /* what braces may multiply to */

struct pattern {
    const char *prefix; /* directories before the first wildcard: "", "src/lib" */
    const char *parts[PATTERN_PARTS_MAX];
    uint64_t deep; /* which parts are "**" */
    unsigned count;
    bool hidden;         /* wildcards match names that start with a dot */
    bool deep_hidden;    /* "**" enters directories that do */
    bool only_directory; /* ended with a slash */
};

struct pattern_set {
    struct pattern *items; /* sorted by prefix */
    size_t count;
};

struct pattern_options {
    bool hidden;
    bool anchored;    /* a pattern without a slash is not for every directory */
    bool keep_prefix; /* put nothing in `prefix`: parts are the whole pattern */
};

/* Returns 0, or HUTCH_* with *err filled; `where` names the argument. All of it lives in `arena`. */
int pattern_parse(const char *text, const struct pattern_options *options, const char *where,
                  struct arena *arena, struct pattern_set *ret, struct hutch_error *err);

/* The place before the first part. */
uint64_t pattern_start(const struct pattern *pattern);
/* The places after one more name; 0: nothing below can match. */
uint64_t pattern_step(const struct pattern *pattern, uint64_t places, const char *name);
/* The places after the names of `path`, which may be "". */
uint64_t pattern_walk(const struct pattern *pattern, const char *path);

static inline bool pattern_is_end(const struct pattern *pattern, uint64_t places)
{
    return places >> pattern->count & 1;
}

/* Whether a name below could still match. */
static inline bool pattern_goes_on(const struct pattern *pattern, uint64_t places)
{
    return (places & ~(UINT64_C(1) << pattern->count)) != 0;
}
