/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped profiles: scripts/gen-profiles makes profiles_data.c of the files in profiles/. */
#pragma once

#include <stddef.h>

struct profile_shipped {
    const char *name;
    const char *text; /* the file as it is, NUL-terminated */
    size_t len;
};

/* Sorted by name. */
extern const struct profile_shipped profile_shipped[];
extern const size_t profile_shipped_count;
