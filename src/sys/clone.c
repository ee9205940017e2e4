/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/clone.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/asan.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "sys/ret.h"

#if BASE_ASAN
#include <sanitizer/asan_interface.h>
#endif

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#define K_CLONE_CLEAR_SIGHAND 0x100000000ULL
#define K_CLONE_INTO_CGROUP 0x200000000ULL
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

/* struct clone_args of the first clone3, Linux 5.3; every kernel takes this size. */
struct k_clone_args {
    uint64_t flags;
    uint64_t pidfd;
    uint64_t child_tid;
    uint64_t parent_tid;
    uint64_t exit_signal;
    uint64_t stack;
    uint64_t stack_size;
    uint64_t tls;
};

/* The same with CLONE_INTO_CGROUP, Linux 5.7. */
struct k_clone_args_cgroup {
    struct k_clone_args first;
    uint64_t set_tid;
    uint64_t set_tid_size;
    uint64_t cgroup;
};

int sys_clone_into(uint64_t flags, int cgroup, int *ret_pidfd)
{
    struct k_clone_args_cgroup args = {
        .first = {.flags = flags | CLONE_PIDFD | K_CLONE_CLEAR_SIGHAND | K_CLONE_INTO_CGROUP,
                  .pidfd = (uint64_t)(uintptr_t)ret_pidfd},
        .cgroup = (uint64_t)cgroup,
    };

    return ret_errno(syscall(SYS_clone3, &args, sizeof args));
}

int sys_clone_namespaces(uint64_t flags, int *ret_pidfd)
{
    struct k_clone_args args = {
        .flags = flags | CLONE_PIDFD | K_CLONE_CLEAR_SIGHAND,
        .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
    };
    int r = ret_errno(syscall(SYS_clone3, &args, sizeof args));

    if (r != -ENOSYS)
        return r;

        /*
     * Container engines answer clone3 with ENOSYS so that their filters can see the flags. The old
     * call does the same but for CLEAR_SIGHAND.
     */
#if defined(__x86_64__) || defined(__aarch64__)
    r = ret_errno(
        syscall(SYS_clone, (unsigned long)(flags | CLONE_PIDFD), NULL, ret_pidfd, NULL, NULL));
    if (r == 0)
        sys_signals_reset();
#endif
    return r;
}

/*
 * What ran on a stack before may have left it without returning. AddressSanitizer would still know of
 * places between the variables of its functions that must not be touched.
 */
static void *end_of_stack(void *stack, size_t stack_size)
{
#if BASE_ASAN
    __asan_unpoison_memory_region(stack, stack_size);
#endif
    return (char *)stack + stack_size;
}

int sys_share_start(int (*fn)(void *arg), void *arg, void *stack, size_t stack_size, pid_t *tid)
{
    return ret_errno(clone(fn, end_of_stack(stack, stack_size),
                           CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_PARENT_SETTID |
                               CLONE_CHILD_CLEARTID | SIGCHLD,
                           arg, tid, NULL, tid));
}

int sys_beside_start(int (*fn)(void *arg), void *arg, void *stack, size_t stack_size, int flags)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before;

    SYS_RAW(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    int r = ret_errno(clone(fn, end_of_stack(stack, stack_size), CLONE_VM | flags, arg));
    SYS_RAW(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    return r;
}

void sys_beside_wait(pid_t pid)
{
    /* Without an exit signal, __WCLONE waits for exactly this child and nobody else's. */
    while (waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
}

bool sys_share_wait(const pid_t *tid, unsigned timeout_ms)
{
    const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    pid_t now;

    while ((now = __atomic_load_n(tid, __ATOMIC_ACQUIRE)) != 0)
        if (SYS_RAW(SYS_futex, tid, FUTEX_WAIT, now, &timeout) == -ETIMEDOUT)
            return __atomic_load_n(tid, __ATOMIC_ACQUIRE) == 0;
    return true;
}

bool sys_share_stopped(pid_t pid)
{
    siginfo_t info = {0};

    return SYS_RAW(SYS_waitid, P_PID, pid, &info, WSTOPPED | WNOHANG | WNOWAIT, NULL) == 0 &&
           info.si_pid == pid;
}

void sys_word_wait(const int *word)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0)
        SYS_RAW(SYS_futex, word, FUTEX_WAIT, 0, 0);
}

/* The end of a child changes another word than the one waited for: nobody wakes us then, and we look. */
static const struct timespec patience = {.tv_nsec = 20 * 1000 * 1000};

void sys_word_wait_for(const int *word, const pid_t *tid)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n(tid, __ATOMIC_ACQUIRE) != 0)
        SYS_RAW(SYS_futex, word, FUTEX_WAIT, 0, &patience);
}

void sys_word_set(int *word)
{
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    SYS_RAW(SYS_futex, word, FUTEX_WAKE, 1);
}

enum { LOCK_FREE, LOCK_TAKEN, LOCK_WANTED };

void sys_lock(int *lock, const pid_t *tid)
{
    int was = LOCK_FREE;

    if (__atomic_compare_exchange_n(lock, &was, LOCK_TAKEN, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(lock, LOCK_WANTED, __ATOMIC_ACQUIRE) != LOCK_FREE &&
           (!tid || __atomic_load_n(tid, __ATOMIC_ACQUIRE) != 0))
        SYS_RAW(SYS_futex, lock, FUTEX_WAIT, LOCK_WANTED, &patience);
}

void sys_unlock(int *lock)
{
    if (__atomic_exchange_n(lock, LOCK_FREE, __ATOMIC_RELEASE) == LOCK_WANTED)
        SYS_RAW(SYS_futex, lock, FUTEX_WAKE, 1);
}
