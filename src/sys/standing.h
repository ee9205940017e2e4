/* SPDX-License-Identifier: Apache-2.0 */
/* What any process of the same user may change about a process: its limits, and how it is scheduled. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define SYS_LIMITS 16       /* RLIMIT_* are below this */
#define SYS_PROCESSORS 1024 /* on a machine with more, which it may use is not told */

struct sys_standing {
    struct sys_limit {
        uint64_t soft;
        uint64_t hard;
    } limits[SYS_LIMITS];
    struct sys_schedule { /* the kernel's struct sched_attr, as it is since Linux 5.3 */
        uint32_t size;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime;
        uint64_t deadline;
        uint64_t period;
        uint32_t util_min;
        uint32_t util_max;
    } schedule;
    int64_t io_priority;
    uint64_t processors[SYS_PROCESSORS / 64];
};

/* Of a process, 0: this one. What the kernel does not tell is 0; errno is left alone. */
void sys_standing_read(pid_t pid, struct sys_standing *ret);
