/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include "base/num.h"
#include "plan/passes.h"
#include "sys/sysctl.h"

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

/* Every kernel has room for as many processes. */
#define PID_MAX_USUAL 32768

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

/* Whether somebody asked for just this; a profile's number is for hosts of any size. */
static bool is_asked_for(const struct policy *policy, enum policy_id id)
{
    const struct policy_value *value = &policy->values[id];

    return value->set && !value->from_profile;
}

/* Read only for numbers that may be too large: a file of /proc takes longer than all else here. */
static uint64_t host_processes(const struct plan_limits *limits)
{
    char text[32];
    uint64_t most;

    if (limits->processes <= PID_MAX_USUAL || limits->processes == NUM_NO_LIMIT)
        return NUM_NO_LIMIT;
    if (sys_sysctl_read("kernel/pid_max", text, sizeof text) < 0)
        return NUM_NO_LIMIT;
    return num_parse_count(text, &most) ? NUM_NO_LIMIT : most;
}

static uint64_t host_open_files(void)
{
    struct rlimit most;

    return getrlimit(RLIMIT_NOFILE, &most) == 0 ? (uint64_t)most.rlim_max : NUM_NO_LIMIT;
}

/* What the host has, where somebody's number is to be held against it. */
static void look_at_host(const struct policy *policy, struct plan_limits *limits)
{
    struct sysinfo info;
    bool known = sysinfo(&info) == 0;

    limits->host_swaps = !known || info.totalswap > 0;
    limits->host_disk_bytes = NUM_NO_LIMIT; /* known when the mounts are */
    limits->host_memory_bytes = known && is_asked_for(policy, POLICY_MEMORY)
                                    ? (uint64_t)info.totalram * info.mem_unit
                                    : NUM_NO_LIMIT;
    limits->host_processes = is_asked_for(policy, POLICY_PROCESSES) ? host_processes(limits)
                                                                    : NUM_NO_LIMIT;
    limits->host_open_files = is_asked_for(policy, POLICY_OPEN_FILES) ? host_open_files()
                                                                      : NUM_NO_LIMIT;
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
        .disk_asked_for = is_asked_for(policy, POLICY_DISK),
    };
    look_at_host(policy, &plan->limits);
}

bool plan_mount_grows(const struct plan_mount *mount)
{
    return mount->kind == MOUNT_BIND && mount->writable && !mount->device && mount->source_fd >= 0;
}

/* The first mount that adds to a disk of the host; NULL: all is in memory. */
static const struct plan_mount *grown_mount(const struct plan *plan)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan_mount_grows(&plan->mounts[i]))
            return &plan->mounts[i];
    return NULL;
}

/* How much the file systems hold that a run can write to. */
static uint64_t host_disk(const struct plan *plan)
{
    const struct plan_mount *last = NULL;
    uint64_t most = 0;

    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        struct statvfs fs;
        if (!plan_mount_grows(mount) || (last && last->dev == mount->dev))
            continue;
        if (fstatvfs(mount->source_fd, &fs) < 0)
            return NUM_NO_LIMIT;
        most += (uint64_t)fs.f_blocks * fs.f_frsize;
        last = mount;
    }
    return most ? most : NUM_NO_LIMIT;
}

void plan_pass_disk(struct plan *plan)
{
    struct plan_limits *limits = &plan->limits;

    if (limits->disk_bytes == NUM_NO_LIMIT)
        return;
    limits->disk_means = grown_mount(plan) ? MEANS_SAMPLED : MEANS_TMPFS;
    if (limits->disk_asked_for)
        limits->host_disk_bytes = host_disk(plan);
}

void plan_limit_rows(const struct plan *plan, struct plan_limit_row ret[PLAN_LIMIT_ROWS])
{
    const struct plan_limits *limits = &plan->limits;
    const struct plan_limit_row rows[PLAN_LIMIT_ROWS] = {
        {"timeout", "timeout_ms", UNIT_MS, MEANS_SUPERVISOR, limits->timeout_ms, NUM_NO_LIMIT},
        {"cpu_time", "cpu_time_ms", UNIT_MS, limits->cpu_time_means, limits->cpu_time_ms,
         NUM_NO_LIMIT},
        {"cpus", "cpus_milli", UNIT_MILLI, limits->cpus_means, limits->cpus_milli,
         limits->cpus_asked_for ? limits->host_cpus_milli : NUM_NO_LIMIT},
        {"memory", "memory_bytes", UNIT_BYTES, limits->memory_means, limits->memory_bytes,
         limits->host_memory_bytes},
        {"disk", "disk_bytes", UNIT_BYTES, limits->disk_means, limits->disk_bytes,
         limits->host_disk_bytes},
        {"processes", "processes", UNIT_COUNT, limits->processes_means, limits->processes,
         limits->host_processes},
        {"open_files", "open_files", UNIT_COUNT, MEANS_RLIMIT, limits->open_files,
         limits->host_open_files},
        {"file_size", "file_size_bytes", UNIT_BYTES, MEANS_RLIMIT, limits->file_size_bytes,
         NUM_NO_LIMIT},
        {"output", "output_bytes", UNIT_BYTES, MEANS_SUPERVISOR, limits->output_bytes,
         NUM_NO_LIMIT},
    };

    for (size_t i = 0; i < PLAN_LIMIT_ROWS; i++) {
        ret[i] = rows[i];
        if (rows[i].max == NUM_NO_LIMIT)
            ret[i].means = MEANS_NONE;
    }
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
