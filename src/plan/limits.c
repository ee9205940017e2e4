/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <sys/sysinfo.h>

#include "plan/passes.h"

/*
 * A policy that never mentions a limit gets these: the strict ones. Only "unlimited", spelled out,
 * lifts a limit.
 */
#define TIMEOUT_MS 120000
#define OUTPUT_BYTES (1U << 20)
#define OPEN_FILES 1024
#define FILE_SIZE_BYTES (1U << 30)
#define CPU_TIME_MS 60000
#define CPUS_MILLI 2000
#define MEMORY_BYTES (1U << 30)
#define DISK_BYTES (1U << 30)
#define PROCESSES 256

static uint64_t limit(const struct policy *policy, enum policy_id id, uint64_t otherwise)
{
    const struct policy_value *value = &policy->values[id];

    return value->set ? value->number : otherwise;
}

/* Processors that this process, and so the sandbox, may run on. */
static uint64_t host_cpus_milli(void)
{
    cpu_set_t set;

    /* With more processors than the set has room for it fails; then there are enough. */
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return (uint64_t)CPU_SETSIZE * 1000;
    return (uint64_t)CPU_COUNT(&set) * 1000;
}

static void look_at_host(struct plan_limits *limits)
{
    struct sysinfo info;
    bool known = sysinfo(&info) == 0;

    limits->host_memory_bytes = known ? (uint64_t)info.totalram * info.mem_unit : NUM_NO_LIMIT;
    limits->host_swaps = !known || info.totalswap > 0;
}

/* Whether somebody asked for just this; a profile's number is for hosts of any size. */
static bool is_asked_for(const struct policy *policy, enum policy_id id)
{
    const struct policy_value *value = &policy->values[id];

    return value->set && !value->from_profile;
}

void plan_pass_limits(const struct policy *policy, struct plan *plan)
{
    plan->limits = (struct plan_limits){
        .timeout_ms = limit(policy, POLICY_TIMEOUT, TIMEOUT_MS),
        .output_bytes = limit(policy, POLICY_OUTPUT, OUTPUT_BYTES),
        .open_files = limit(policy, POLICY_OPEN_FILES, OPEN_FILES),
        .file_size_bytes = limit(policy, POLICY_FILE_SIZE, FILE_SIZE_BYTES),
        .cpu_time_ms = limit(policy, POLICY_CPU_TIME, CPU_TIME_MS),
        .cpus_milli = limit(policy, POLICY_CPUS, CPUS_MILLI),
        .memory_bytes = limit(policy, POLICY_MEMORY, MEMORY_BYTES),
        .disk_bytes = limit(policy, POLICY_DISK, DISK_BYTES),
        .processes = limit(policy, POLICY_PROCESSES, PROCESSES),
        .host_cpus_milli = host_cpus_milli(),
        .cpus_asked_for = is_asked_for(policy, POLICY_CPUS),
        .memory_asked_for = is_asked_for(policy, POLICY_MEMORY),
    };
    look_at_host(&plan->limits);
}

/* Whether a run can add to a disk of the host. */
static bool writes_to_host(const struct plan *plan)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan_mount_grows(&plan->mounts[i]))
            return true;
    return false;
}

bool plan_mount_grows(const struct plan_mount *mount)
{
    return mount->kind == MOUNT_BIND && mount->writable && !mount->device && mount->source_fd >= 0;
}

void plan_pass_disk(struct plan *plan)
{
    if (plan->limits.disk_bytes != NUM_NO_LIMIT)
        plan->limits.disk_means = writes_to_host(plan) ? MEANS_SAMPLED : MEANS_TMPFS;
}

enum { CPUS_ROW = 2, MEMORY_ROW = 3 }; /* of the table below */

void plan_limit_rows(const struct plan *plan, struct plan_limit_row ret[PLAN_LIMIT_ROWS])
{
    const struct plan_limits *limits = &plan->limits;
    const struct plan_limit_row rows[PLAN_LIMIT_ROWS] = {
        {"timeout", limits->timeout_ms, MEANS_SUPERVISOR},
        {"cpu_time", limits->cpu_time_ms, limits->cpu_time_means},
        {"cpus", limits->cpus_milli, limits->cpus_means},
        {"memory", limits->memory_bytes, limits->memory_means},
        {"disk", limits->disk_bytes, limits->disk_means},
        {"processes", limits->processes, limits->processes_means},
        {"open_files", limits->open_files, MEANS_RLIMIT},
        {"file_size", limits->file_size_bytes, MEANS_RLIMIT},
        {"output", limits->output_bytes, MEANS_SUPERVISOR},
    };

    for (size_t i = 0; i < PLAN_LIMIT_ROWS; i++) {
        ret[i] = rows[i];
        ret[i].host = NUM_NO_LIMIT;
        if (rows[i].max == NUM_NO_LIMIT)
            ret[i].means = MEANS_NONE;
    }
    if (limits->cpus_asked_for)
        ret[CPUS_ROW].host = limits->host_cpus_milli;
    if (limits->memory_asked_for)
        ret[MEMORY_ROW].host = limits->host_memory_bytes;
}

const char *plan_means_name(enum plan_means means)
{
    static const char *const names[] = {
        [MEANS_NONE] = "false",      [MEANS_SUPERVISOR] = "supervisor", [MEANS_RLIMIT] = "rlimit",
        [MEANS_CGROUP] = "cgroup",   [MEANS_AFFINITY] = "affinity",     [MEANS_HOST] = "host",
        [MEANS_SAMPLED] = "sampled", [MEANS_TMPFS] = "tmpfs",
    };

    return names[means];
}
