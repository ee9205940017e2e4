/* SPDX-License-Identifier: Apache-2.0 */
/* Syscall filters, and the calls they ask somebody else about. Linux 5.9 for what is used here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sock_filter;

/* Put a filter on this thread, for good. Needs no_new_privs. */
int sys_seccomp_load(const struct sock_filter *code, unsigned short len);

/*
 * The same for a filter that asks: returns the listener, close-on-exec. The asking thread can only be
 * killed while it waits, where the kernel can do that (5.19).
 */
int sys_seccomp_load_listen(const struct sock_filter *code, unsigned short len);

/* One question: a call that a thread made and that waits for an answer. */
struct sys_seccomp_call {
    uint64_t id;
    uint32_t pid; /* of the thread, in the reader's pid namespace */
    int nr;
    uint64_t args[6];
};

/* Answer in the asker's time slice where the kernel can (6.6): ten times quicker. */
void sys_seccomp_quick(int listener);

/* Take the next question. -ENOENT: the asker is gone, or there is none. */
int sys_seccomp_receive(int listener, struct sys_seccomp_call *ret);

/* Whether the asker still waits; what was read of its memory or files is only its own if so. */
bool sys_seccomp_waits(int listener, uint64_t id);

/*
 * Give the asker a descriptor; returns its number there. Waits until the asker has run, or a signal has come:
 * -EINTR, and it has not got it. Linux 5.9.
 */
int sys_seccomp_give(int listener, uint64_t id, int fd, bool close_on_exec);

/* Answer with a result (0 or more) or -errno. */
int sys_seccomp_answer(int listener, uint64_t id, int64_t result);
