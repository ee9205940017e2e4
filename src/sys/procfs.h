/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at processes through /proc. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* A file of /proc/PID, from its start, NUL-terminated: at most size - 1 bytes. Returns its length. */
int sys_proc_read(pid_t pid, const char *name, char *data, size_t size);

/* A directory of /proc/PID (cwd, root), as a path only. */
int sys_proc_open_dir(pid_t pid, const char *name);

/* A name of this process's open file `fd` that leads to it whatever lies on its own path. */
#define SYS_PROC_NAME_MAX 40
void sys_proc_fd_name(int fd, char out[SYS_PROC_NAME_MAX]);
