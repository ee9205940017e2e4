/* SPDX-License-Identifier: Apache-2.0 */
/* Watching and ending processes by descriptor, never by a pid that may have been reused. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* How a process ended, and what it and the children it waited for used. */
struct sys_exit {
    int code;   /* exit status, or -1 */
    int signal; /* the signal that ended it, or 0 */
    struct rusage usage;
};

/* A close-on-exec pidfd. Linux 5.3. */
int sys_pidfd_open(pid_t pid);
int sys_pidfd_kill(int pidfd, int signal);

/* Reap the child of `pidfd`. -EAGAIN while it lives and `block` is false. Linux 5.4. */
int sys_pidfd_wait(int pidfd, bool block, struct sys_exit *ret);

/* Reap any child without waiting. Returns its pid, 0 when none has ended, -ECHILD when none is. */
int sys_wait_any(struct sys_exit *ret);

/* Close every descriptor from `first` up. Linux 5.9. */
int sys_close_from(unsigned first);

/* Default action for every signal, nothing blocked. */
void sys_signals_reset(void);

/*
 * Overwrite this process's own argument strings, which /proc shows to everybody. -errno when /proc
 * does not tell where they are.
 */
int sys_wipe_arguments(void);
