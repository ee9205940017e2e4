/* SPDX-License-Identifier: Apache-2.0 */
/* The table of mounts as the payload sees it. Memory is the test's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mount {
    const char *path;
    const char *options; /* of the mount, not of its file system */
};

struct mounts {
    struct mount *items;
    size_t count;
};

/* From the text of /proc/self/mountinfo. */
struct mounts mounts_parse(const char *text);

bool mount_has(const struct mount *mount, const char *option);

/* The paths of mounts that are not read-only, sorted, with spaces between. */
char *mounts_writable(const struct mounts *mounts);

/* One line per mount that can be reached: path and options, sorted. */
char *mounts_summary(const struct mounts *mounts);
