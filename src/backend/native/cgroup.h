/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of one sandbox, the engine's side: made with its limits before anything untrusted
 * starts, measured while it lives, removed when it is empty.
 *
 * In v2 there is one group, and init is cloned into it, so that init counts as one process. In v1 there
 * is one in each hierarchy that a limit needs; only commands are in them, and each command joins
 * before it execs. A group is the directory "hutch-ID", locked (flock) for as long as its engine
 * lives: one that is not locked is what a killed engine left. Its janitor (janitor.h) removes it or, if
 * that was killed too, a later engine's sweep. The group that systemd makes for a caller who may not
 * (unit.h) is only measured here.
 *
 * A struct of zeros is a sandbox without a group: everything below then does nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <hutch.h>

#include "backend/backend.h"
#include "plan/plan.h"

#define NATIVE_CGROUP_PREFIX "hutch-"
#define NATIVE_CGROUP_NAME_MAX 24

/* The files that are measured; see the tables in cgroup_measure.c. */
enum native_cgroup_file {
    CGROUP_CPU,
    CGROUP_CPU_USER,
    CGROUP_CPU_SYSTEM,
    CGROUP_MEMORY,
    CGROUP_MEMORY_PEAK,
    CGROUP_MEMORY_EVENTS,
    CGROUP_PIDS,
    CGROUP_PIDS_PEAK,
    CGROUP_PIDS_EVENTS,
    CGROUP_IO,
    CGROUP_FILE_COUNT,
};

struct native_cgroup {
    const struct plan_cgroup *where; /* NULL: no group */
    uint64_t memory_limit;
    uint64_t ours; /* processes that are not the sandbox's */
    char name[NATIVE_CGROUP_NAME_MAX];
    int dir[CONTROLLER_COUNT];    /* v2: [0]; -1: none. Each that we made holds the lock. */
    bool made[CONTROLLER_COUNT];  /* to be removed; not the second controller of one hierarchy */
    int files[CGROUP_FILE_COUNT]; /* opened when first read; -1: not yet */
    bool missing[CGROUP_FILE_COUNT];
    bool later;            /* native_cgroup_complete() has something to do */
    uint64_t base_user_us; /* what was used before it had */
    uint64_t base_system_us;
};

/*
 * Make the groups of a plan and set their limits; nothing to do when systemd is to make the group. On
 * failure nothing is left behind. v2: to be called before init is cloned. v1: any time before a command
 * is passed on, so that init can be at work meanwhile. The plan must outlive the group.
 */
int native_cgroup_make(struct native_cgroup *cgroup, const struct plan *plan,
                       struct hutch_error *err);

/* cgroup_limits.c: set the limits of groups that were made. */
int native_cgroup_set_limits(const struct native_cgroup *cgroup, const struct plan *plan,
                             struct hutch_error *err);

/* Of v2: the processes that there may be, init, and its spare. */
uint64_t native_cgroup_pids_max(const struct plan *plan);

/*
 * Use a v2 group that somebody else has made for this plan and will remove, and that init is in. Takes
 * *dir. The plan must outlive the group.
 */
void native_cgroup_adopt(struct native_cgroup *cgroup, const struct plan *plan, int *dir);

/* For CLONE_INTO_CGROUP, still the group's own. -1: there is nothing to clone into. */
int native_cgroup_clone_fd(const struct native_cgroup *cgroup);

/*
 * What a command must pass to sys_cgroup_join(), all of them, before it execs: v1 only. Returns their
 * number, 0 for v2; they are the caller's.
 */
int native_cgroup_join_fds(const struct native_cgroup *cgroup, int ret[CONTROLLER_COUNT],
                           struct hutch_error *err);

/*
 * Make the group that can wait until the command has run for a moment, and move its processes there.
 * Returns 1 when that was done: the caller sets the base and joins the rest again. 0 when there is
 * nothing to do; -errno: try again.
 */
int native_cgroup_complete(struct native_cgroup *cgroup);

/*
 * cgroup_measure.c: fill in what the groups know; other fields stay as they are. With `last`, only what a sandbox without
 * processes still has to tell. The first call opens the files, about 9 µs each, later ones take about
 * 1 µs for each. -errno when one that exists could not be read: what it says is then not known.
 */
int native_cgroup_measure(struct native_cgroup *cgroup, bool last, struct sandbox_usage *ret);

/* Open what the last measurement reads, now that there is time: who waits for the end need not wait for that. */
void native_cgroup_expect_end(struct native_cgroup *cgroup);

/*
 * Remove the groups. -EBUSY: something still ends there (at most some milliseconds after the last
 * exit was seen); call again. Measure before.
 */
int native_cgroup_remove(struct native_cgroup *cgroup);

/* Remove what can be removed now, and close. What stays is swept by a later engine. */
void native_cgroup_clear(struct native_cgroup *cgroup);

/*
 * cgroup_sweep.c: remove what killed engines left where our groups are. Not on the way of anything
 * urgent.
 */
void native_cgroup_sweep(const struct native_cgroup *cgroup);

/* The name of a plan's groups. */
void native_cgroup_name(const struct plan *plan, char out[NATIVE_CGROUP_NAME_MAX]);

/* Whether it is a name that we give, with `suffix` after it: others' groups may begin like ours. */
bool native_cgroup_is_ours(const char *name, const char *suffix);
