/* SPDX-License-Identifier: Apache-2.0 */
#include "run/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/path.h"
#include "base/str.h"
#include "run/growth.h"
#include "sys/clock.h"
#include "sys/mountinfo.h"
#include "sys/ret.h"

#define FIRST_MS 10 /* most commands are over by then */
#define NEAR_MS 20  /* when half of a limit is used */
#define FAR_MS 50
#define WALK_MS 5 /* of confirming growth at a time */
#define LAST_WALKS 40
#define FAILURES_MAX 20
#define WARN_PERCENT 80

/* How near to `max`, in percent; 100 and more is over. */
static unsigned percent(uint64_t current, uint64_t max)
{
    if (max == NUM_NO_LIMIT || current == SANDBOX_UNKNOWN || max == 0)
        return 0;
    return (unsigned)((double)current / (double)max * 100);
}

/* A grant brings what is mounted below it along: other file systems that can grow. */
static bool is_nested(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        if (plan_mount_grows(mount) && mount->recursive && path_is_within(path, mount->source) &&
            !str_eq(path, mount->source))
            return true;
    }
    return false;
}

static int add_nested(void *arg, const struct sys_mountinfo *mount)
{
    struct monitor *monitor = arg;

    if (!is_nested(monitor->plan, mount->path))
        return 0;
    if (monitor->nested_count == MONITOR_NESTED_MAX)
        return -E2BIG;
    int fd = ret_errno(open(mount->path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0) /* closed to us, and so to the sandbox, or gone */
        return 0;
    monitor->nested[monitor->nested_count++] = fd;
    return growth_add(monitor->growth, fd);
}

int monitor_init(struct monitor *monitor, const struct plan *plan)
{
    *monitor = (struct monitor){.plan = plan, .timer = -1};
    if (plan->limits.disk_means != MEANS_SAMPLED)
        return 0;
    int r = growth_new(plan->limits.disk_bytes, &monitor->growth);
    for (size_t i = 0; r == 0 && i < plan->mount_count; i++)
        if (plan_mount_grows(&plan->mounts[i]))
            r = growth_add(monitor->growth, plan->mounts[i].source_fd);
    return r;
}

uint64_t monitor_since(uint64_t now_us, uint64_t base_us)
{
    return now_us == SANDBOX_UNKNOWN ? SANDBOX_UNKNOWN : now_us > base_us ? now_us - base_us : 0;
}

void monitor_start(struct monitor *monitor, struct sandbox *sandbox, uint64_t started_ns,
                   const struct sandbox_usage *before)
{
    monitor->started_ns = started_ns;
    if (before->user_us != SANDBOX_UNKNOWN) {
        monitor->base_user_us = before->user_us;
        monitor->base_system_us = before->system_us;
    }
    if (monitor->growth)
        growth_set_proc(monitor->growth, sandbox->proc_fd);
}

int monitor_arm(struct monitor *monitor)
{
    /* Nothing is looked at yet: most commands are over before the timer, and should not wait for us. */
    monitor->timer = ret_errno(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    return monitor->timer < 0 ? monitor->timer : sys_timer_set(monitor->timer, FIRST_MS);
}

static uint64_t cpu_ms(const struct monitor *monitor)
{
    const struct sandbox_usage *usage = &monitor->usage;

    if (usage->user_us == SANDBOX_UNKNOWN)
        return SANDBOX_UNKNOWN;
    return (monitor_since(usage->user_us, monitor->base_user_us) +
            monitor_since(usage->system_us, monitor->base_system_us)) /
           1000;
}

/* Where one limit stands. */
struct standing {
    const char *name;
    uint64_t current;
    uint64_t max;
    enum hutch_reason reason; /* why the run ends when it is passed */
    bool ours;                /* we end it then; otherwise somebody else sees to the limit */
};

static void stand(const struct monitor *monitor, struct standing ret[LIMIT_COUNT])
{
    const struct plan_limits *limits = &monitor->plan->limits;
    const struct sandbox_usage *usage = &monitor->usage;
    uint64_t wall_ms = (sys_clock_ns(CLOCK_MONOTONIC) - monitor->started_ns) / 1000000;
    uint64_t tmpfs_bytes = usage->disk_bytes == SANDBOX_UNKNOWN ? 0 : usage->disk_bytes;
    bool on_host = monitor->grown_bytes > tmpfs_bytes;

    ret[LIMIT_TIMEOUT] = (struct standing){"timeout", wall_ms, limits->timeout_ms};
    ret[LIMIT_OUTPUT] = (struct standing){"output", monitor->output_bytes, limits->output_bytes};
    ret[LIMIT_CPU_TIME] = (struct standing){"cpu_time", cpu_ms(monitor), limits->cpu_time_ms,
                                            HUTCH_CPU_TIME, true};
    ret[LIMIT_MEMORY] = (struct standing){"memory", usage->memory_bytes, limits->memory_bytes,
                                          HUTCH_MEMORY, limits->memory_means == MEANS_SAMPLED};
    ret[LIMIT_PROCESSES] = (struct standing){"processes", usage->processes, limits->processes,
                                             HUTCH_PROCESSES,
                                             limits->processes_means == MEANS_SAMPLED};
    /* A tmpfs cannot pass its size. */
    ret[LIMIT_DISK] = (struct standing){"disk", on_host ? monitor->grown_bytes : tmpfs_bytes,
                                        limits->disk_bytes, HUTCH_DISK, on_host};
}

static bool is_passed(const struct monitor *monitor, const struct standing *at)
{
    if (at->reason == HUTCH_MEMORY && monitor->usage.memory_killed)
        return true; /* the kernel has ended a part of it */
    return at->ours && at->max != NUM_NO_LIMIT && at->current != SANDBOX_UNKNOWN &&
           at->current > at->max;
}

static struct monitor_finding finding(const struct standing *at, enum hutch_reason reason)
{
    return (struct monitor_finding){
        .limit = at->name, .current = at->current, .max = at->max, .reason = reason};
}

/* ---- Measuring ---- */

/* Growth that looks like too much is confirmed in slices, each in a step of its own. */
static int measure_growth(struct monitor *monitor)
{
    uint64_t bytes = 0;
    int r = monitor->growth ? growth_measure(monitor->growth, &bytes) : 0;

    if (r < 0 || !monitor->growth)
        return r;
    if (r == 0) {
        monitor->grown_bytes = bytes;
        return 0;
    }
    r = growth_step(monitor->growth, WALK_MS, &bytes);
    if (r == 1)
        monitor->grown_bytes = bytes;
    return r < 0 ? r : r == 0; /* 1: there is more to look at */
}

/*
 * What is mounted below a grant is looked for when there is time. What the first milliseconds of a
 * command add there is not seen.
 */
static int find_nested(struct monitor *monitor)
{
    if (!monitor->growth || monitor->nested_known)
        return 0;
    int r = sys_mountinfo_each(add_nested, monitor);
    monitor->nested_known = r == 0;
    return r;
}

static int measure(struct monitor *monitor, struct sandbox *sandbox)
{
    int r = sandbox->ops->measure(sandbox, false, &monitor->usage);

    if (r == 0)
        r = find_nested(monitor);
    return r < 0 ? r : measure_growth(monitor);
}

/* When to look again: sooner when something is near its end, and never too late for CPU time. */
static uint64_t pause_ms(const struct monitor *monitor, const struct standing *at, bool busy)
{
    uint64_t pause = monitor->plan->limits.memory_means == MEANS_SAMPLED ? NEAR_MS : FAR_MS;

    if (busy)
        return 1;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (percent(at[i].current, at[i].max) >= 50)
            pause = NEAR_MS;
    if (pause < monitor->usage.pause_ms)
        pause = monitor->usage.pause_ms;

    const struct standing *cpu = &at[LIMIT_CPU_TIME];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpu->max == NUM_NO_LIMIT || cpu->current == SANDBOX_UNKNOWN || cpu->current >= cpu->max)
        return pause;
    uint64_t left = (cpu->max - cpu->current) / (processors > 0 ? (uint64_t)processors : 1) + 1;
    return left < pause ? left : pause;
}

static size_t judge(struct monitor *monitor, const struct standing *at,
                    struct monitor_finding ret[LIMIT_COUNT + 1])
{
    size_t count = 0;

    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        if (percent(at[i].current, at[i].max) < WARN_PERCENT || (monitor->warned & 1U << i))
            continue;
        monitor->warned |= 1U << i;
        ret[count++] = finding(&at[i], HUTCH_EXITED);
    }
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (is_passed(monitor, &at[i])) {
            ret[count++] = finding(&at[i], at[i].reason);
            break;
        }
    return count;
}

int monitor_step(struct monitor *monitor, struct sandbox *sandbox,
                 struct monitor_finding ret[LIMIT_COUNT + 1])
{
    struct standing at[LIMIT_COUNT];
    uint64_t expirations;

    if (read(monitor->timer, &expirations, sizeof expirations) < 0)
        return 0;
    int r = measure(monitor, sandbox);
    /* No memory or no descriptor for a moment is no reason to end a run; for good it is. */
    if (r < 0 && ++monitor->failures > FAILURES_MAX)
        return r;
    if (r >= 0)
        monitor->failures = 0;
    stand(monitor, at);
    size_t count = r < 0 ? 0 : judge(monitor, at, ret);
    r = sys_timer_set(monitor->timer, pause_ms(monitor, at, r == 1));
    return r < 0 ? r : (int)count;
}

/* A run may be over before it was looked at, and what it wrote is there all the same. */
static void measure_last_growth(struct monitor *monitor)
{
    int r = measure_growth(monitor);

    for (int i = 0; r == 1 && i < LAST_WALKS; i++)
        r = measure_growth(monitor);
}

/* Only a group counts refusals. Without one, as many processes as there may be are evidence enough. */
static bool were_refused(const struct monitor *monitor, const struct standing *at)
{
    return monitor->usage.processes_refused ||
           (monitor->plan->limits.processes_means == MEANS_RLIMIT &&
            monitor->usage.peak_processes != SANDBOX_UNKNOWN &&
            monitor->usage.peak_processes >= at->max);
}

/* A sampler can be too late for a command that is quick; what the largest process had is known. */
static bool had_too_much(const struct monitor *monitor, const struct sys_exit *ended)
{
    const struct plan_limits *limits = &monitor->plan->limits;

    return limits->memory_means == MEANS_SAMPLED &&
           (uint64_t)ended->usage.ru_maxrss * 1024 > limits->memory_bytes;
}

void monitor_saw(struct monitor *monitor, uint64_t processes)
{
    if (monitor->seen_processes < processes)
        monitor->seen_processes = processes;
}

enum hutch_reason monitor_end(struct monitor *monitor, struct sandbox *sandbox,
                              const struct sys_exit *ended, struct monitor_finding *ret)
{
    bool success = ended->signal == 0 && ended->code == 0;
    struct standing at[LIMIT_COUNT];
    const struct standing *cause = NULL;

    /* What cannot be measured any more is as it was measured last. */
    if (sandbox->ops->measure(sandbox, true, &monitor->usage) < 0)
        errno = 0;
    measure_last_growth(monitor);
    uint64_t *peak = &monitor->usage.peak_processes;
    if (*peak == SANDBOX_UNKNOWN || *peak < monitor->seen_processes)
        *peak = monitor->seen_processes;
    stand(monitor, at);
    if (monitor->usage.memory_killed || had_too_much(monitor, ended))
        cause = &at[LIMIT_MEMORY];
    else if (!success && were_refused(monitor, &at[LIMIT_PROCESSES]))
        cause = &at[LIMIT_PROCESSES];
    else if (is_passed(monitor, &at[LIMIT_DISK]) ||
             (!success && monitor->usage.disk_full && at[LIMIT_DISK].max != NUM_NO_LIMIT))
        cause = &at[LIMIT_DISK];
    if (!cause)
        return HUTCH_EXITED;
    *ret = finding(cause, cause->reason);
    return cause->reason;
}

void monitor_clear(struct monitor *monitor)
{
    fd_close(&monitor->timer);
    growth_free(monitor->growth);
    monitor->growth = NULL;
    while (monitor->nested_count > 0)
        fd_close(&monitor->nested[--monitor->nested_count]);
}
