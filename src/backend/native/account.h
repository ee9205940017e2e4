/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox uses, where no cgroup tells: a walk over the sandbox's own /proc, which lists its
 * processes and no others. PID 1 is init and is not counted. The engine calls this every
 * account_pause_ms(). One thread at a time.
 *
 * CPU: what the living have used, plus what the kernel has added to a parent for the children it
 * waited for; init waits for orphans. A process whose parent ignores SIGCHLD is added to nobody, so
 * what was last seen of it is kept. Not counted is what such a process uses after it was last seen:
 * all, when it lives and dies between two walks. Times are in ticks of the kernel (10 ms).
 *
 * Memory: anonymous and shared memory and swap of every process, plus what the sandbox's tmpfs
 * holds. Pages that processes share after fork() are counted for each, so a sum above a bound (and
 * one that would be a new peak) is confirmed by asking for every page. Files of the tmpfs that are
 * mapped cannot be told from other shared memory: the larger of the two counts, so that nothing is
 * counted twice. Not counted are page tables, pipe and socket buffers, and memfds that nobody has
 * mapped.
 */
#pragma once

#include <stdint.h>

#include "backend/backend.h"

struct account;

struct account_args {
    int proc;  /* root of the sandbox's /proc, a directory; borrowed, O_PATH will do */
    int tmpfs; /* anything on the sandbox's tmpfs; borrowed; -1: it has none */
    const pid_t
        *spare; /* says at any time which process is ours, besides the first; NULL: none ever is */
    uint64_t confirm_above_bytes; /* the limit on memory, or what is warned at if less */
    uint64_t processes;           /* the limit on them; how many are remembered follows it */
};

/* On success the caller owns *ret; free it with account_free(). -ENOMEM. */
int account_new(const struct account_args *args, struct account **ret);

/* NULL is accepted. */
void account_free(struct account *account);

/*
 * Measure now. Fills all of *ret: peaks are the largest seen by any call, CPU never goes down, what
 * is not measured here is SANDBOX_UNKNOWN. -ESRCH when the sandbox has ended, any other -errno when
 * it cannot be measured (no descriptor, no memory); *ret is then untouched and the next call goes
 * on as if this one had not been.
 */
int account_measure(struct account *account, struct sandbox_usage *ret);

/*
 * How long to wait until the next call, so that calls take at most 1 % of one processor: 20 to
 * 500 ms. Longer would be blind; beyond some thousand processes the share is therefore higher.
 */
unsigned account_pause_ms(const struct account *account);
