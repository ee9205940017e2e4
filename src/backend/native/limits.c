/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that the kernel keeps for each process of a command, and whether they are as they were put on. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/native/init.h"
#include "base/num.h"
#include "sys/process.h"
#include "sys/ret.h"

/*
 * Counted for each user namespace, which init is in too; on older kernels it would be for each user. A group
 * keeps count of its refusals and should be the first to refuse.
 */
static uint64_t most_processes(const struct plan *plan)
{
    const struct plan_limits *limits = &plan->limits;
    unsigned ours = 1 + plan->lasting; /* init, and its spare */

    if (limits->processes == NUM_NO_LIMIT || limits->processes_means == MEANS_SAMPLED)
        return NUM_NO_LIMIT;
    return limits->processes + ours + (limits->processes_means == MEANS_CGROUP);
}

/*
 * Most are a second lock on what is limited for all processes together by other means. There is none on
 * memory: what can be limited for a process is how much it may map, and programs built with sanitizers
 * map terabytes that they never touch.
 */
static uint64_t limit_of(const struct plan *plan, int what)
{
    const struct plan_limits *limits = &plan->limits;

    switch (what) {
    case RLIMIT_FSIZE: return limits->file_size_bytes;
    case RLIMIT_CPU:
        return limits->cpu_time_ms == NUM_NO_LIMIT ? NUM_NO_LIMIT : limits->cpu_time_ms / 1000 + 2;
    case RLIMIT_NPROC: return most_processes(plan);
    /*
     * No core files. Where core_pattern is a pipe the limit means nothing to the kernel, except for
     * the value 1, with which it gives up (fs/coredump.c). Where it is a socket there is no such
     * value, and no plan either (plan/locks.c).
     */
    case RLIMIT_CORE: return 1;
    default: return NUM_NO_LIMIT;
    }
}

/* Only root may raise a hard limit; what is lower already stays. */
static void lower(struct sys_limit *limit, uint64_t value)
{
    if (value == NUM_NO_LIMIT)
        return;
    if (limit->hard > value)
        limit->hard = value;
    limit->soft = limit->hard;
}

int init_limit_set(int what, uint64_t value)
{
    struct rlimit limit;

    if (value == NUM_NO_LIMIT)
        return 0;
    if (getrlimit(what, &limit) < 0)
        return -errno;
    struct sys_limit lowered = {.soft = limit.rlim_cur, .hard = limit.rlim_max};
    lower(&lowered, value);
    limit = (struct rlimit){.rlim_cur = lowered.soft, .rlim_max = lowered.hard};
    return ret_errno(setrlimit(what, &limit));
}

int init_limits_set(const struct plan *plan)
{
    int r = 0;

    for (int what = 0; r == 0 && what < SYS_LIMITS; what++)
        r = init_limit_set(what, limit_of(plan, what));
    if (r == 0 && plan->limits.cpus_means == MEANS_AFFINITY)
        r = sys_use_processors((unsigned)(plan->limits.cpus_milli / 1000));
    return r;
}

bool init_limits_hold(const struct plan *plan, const struct sys_standing *init, pid_t pid)
{
    struct sys_standing wanted = *init;
    struct sys_standing now;

    sys_standing_read(pid, &now);
    for (int what = 0; what < SYS_LIMITS; what++)
        lower(&wanted.limits[what], limit_of(plan, what));
    /* Where these are a limit, only init_limits_set() can have chosen them. */
    if (plan->limits.cpus_means == MEANS_AFFINITY)
        memcpy(wanted.processors, now.processors, sizeof wanted.processors);
    return memcmp(&wanted, &now, sizeof now) == 0;
}
