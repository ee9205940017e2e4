/* SPDX-License-Identifier: Apache-2.0 */
/* New processes: in new namespaces, or sharing this one's memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Fork into the namespaces of `flags` (CLONE_NEW*). Returns 0 in the child, its pid in the parent,
 * where *ret_pidfd is a close-on-exec pidfd of it. Its end sends no signal, and only
 * sys_pidfd_wait() reaps it: neither a SIGCHLD handler nor a waitpid(-1) of the caller's program
 * sees it, and a caller that ignores SIGCHLD does not lose it.
 *
 * The child has a copy of the caller's memory, but maybe not of its other threads' good manners: it
 * may take no lock that one of them could hold.
 */
int sys_clone_namespaces(uint64_t flags, int *ret_pidfd);

/* The same, born in the v2 control group `cgroup`. -ENOSYS before Linux 5.7 and where it is hidden. */
int sys_clone_into(uint64_t flags, int cgroup, int *ret_pidfd);

/*
 * For the functions that run on a stack given to the call below and never return: AddressSanitizer would
 * look for the end of a stack that it does not know.
 */
#define SYS_OWN_STACK __attribute__((no_sanitize("address")))

/*
 * Run fn(arg) beside this process, in a child that shares its memory, descriptors, root and directory, on
 * `stack` (its lowest address). Returns its pid. *tid is not 0 until it has left the memory, by exec or by
 * its end; sys_share_wait() waits for that and returns whether it was so in time. This, sys_word_*() and
 * sys_share_stopped(), whether the child is stopped, leave errno alone, which both share.
 */
int sys_share_start(int (*fn)(void *arg), void *arg, void *stack, size_t stack_size, pid_t *tid);
bool sys_share_wait(const pid_t *tid, unsigned timeout_ms);
bool sys_share_stopped(pid_t pid);

/*
 * Run fn(arg) beside this process, in a child that shares its memory and, but for `flags` (CLONE_*), nothing
 * else, with all signals blocked. It has the caller's handlers and errno, and may only make calls of
 * sys/raw.h. Its end sends no signal; sys_beside_wait() reaps it, and nothing else does.
 */
int sys_beside_start(int (*fn)(void *arg), void *arg, void *stack, size_t stack_size, int flags);
void sys_beside_wait(pid_t pid);

/*
 * A word in shared memory that is 0 until somebody sets it. Who waits for one that a child sets names the
 * child too, which may end before.
 */
void sys_word_wait(const int *word);
void sys_word_wait_for(const int *word, const pid_t *tid);
void sys_word_set(int *word);

/* A lock in shared memory, 0 while nobody has it. A child that ends, *tid, has it no more; NULL: the parent. */
void sys_lock(int *lock, const pid_t *tid);
void sys_unlock(int *lock);
