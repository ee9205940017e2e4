/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything below a directory, in a stable order: the entries of a directory, sorted, then those of the
 * directories that the caller wants to enter. Links are not followed, at no place of a path, whatever is
 * exchanged meanwhile. One descriptor at a time, and no recursion: directories that wait are paths.
 * Paths longer than the kernel takes are left out, and so are /proc, /sys and cgroups, unless the walk
 * starts there: their files are no files, and without end. The sandbox's root is left without the
 * system's directories: whoever looks for something there means own files, not those of /usr.
 */
#pragma once

#include <limits.h>

#include "base/arena.h"
#include "work/names.h"
#include "work/work.h"

struct walk {
    uint64_t deadline_ns;
    bool truncated;          /* something was left out for want of time or room */
    unsigned entered;        /* how many directories; another number, another directory */
    char dir_path[PATH_MAX]; /* the current directory, from the base; "" is the base itself */
    /* Its own. */
    int base;
    unsigned long base_type;
    const char *const *system_dirs; /* left out; NULL: none */
    int dir;
    struct arena arena; /* of the current directory */
    struct names names;
    size_t next;
    char path[PATH_MAX];
    char **waiting; /* the last one is next */
    size_t waiting_count;
    size_t waiting_cap;
    size_t waiting_bytes;
    size_t fresh; /* from here on they are of the current directory, and still in its order */
};

struct walk_item {
    int dir; /* that holds it, open for reading */
    const char *name;
    const char *path; /* from the base */
    enum hutch_file_type type;
};

/* Takes *base, an open directory (O_PATH will do). */
int walk_init(struct walk *walk, const struct work *work, int *base, uint64_t deadline_ns);
void walk_clear(struct walk *walk);

/* 1 and *ret, valid until the next call; 0 at the end; -errno. */
int walk_next(struct walk *walk, struct walk_item *ret);

/* Have the entries of the current item, a directory, come later. */
int walk_enter(struct walk *walk, const struct walk_item *item);
