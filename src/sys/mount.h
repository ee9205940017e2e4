/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The new mount API: trees are made detached, given their attributes, then moved into place. All
 * descriptors are close-on-exec.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum sys_mount_flags {
    SYS_MOUNT_RDONLY = 1 << 0,
    SYS_MOUNT_NOSUID = 1 << 1,
    SYS_MOUNT_NODEV = 1 << 2,
    SYS_MOUNT_NOEXEC = 1 << 3,
};

/* One option of a file system: "size" = "4096". A NULL key ends the list. */
struct sys_mount_option {
    const char *key;
    const char *value;
};

/*
 * A detached copy of the mount at `name` in `dir` (and, recursive, all below it). "" is `dir` itself;
 * a name that is a link is not followed.
 */
int sys_mount_clone(int dir, const char *name, bool recursive);

/* A detached new file system, Linux 5.2. */
int sys_mount_new(const char *type, const struct sys_mount_option *options, unsigned flags);

/*
 * Put the detached mount `tree` on `name`, one component in `dir` that is not followed when it is a
 * link; "" is `dir` itself.
 */
int sys_mount_attach(int tree, int dir, const char *name);

/* Add attributes to a mount and, recursive, all below it. Linux 5.12: -ENOSYS before. */
int sys_mount_set(int tree, bool recursive, unsigned flags);

/* Make a detached mount show ids through the user namespace `userns`. Linux 5.12. */
int sys_mount_idmap(int tree, bool recursive, int userns);

/* Changes here stay here: nothing propagates out of this namespace. */
int sys_mount_make_private(void);

/* Change the flags of the mount at `path` to exactly `flags`; for kernels without sys_mount_set(). */
int sys_mount_remount(const char *path, unsigned flags);

/*
 * Make `new_root`, which is mounted on "/", the root of this process and of all that it starts. The
 * old root stays below it: to uncover it, or to leave a root, takes a capability. Detaching it would
 * take one grace period of the kernel, and taking it down right after one more.
 */
int sys_mount_enter(int new_root);
