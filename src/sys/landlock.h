/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock: what a process may do to files, whatever mounts and modes allow. Linux 5.13. */
#pragma once

#include <stdbool.h>

/* The newest version that there is a use for here. */
#define SYS_LANDLOCK_NEWEST 6

/* What a rule grants below its directory. */
enum sys_landlock_access {
    SYS_LANDLOCK_READ,   /* read, list, execute */
    SYS_LANDLOCK_DEVICE, /* read, list, write to what is there, ioctl */
    SYS_LANDLOCK_WRITE,  /* everything */
};

/* The version the kernel has, or -errno: -ENOSYS without it, -EOPNOTSUPP when it is switched off. */
int sys_landlock_abi(void);

/*
 * A set of rules that grants nothing yet, for everything that version `abi` can refuse: files, and
 * from 6 on abstract sockets of, and (unless `signals`) signals to, processes that did not put it on.
 */
int sys_landlock_create(int abi, bool signals);

/* Grant `access` to the directory (or file) open at `fd` and below it. */
int sys_landlock_allow(int ruleset, int abi, int fd, enum sys_landlock_access access,
                       bool directory);

/* Put the rules on this thread, for good. Needs no_new_privs. */
int sys_landlock_restrict(int ruleset);
