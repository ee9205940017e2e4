/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the workspace by name. */
#pragma once

#include "language/language.h"

#define SEARCH_MOST 1000

struct search {
    const char **paths; /* absolute inside; ends with NULL */
    size_t count;
    bool more; /* than SEARCH_MOST, or than could be looked at in time */
};

/*
 * Files below `dir` that match the glob `pattern`. Hidden directories and node_modules do not count, and
 * below "/" neither does what belongs to the system.
 */
int search_files(struct place *place, const char *dir, const char *pattern, struct search *ret,
                 struct hutch_error *err);
