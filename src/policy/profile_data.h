/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped profiles: scripts/gen-profiles makes profiles_data.c of the files in profiles/. */
#pragma once

#include <stddef.h>

struct profile_shipped {
    const char *name;
    const char *text; /* the file as it is, NUL-terminated */
    size_t len;

    /*
     * What it and all that it extends say, base first, so that a start reads no JSON: records of
     * fields, each a byte with its length, its text and a NUL. The key is empty where it is that of
     * the record before.
     *
     *     key place "=" text         a single value
     *     key place "["              a list or map is there
     *     key place "+" text         one entry of a list
     *     key place ":" name text    one entry of a map
     *     key place "0"              nothing
     */
    const char *settings;
    size_t setting_count;
};

/* Sorted by name. */
extern const struct profile_shipped profile_shipped[];
extern const size_t profile_shipped_count;
