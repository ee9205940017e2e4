/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes of plan_build(), in the order they run, and what they share. Each reads the policy and
 * earlier passes' fields and fills its own.
 */
#pragma once

#include "plan/plan.h"
#include "plan/resolve.h"

/* Refuse every setting that nothing enforces yet. */
int plan_pass_support(const struct policy *policy, struct hutch_error *err);

int plan_pass_identity(const struct policy *policy, struct plan *plan, struct hutch_error *err);
void plan_pass_limits(const struct policy *policy, struct plan *plan);

/* Who keeps the limits on memory, processes, CPU time and CPUs; where groups are made. After limits. */
int plan_pass_cgroup(const struct policy *policy, struct plan *plan, struct hutch_error *err);

/*
 * The socket at which the caller's own systemd can be reached, as a path only, the caller's to close;
 * *ret_is_bus: by way of a message bus. -ENOENT: there is none that can be trusted.
 */
int plan_find_manager(bool *ret_is_bus);

/* The limits that a controller could keep, and that are only looked at instead: one of them, or NULL. */
const char *plan_sampled_limit(const struct plan *plan);

/* Filters and Landlock; refuses core dumps that leave, and every `require` that would not hold. After the limits. */
int plan_pass_locks(const struct policy *policy, struct plan *plan, struct hutch_error *err);

/* What is to be at one path inside, before the steps that get it there are known. */
struct plan_entry {
    struct plan_mount mount;
    unsigned precedence; /* decides between entries of one target; see entries.c */
};

struct plan_entries {
    struct plan_entry *items;
    size_t count;
    size_t cap;
};

/* The entries a layout brings; fills plan->workspace. */
int plan_pass_layout(const struct policy *policy, struct resolver *resolver, struct plan *plan,
                     struct plan_entries *entries, struct hutch_error *err);

/* The entries of read, write, hide and protect. */
int plan_pass_rules(const struct policy *policy, struct resolver *resolver, struct plan *plan,
                    struct plan_entries *entries, struct hutch_error *err);

/* Unix sockets of the host that may be connected to. */
int plan_pass_sockets(const struct policy *policy, struct resolver *resolver, struct plan *plan,
                      struct plan_entries *entries, struct hutch_error *err);

/* Refuse grants that lead where a link in a tree that is not trusted wants them. After the rules. */
int plan_pass_links(const struct plan_entries *entries, struct hutch_error *err);

/* For a root caller: make the way to each granted path passable for the sandbox's own id. */
int plan_pass_parents(struct plan *plan, struct plan_entries *entries, struct hutch_error *err);

/* Entries → plan->mounts: sorted, deduplicated, with the directories they need and the seals. */
int plan_pass_mounts(struct plan *plan, struct plan_entries *entries, struct hutch_error *err);

/* By what means the disk is limited. After the mounts. */
void plan_pass_disk(struct plan *plan);

/* Needs the layout: HOME must be a place that exists inside. */
int plan_pass_environment(const struct policy *policy, struct plan *plan, struct hutch_error *err);

/*
 * Add an entry. Takes over mount.source_fd in every case. NULL when out of memory (the arena's
 * failure is sticky, so callers need not look).
 */
struct plan_entry *plan_entry_add(struct plan *plan, struct plan_entries *entries,
                                  struct plan_mount mount);

/*
 * Whether a root caller's grant must be shown through an id map: to be written to, or because it is
 * closed to others. Not where everybody may read: there the map would open what is for root alone,
 * such as /etc/shadow in a readable /etc.
 */
bool plan_needs_idmap(struct plan *plan, const char *path, const struct stat *st, bool writable);

/* The entry that decides what is at `path`: the one with the longest target at or above it. */
const struct plan_entry *plan_entry_covering(const struct plan_entries *entries, const char *path);

/* Whether that is `entry`, which is at or above it. */
bool plan_entry_shows(const struct plan_entries *entries, const struct plan_entry *entry,
                      const char *path);
