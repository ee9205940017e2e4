/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox uses: from its groups, from its processes where no group counts, and from its tmpfs. */
#include <errno.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backend/native/account.h"
#include "backend/native/engine.h"
#include "backend/native/tree.h"
#include "backend/native/unit.h"
#include "base/fd.h"
#include "sys/clock.h"

/* Also of what is not limited: usage tells it. */
static bool needs_account(const struct plan_limits *limits)
{
    return limits->memory_means != MEANS_CGROUP || limits->cpu_time_means != MEANS_CGROUP ||
           limits->processes_means != MEANS_CGROUP;
}

/* By looking at every process; only where no group counts, and as often as the cost allows. */
static int measure_processes(struct native *native, struct sandbox_usage *usage)
{
    const struct plan_limits *limits = &native->plan->limits;
    uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);

    if ((!needs_account(limits) && !native->cgroup.later) || native->base.proc_fd < 0 ||
        now_ns < native->account_next_ns)
        return 0;
    if (!native->account) {
        const struct account_args args = {
            .proc = native->base.proc_fd,
            .tmpfs = native->memory,
            .spare = native->spare,
            .confirm_above_bytes = limits->memory_bytes / 5 * 4,
            .processes = limits->processes,
        };
        int r = account_new(&args, &native->account);
        if (r < 0)
            return r;
    }
    int r = account_measure(native->account, usage);
    native->account_next_ns = now_ns + account_pause_ms(native->account) * UINT64_C(1000000);
    return r == -ESRCH ? 0 : r; /* all have ended; what was measured last stands */
}

static int measure_memory_fs(const struct native *native, struct sandbox_usage *usage)
{
    struct statfs fs;

    if (native->memory < 0)
        return 0;
    if (fstatfs(native->memory, &fs) < 0)
        return -errno;
    usage->disk_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
    usage->disk_full = fs.f_bfree == 0 || fs.f_ffree == 0;
    /* It is memory too, and lasts longer than who wrote it. */
    if (native->plan->limits.memory_means != MEANS_CGROUP &&
        (usage->peak_memory_bytes == SANDBOX_UNKNOWN ||
         usage->peak_memory_bytes < usage->disk_bytes))
        usage->peak_memory_bytes = usage->disk_bytes;
    return 0;
}

int native_measure_run(struct sandbox *sandbox, pid_t leader, uint64_t *ret_us)
{
    uint64_t ticks = 0;
    int r = tree_cpu_ticks(sandbox->proc_fd, leader, &ticks);

    if (r == 0)
        *ret_us = ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    return r;
}

/*
 * From here on a group counts CPU time; what it has not seen was looked at just before. Not while a command
 * is on its way, which would join those groups only that there were when it was sent.
 */
static int complete_groups(struct native *native, const struct sandbox_usage *usage)
{
    int joins[CONTROLLER_COUNT];
    int r = native_is_starting(native) ? 0 : native_cgroup_complete(&native->cgroup);

    if (r <= 0)
        return r;
    native->cgroup.base_user_us = usage->user_us == SANDBOX_UNKNOWN ? 0 : usage->user_us;
    native->cgroup.base_system_us = usage->system_us == SANDBOX_UNKNOWN ? 0 : usage->system_us;
    int count = native_cgroup_join_fds(&native->cgroup, joins, NULL);
    if (count < 0) {
        native->cgroup.later = true; /* again, the next time */
        return -EIO;
    }
    for (size_t i = 0; i < native->join_count; i++)
        fd_close(&native->joins[i]);
    native->join_count = (size_t)count;
    memcpy(native->joins, joins, sizeof joins[0] * native->join_count);
    return 0;
}

int native_measure(struct sandbox *sandbox, bool last, struct sandbox_usage *ret)
{
    struct native *native = (struct native *)sandbox;
    struct sandbox_usage usage = native->usage;
    int r = last ? 0 : measure_processes(native, &usage);

    if (r == 0 && !last)
        r = complete_groups(native, &usage);
    if (r == 0)
        r = native_cgroup_measure(&native->cgroup, last, &usage);
    if (r == 0)
        r = measure_memory_fs(native, &usage);
    if (r < 0)
        return r;
    native->usage = usage;
    *ret = usage;
    if (!native->swept) { /* something is running: there is time */
        native_cgroup_sweep(&native->cgroup);
        native_unit_sweep(&native->cgroup, native->plan);
    }
    native->swept = true;
    return 0;
}
