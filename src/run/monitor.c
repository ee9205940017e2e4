/* SPDX-License-Identifier: Apache-2.0 */
#include "run/monitor.h"

#include <errno.h>
#include <unistd.h>

#include "base/num.h"
#include "run/disk.h"
#include "sys/clock.h"

#define NEAR_MS 20 /* when half of a limit is used */
#define FAR_MS 50
#define FAILURES_MAX 20
#define WARN_PERCENT 80
#define OWN_CPU_SHARE 50 /* looking at each process may take one part of so many */

/* How near to `max`, in percent; 100 and more is over. */
static unsigned percent(uint64_t current, uint64_t max)
{
    if (max == NUM_NO_LIMIT || current == SANDBOX_UNKNOWN || max == 0)
        return 0;
    return current >= max ? 100 : (unsigned)((double)current / (double)max * 100);
}

void monitor_init(struct monitor *monitor, const struct plan *plan, struct disk *disk)
{
    *monitor = (struct monitor){.plan = plan, .disk = disk};
}

uint64_t monitor_since(uint64_t now_us, uint64_t base_us)
{
    if (now_us == SANDBOX_UNKNOWN || base_us == SANDBOX_UNKNOWN)
        return now_us; /* nothing was measured before: there was nothing */
    return now_us > base_us ? now_us - base_us : 0;
}

/* A limit of the sandbox that an earlier run came near. */
static bool was_near(const struct monitor *monitor, const struct sandbox_usage *usage)
{
    return percent(usage->peak_memory_bytes, monitor->plan->limits.memory_bytes) >= 50 ||
           usage->process_refusals > 0;
}

/* What cannot be measured now is as it was measured last; so everywhere in this file. */
static void measure_base(struct monitor *monitor, struct sandbox *sandbox)
{
    struct sandbox_usage usage;

    if (sandbox->ops->measure(sandbox, true, &usage) == 0)
        monitor->base = usage;
}

void monitor_start(struct monitor *monitor, struct sandbox *sandbox,
                   const struct monitor_started *started)
{
    monitor->started_ns = started->at_ns;
    monitor->leader = started->leader;
    monitor->timeout_ms = started->timeout_ms;
    monitor->base = *started->before;
    monitor->base_disk_bytes = monitor->disk->bytes;
    monitor->base_disk_found = monitor->disk->least_found;
    disk_set_sandbox(monitor->disk, sandbox);
    /* Who came near a limit in an earlier run may have met it since. */
    if (monitor->plan->lasting && was_near(monitor, started->before))
        measure_base(monitor, sandbox);
}

/* The most that was there while this run ran: a new peak, or what was seen. */
static uint64_t peak_of(uint64_t peak, uint64_t before, uint64_t seen)
{
    if (peak == SANDBOX_UNKNOWN || (before != SANDBOX_UNKNOWN && peak <= before))
        return seen;
    return peak > seen ? peak : seen;
}

uint64_t monitor_peak_memory(const struct monitor *monitor)
{
    return peak_of(monitor->usage.peak_memory_bytes, monitor->base.peak_memory_bytes,
                   monitor->seen_memory_bytes);
}

uint64_t monitor_peak_processes(const struct monitor *monitor)
{
    return peak_of(monitor->usage.peak_processes, monitor->base.peak_processes,
                   monitor->seen_processes);
}

static void see(struct monitor *monitor)
{
    const struct sandbox_usage *usage = &monitor->usage;

    if (usage->memory_bytes != SANDBOX_UNKNOWN && usage->memory_bytes > monitor->seen_memory_bytes)
        monitor->seen_memory_bytes = usage->memory_bytes;
    if (usage->processes != SANDBOX_UNKNOWN)
        monitor_saw(monitor, usage->processes);
}

/* All that the sandbox has used since the run began. */
static uint64_t sandbox_cpu_us(const struct monitor *monitor)
{
    const struct sandbox_usage *usage = &monitor->usage;

    if (usage->user_us == SANDBOX_UNKNOWN)
        return SANDBOX_UNKNOWN;
    return monitor_since(usage->user_us, monitor->base.user_us) +
           monitor_since(usage->system_us, monitor->base.system_us);
}

/* Of a sandbox that lasts, a run answers for its own processes only. */
static uint64_t cpu_ms(const struct monitor *monitor)
{
    uint64_t us = monitor->plan->lasting ? monitor->own_cpu_us : sandbox_cpu_us(monitor);

    return us == SANDBOX_UNKNOWN ? us : us / 1000;
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
    bool on_host = monitor->disk->bytes > tmpfs_bytes;

    ret[LIMIT_TIMEOUT] = (struct standing){"timeout", wall_ms, monitor->timeout_ms};
    ret[LIMIT_OUTPUT] = (struct standing){"output", monitor->output_bytes, limits->output_bytes};
    ret[LIMIT_CPU_TIME] = (struct standing){"cpu_time", cpu_ms(monitor), limits->cpu_time_ms,
                                            HUTCH_CPU_TIME, true};
    ret[LIMIT_MEMORY] = (struct standing){"memory", usage->memory_bytes, limits->memory_bytes,
                                          HUTCH_MEMORY, limits->memory_means == MEANS_SAMPLED};
    ret[LIMIT_PROCESSES] = (struct standing){"processes", usage->processes, limits->processes,
                                             HUTCH_PROCESSES,
                                             limits->processes_means == MEANS_SAMPLED};
    /* A tmpfs cannot pass its size. A run that begins beyond the limit may make room, and add nothing. */
    bool grows = on_host &&
                 disk_grows(monitor->disk, monitor->base_disk_bytes, monitor->base_disk_found);
    ret[LIMIT_DISK] = (struct standing){"disk", on_host ? monitor->disk->bytes : tmpfs_bytes,
                                        limits->disk_bytes, HUTCH_DISK, grows};
}

/* The kernel has killed something of the sandbox for its memory, since the run began. */
static bool was_killed(const struct monitor *monitor)
{
    return monitor->usage.memory_kills > monitor->base.memory_kills;
}

static bool is_passed(const struct monitor *monitor, const struct standing *at)
{
    if (at->reason == HUTCH_MEMORY && was_killed(monitor))
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

/*
 * Looking at each process takes long, and is only done when the whole sandbox has used so much that this
 * run could be near its end.
 */
static int measure_own_cpu(struct monitor *monitor, struct sandbox *sandbox)
{
    uint64_t us = sandbox_cpu_us(monitor);
    uint64_t max_ms = monitor->plan->limits.cpu_time_ms;
    uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);

    if (!monitor->plan->lasting || now_ns < monitor->own_cpu_next_ns ||
        percent(us == SANDBOX_UNKNOWN ? us : us / 1000, max_ms) < 50)
        return 0;
    int r = sandbox->ops->measure_run(sandbox, monitor->leader, &us);
    if (r == 0 && us > monitor->own_cpu_us)
        monitor->own_cpu_us = us;
    uint64_t took_ns = sys_clock_ns(CLOCK_MONOTONIC) - now_ns;
    monitor->own_cpu_next_ns = now_ns + took_ns * OWN_CPU_SHARE;
    return r;
}

static int measure(struct monitor *monitor, struct sandbox *sandbox)
{
    int r = sandbox->ops->measure(sandbox, false, &monitor->usage);

    if (r == 0)
        r = measure_own_cpu(monitor, sandbox);
    if (r < 0)
        return r;
    see(monitor);
    return disk_measure(monitor->disk);
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

    const struct standing *cpu = &at[LIMIT_CPU_TIME];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpu->max == NUM_NO_LIMIT || cpu->current == SANDBOX_UNKNOWN || cpu->current >= cpu->max)
        return pause;
    uint64_t left = (cpu->max - cpu->current) / (processors > 0 ? (uint64_t)processors : 1) + 1;
    return left < pause ? left : pause;
}

/* Near a limit for the first time: a warning for each. Returns how many. */
static size_t warn(struct monitor *monitor, const struct standing *at,
                   struct monitor_finding ret[LIMIT_COUNT])
{
    size_t count = 0;

    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        if (percent(at[i].current, at[i].max) < WARN_PERCENT || (monitor->warned & 1U << i))
            continue;
        monitor->warned |= 1U << i;
        ret[count++] = finding(&at[i], HUTCH_EXITED);
    }
    return count;
}

static size_t judge(struct monitor *monitor, const struct standing *at,
                    struct monitor_finding ret[LIMIT_COUNT + 1])
{
    size_t count = warn(monitor, at, ret);

    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (is_passed(monitor, &at[i])) {
            ret[count++] = finding(&at[i], at[i].reason);
            break;
        }
    return count;
}

int monitor_step(struct monitor *monitor, struct sandbox *sandbox,
                 struct monitor_finding ret[LIMIT_COUNT + 1], uint64_t *ret_next_ms)
{
    struct standing at[LIMIT_COUNT];

    int r = measure(monitor, sandbox);
    /* No memory or no descriptor for a moment is no reason to end a run; for good it is. */
    if (r < 0 && ++monitor->failures > FAILURES_MAX)
        return r;
    if (r >= 0)
        monitor->failures = 0;
    stand(monitor, at);
    *ret_next_ms = pause_ms(monitor, at, r == 1);
    return r < 0 ? 0 : (int)judge(monitor, at, ret);
}

/*
 * Only a group counts refusals. Without one, a command that failed with as many processes as there may be
 * probably was refused the next; one that may not have a second has never asked for it, as far as is known.
 */
static bool were_refused(const struct monitor *monitor, const struct sys_exit *ended)
{
    const struct plan_limits *limits = &monitor->plan->limits;

    return monitor->usage.process_refusals > monitor->base.process_refusals ||
           (limits->processes_means == MEANS_RLIMIT && limits->processes > 1 && !ended->signal &&
            monitor_peak_processes(monitor) >= limits->processes);
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

/* The limit that ended the command, or made it fail; NULL: none. */
static const struct standing *find_cause(const struct monitor *monitor,
                                         const struct sys_exit *ended, const struct standing *at)
{
    bool success = ended->signal == 0 && ended->code == 0;

    if (was_killed(monitor) || had_too_much(monitor, ended))
        return &at[LIMIT_MEMORY];
    if (!success && were_refused(monitor, ended))
        return &at[LIMIT_PROCESSES];
    if (is_passed(monitor, &at[LIMIT_DISK]) ||
        (!success && monitor->usage.disk_full && at[LIMIT_DISK].max != NUM_NO_LIMIT))
        return &at[LIMIT_DISK];
    return NULL;
}

size_t monitor_end(struct monitor *monitor, struct sandbox *sandbox, const struct sys_exit *ended,
                   struct monitor_finding ret[LIMIT_COUNT + 1])
{
    struct standing at[LIMIT_COUNT];

    if (sandbox->ops->measure(sandbox, true, &monitor->usage) < 0)
        errno = 0;
    disk_measure_last(monitor->disk);
    stand(monitor, at);
    if (at[LIMIT_DISK].ours && is_passed(monitor, &at[LIMIT_DISK]))
        disk_set_ended(monitor->disk);
    at[LIMIT_MEMORY].current = monitor_peak_memory(monitor);
    at[LIMIT_PROCESSES].current = monitor_peak_processes(monitor);
    size_t count = warn(monitor, at, ret);
    const struct standing *cause = find_cause(monitor, ended, at);
    if (cause)
        ret[count++] = finding(cause, cause->reason);
    return count;
}
