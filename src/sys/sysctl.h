/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the kernel, as /proc/sys has them. */
#pragma once

#include <stddef.h>

/*
 * What a setting says ("kernel/pid_max"), without the end of its line; cut when it does not fit. 0 or -errno:
 * -ENODATA when not even that end is there, as where a container has put /dev/null in its place.
 */
int sys_sysctl_read(const char *name, char *out, size_t size);
