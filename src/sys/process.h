/* SPDX-License-Identifier: Apache-2.0 */
/* Watching and ending processes by descriptor, never by a pid that may have been reused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* A pidfd of the process that thread `tid` is in; of the thread itself where that can be (6.9). */
int sys_pidfd_open_thread(pid_t tid);

/* A copy of another process's descriptor, close-on-exec. Linux 5.6. */
int sys_pidfd_take(int pidfd, int fd);

/* Read another process's memory; all of `len` bytes or an error. */
int sys_memory_read(pid_t pid, uint64_t address, void *data, size_t len);

/* Write to it, where that process could write itself. After an error some of it may be written. */
int sys_memory_write(pid_t pid, uint64_t address, const void *data, size_t len);

/*
 * Whether another process may have `count` more descriptors. That it may when the kernel does not tell how many
 * it has (before 6.2).
 */
bool sys_has_descriptors(pid_t pid, unsigned count);

/* Reap the child of `pidfd`. -EAGAIN while it lives and `block` is false. Linux 5.4. */
int sys_pidfd_wait(int pidfd, bool block, struct sys_exit *ret);

/* Reap any child without waiting. Returns its pid, 0 when none has ended, -ECHILD when none is. */
int sys_wait_any(struct sys_exit *ret);

/* What all children that were waited for have used, and those they waited for; what this process has. */
void sys_children_usage(struct rusage *ret);
void sys_own_usage(struct rusage *ret);

/* Wait until there is no child left. Returns how many there were. */
unsigned sys_wait_all(void);

/* Close every descriptor from `first` up. Linux 5.9. */
int sys_close_from(unsigned first);

/* A table of descriptors of one's own, with the same descriptors. Linux 5.9. */
int sys_unshare_descriptors(void);

/* Default action for every signal, nothing blocked. Leaves errno alone. */
void sys_signals_reset(void);

/*
 * /proc, which shows this process's own arguments to everybody, shows them no more. -errno when it does not
 * tell where they are, on a kernel that cannot be told to forget that.
 */
int sys_wipe_arguments(void);

/*
 * Move process `pid` off the processor we are on: the kernel starts a child beside its parent, and
 * takes longer to move it than a short piece of work lasts. Does nothing where there is only one.
 */
void sys_run_elsewhere(pid_t pid);

/* Let this process, and what it starts, use only `count` of the processors it may use now. */
int sys_use_processors(unsigned count);
