/* SPDX-License-Identifier: Apache-2.0 */
/* The table of mounts, /proc/self/mountinfo: what is mounted where, as this process sees it. */
#pragma once

/* One line of it. Strings are valid for the call. */
struct sys_mountinfo {
    const char *path;    /* where it is mounted */
    const char *options; /* "ro,nosuid" */
};

typedef int sys_mountinfo_fn(void *arg, const struct sys_mountinfo *mount);

/*
 * Call `fn` for every mount, in the order they were made, until it returns something negative. Uses no
 * memory but the stack. -ENAMETOOLONG: a line that nobody could have made by mounting.
 */
int sys_mountinfo_each(sys_mountinfo_fn *fn, void *arg);
