/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text: nothing here looks at a file system. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;

/*
 * `path` made absolute against `base` (absolute itself), with "//", "." and trailing slashes
 * removed. ".." is kept out: returns NULL for a path that contains it, since only the kernel knows
 * where ".." of a symbolic link is. NULL also when out of memory (arena_failed() tells).
 */
char *path_normalize(struct arena *arena, const char *base, const char *path);

/* `dir`, a slash and the first bytes of `name`. */
char *path_append(struct arena *arena, const char *dir, const char *name, size_t name_len);

/* `dir` and `name` joined by exactly one slash. */
char *path_join(struct arena *arena, const char *dir, const char *name);

/*
 * Whether `path` is `dir` itself or below it. Both normalized. By hand and in place: asked thousands
 * of times for a plan, and most answers are in the first few bytes.
 */
static inline bool path_is_within(const char *path, const char *dir)
{
    if (dir[1] == '\0') /* "/" */
        return true;
    while (*dir && *path == *dir) {
        path++;
        dir++;
    }
    return *dir == '\0' && (*path == '\0' || *path == '/');
}

/* Number of components: 0 for "/", 2 for "/usr/bin". Normalized. */
size_t path_depth(const char *path);

/* The directory part of a normalized path ("/" for "/usr" and "/"). */
char *path_parent(struct arena *arena, const char *path);

/* Whether it contains *, ? or [. */
bool path_is_glob(const char *path);
