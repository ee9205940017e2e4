/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening paths without trusting what lies on the way. Linux 5.6. All return a descriptor or -errno;
 * -EAGAIN when renames kept the kernel from an answer, for too many tries.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * open() and fcntl(F_DUPFD_CLOEXEC), which some libcs follow by a second call for kernels that did not know
 * O_CLOEXEC. Close-on-exec is added; the duplicate is not below `lowest`.
 */
int sys_open(const char *path, int flags);
int sys_dup(int fd, int lowest);

/*
 * Open `path` (relative, "" or "." for `root` itself) below `root`, following no symbolic link at
 * all: a link on the way is -ELOOP. Close-on-exec is added to `flags`.
 */
int sys_open_beneath(int root, const char *path, uint64_t flags, mode_t mode);

/* Open `path` as the kernel would, but for links: one on the way, or at its end, is -ELOOP. */
int sys_open_direct(int dir, const char *path, uint64_t flags);

/*
 * Open an absolute `path` as a process whose root is `root` would, or a relative one from `root` up
 * to the caller's own root: links are followed, but for those of /proc.
 */
int sys_open_inside(int root, const char *path, uint64_t flags);
