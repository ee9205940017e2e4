/* SPDX-License-Identifier: Apache-2.0 */
/* What growth.c, growth_tree.c and growth_held.c share. For these files only. */
#pragma once

#include <linux/stat.h> /* some libcs have no statx */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "run/disk.h"
#include "run/growth.h"
#include "sys/procstat.h"

#define ROOTS_MAX DISK_ROOTS_MAX
#define DEVICES_MAX                                                                                \
    8 /* of one file system: btrfs has one for each subvolume, overlayfs for each layer */
#define NAMES_SIZE 4096

/* Inodes that could be met again. Once full, those are counted each time: found is only too large. */
#define SEEN_SIZE 8192U /* a power of two */

struct filesystem {
    int fd; /* borrowed: what was added first of it */
    dev_t devices[DEVICES_MAX];
    size_t device_count;
    uint64_t base;   /* bytes used at the start */
    uint64_t others; /* of the delta, at the last confirmation */
    uint64_t found;
    bool unseen; /* something could not be looked at */
};

struct root {
    int fd;
    bool owned; /* `fd` is; else it is borrowed */
    size_t fs;
    uint64_t mount;
    dev_t dev;
    ino_t ino;
};

struct level {
    int fd; /* -1: closed, and found again by ".." */
    dev_t dev;
    ino_t ino;
    off_t position; /* where to read on */
};

struct inode {
    dev_t dev;
    ino_t ino; /* 0: free */
};

enum phase { PHASE_IDLE, PHASE_TREES, PHASE_PROCESSES };

/* What a walk needs, and no run that is not suspected of anything. */
struct growth_walk {
    uint64_t work_ns; /* so far */
    size_t root;      /* being walked */
    struct level *levels;
    size_t level_count;
    size_t level_cap;
    size_t names_at;
    size_t names_len;
    _Alignas(8) char names[NAMES_SIZE];

    struct sys_proclist processes;
    struct sys_proclist threads;
    struct sys_proclist files;
    int pid;
    int tid;
    bool maps_seen; /* of this process */

    struct inode seen[SEEN_SIZE];
    size_t seen_count;
};

struct growth {
    struct arena *arena;
    uint64_t limit;
    time_t since;
    int proc;
    const pid_t *spare; /* changes while we look */
    enum phase phase;
    bool thorough; /* walks do not end when what was found is enough */
    uint64_t recheck_ns;
    struct filesystem *filesystems;
    size_t fs_count;
    size_t fs_cap;
    struct root *roots;
    size_t root_count;
    size_t root_cap;
    struct growth_walk *walk; /* NULL before the first */
};

/* growth.c: about a file, following no link but those of /proc/PID/fd (without AT_SYMLINK_NOFOLLOW). */
int growth_look(int dir, const char *name, int flags, struct statx *ret);
dev_t growth_device(const struct statx *st);
uint64_t growth_mount(const struct statx *st);

/* A device number of the same file system, and which file system has it; NULL: none of ours. */
void growth_learn_device(struct filesystem *fs, dev_t dev);
struct filesystem *growth_filesystem(struct growth *growth, dev_t dev);

/* Whether it was added, and is walked by itself. */
bool growth_is_root(const struct growth *growth, dev_t dev, ino_t ino);

/* Whether it was not met before, as far as can be remembered. */
bool growth_remember(struct growth *growth, dev_t dev, ino_t ino);

/* Add a file to what was found, if it is new since the start. */
void growth_count(struct growth *growth, struct filesystem *fs, const struct statx *st);

/* Something is hidden, and it may be on any of the file systems. */
void growth_set_unseen(struct growth *growth);

/* growth_tree.c, growth_held.c: a small piece of work. 1 at the end, 0 for more, -ENOMEM. */
int growth_tree_step(struct growth *growth);
int growth_held_step(struct growth *growth);
