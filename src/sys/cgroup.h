/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups: where this process is, where a group can be made, and the few things one does with
 * a group, by descriptor.
 *
 * Hierarchies are where every distribution has them: v2 at /sys/fs/cgroup, or v1 at
 * /sys/fs/cgroup/CONTROLLERS with, maybe, v2 at /sys/fs/cgroup/unified. What is mounted elsewhere is
 * not found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether a failure to look for a place means that there is none for this process: no such hierarchy, no right to use
 * it, or a kernel too old to ask. Any other says nothing about what is there.
 */
bool sys_cgroup_is_absent(int r);

/* "/sys/fs/cgroup", as a path only. */
int sys_cgroup_root(void);

/* What `root` is: 2 for a v2 hierarchy, 1 for a directory of hierarchies. */
int sys_cgroup_version(int root);

/*
 * The group of the process whose /proc/PID/cgroup is `text`, as a path below "/sys/fs/cgroup":
 * "cpu,cpuacct/a" for "cpu"; for v2, which is "", below the hierarchy itself: "a", or "" for its
 * root. -ENOENT: in no such hierarchy, or in a group outside this cgroup namespace.
 */
int sys_cgroup_place(const char *text, const char *controller, char *out, size_t size);

/*
 * Find where a v2 group can be made for this process: from `own` (a place) up to `root`, the first
 * directory that may be written to and gives new groups all controllers of `names` (at most 8, the
 * most wanted first, ends with NULL), else the one that gives the most wanted of them. Controllers
 * count that would have to be enabled there first (sys_cgroup_enable()). Returns it as a path only,
 * and in *ret_have a bit for each of `names`. Where there is none: what is in the way in the nearest, an
 * absence (sys_cgroup_is_absent()).
 */
int sys_cgroup_search(int root, const char *own, const char *const *names, unsigned *ret_have);

/* In *ret a bit for each of `names` (at most 8, ends with NULL) that is in `file`, a list of controllers. */
int sys_cgroup_listed(int dir, const char *file, const char *const *names, unsigned *ret);

/* Give new groups in `dir` a controller. -EBUSY: there are processes in `dir` itself. */
int sys_cgroup_enable(int dir, const char *controller);

/* 0 when this process may make a group in `dir`. */
int sys_cgroup_may_make(int dir);

int sys_cgroup_make(int parent, const char *name);

/* -EBUSY: a process is in it, or one that has ended has not been waited for yet. */
int sys_cgroup_remove(int parent, const char *name);

/* A group, to be locked, used in CLONE_INTO_CGROUP and as `dir` below. */
int sys_cgroup_open(int parent, const char *name);

/* Say that somebody lives in it, for as long as `dir` is open. -EWOULDBLOCK: somebody does. */
int sys_cgroup_lock(int dir);

/* One open, write and close: about 9 µs. */
int sys_cgroup_write(int dir, const char *file, const char *text);
int sys_cgroup_write_number(int dir, const char *file, uint64_t value);

/*
 * Join a v1 group by its open `tasks` file, with the rights of who opened it. Single-threaded callers
 * only: the file takes threads. For one's own thread the kernel needs no lock; writing to
 * `cgroup.procs` waits for every processor (12 ms, and more), as sys_cgroup_write() to it would.
 */
int sys_cgroup_join(int tasks_fd);

/* All of a file that is open, from its start, NUL-terminated: at most size - 1 bytes. About 1 µs. */
int sys_cgroup_read(int fd, char *out, size_t size);

/* What such files say. -EINVAL: not that. "max" is UINT64_MAX. */
int sys_cgroup_number(const char *text, uint64_t *ret);
/* "key 12" on a line of its own. */
int sys_cgroup_key(const char *text, const char *key, uint64_t *ret);
/* The sum of all "key=12" of a text. */
int sys_cgroup_sum(const char *text, const char *key, uint64_t *ret);
