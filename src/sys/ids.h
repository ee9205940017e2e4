/* SPDX-License-Identifier: Apache-2.0 */
/* User and group ids across user namespaces. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* One id inside a user namespace and the id it has outside. */
struct sys_idmap {
    uid_t uid_inside;
    uid_t uid_outside;
    gid_t gid_inside;
    gid_t gid_outside;
};

/*
 * Give the new user namespace of `pid` its map. Without privilege the outside ids must be the
 * caller's own and setgroups must be given up (`deny_setgroups`).
 */
int sys_ids_map(pid_t pid, const struct sys_idmap *map, bool deny_setgroups);

/*
 * A user namespace that exists only as a descriptor, for id-mapped mounts: a file that belongs to
 * the inside ids on disk belongs to the outside ids in the mount. Needs CAP_SETUID and CAP_SETGID.
 *
 * Making it takes a process, which ends at once and has it until it is waited for: *holder is its memory and
 * must stay where it is until sys_ids_release(), called at some later time in every case.
 */
struct sys_ids_holder {
    pid_t pid; /* 0: none */
    _Alignas(16) char stack[4096];
};
int sys_ids_namespace(const struct sys_idmap *map, struct sys_ids_holder *holder);
void sys_ids_release(struct sys_ids_holder *holder);

/* Become these ids and leave all supplementary groups (where `drop_groups`). */
int sys_ids_become(uid_t uid, gid_t gid, bool drop_groups);
