/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox's control group has counted. */
#include "backend/native/cgroup.h"

#include <errno.h>
#include <fcntl.h>

#include "base/str.h"
#include "sys/cgroup.h"
#include "sys/ret.h"

struct file {
    enum plan_controller controller;
    const char *name;
};

static const struct file files_v2[CGROUP_FILE_COUNT] = {
    [CGROUP_CPU] = {0, "cpu.stat"},
    [CGROUP_MEMORY] = {0, "memory.current"},
    [CGROUP_MEMORY_PEAK] = {0, "memory.peak"}, /* Linux 5.19 */
    [CGROUP_MEMORY_EVENTS] = {0, "memory.events"},
    [CGROUP_PIDS] = {0, "pids.current"},
    [CGROUP_PIDS_PEAK] = {0, "pids.peak"}, /* Linux 6.1 */
    [CGROUP_PIDS_EVENTS] = {0, "pids.events"},
    [CGROUP_IO] = {0, "io.stat"},
};

static const struct file files_v1[CGROUP_FILE_COUNT] = {
    [CGROUP_CPU] = {CONTROLLER_CPUACCT, "cpuacct.usage"},
    [CGROUP_CPU_USER] = {CONTROLLER_CPUACCT, "cpuacct.usage_user"},
    [CGROUP_CPU_SYSTEM] = {CONTROLLER_CPUACCT, "cpuacct.usage_sys"},
    [CGROUP_MEMORY] = {CONTROLLER_MEMORY, "memory.usage_in_bytes"},
    [CGROUP_MEMORY_PEAK] = {CONTROLLER_MEMORY, "memory.max_usage_in_bytes"},
    [CGROUP_MEMORY_EVENTS] = {CONTROLLER_MEMORY, "memory.oom_control"},
    [CGROUP_PIDS] = {CONTROLLER_PIDS, "pids.current"},
    [CGROUP_PIDS_PEAK] = {CONTROLLER_PIDS, "pids.peak"}, /* Linux 6.1 */
    [CGROUP_PIDS_EVENTS] = {CONTROLLER_PIDS, "pids.events"},
};

static int open_measured(struct native_cgroup *cgroup, enum native_cgroup_file which)
{
    const struct file *file = cgroup->where->version == 2 ? &files_v2[which] : &files_v1[which];
    int dir = file->name ? cgroup->dir[file->controller] : -1;

    if (dir < 0)
        return -ENOENT;
    return ret_errno(openat(dir, file->name, O_RDONLY | O_CLOEXEC));
}

/* -ENOENT when there is no such file; that is asked for once. */
static int get_measured(struct native_cgroup *cgroup, enum native_cgroup_file which)
{
    int *fd = &cgroup->files[which];

    if (cgroup->missing[which])
        return -ENOENT;
    if (*fd < 0) {
        *fd = open_measured(cgroup, which);
        cgroup->missing[which] = *fd == -ENOENT;
    }
    return *fd;
}

/* Returns 1 with the text, 0 when there is no such file. */
static int read_measured(struct native_cgroup *cgroup, enum native_cgroup_file which, char *out,
                         size_t size)
{
    int fd = get_measured(cgroup, which);

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    int r = sys_cgroup_read(fd, out, size);
    return r < 0 ? r : 1;
}

/* *ret stays as it is when there is no such file; so do those of the functions below. */
static int read_number(struct native_cgroup *cgroup, enum native_cgroup_file which, uint64_t *ret)
{
    char text[64];
    int r = read_measured(cgroup, which, text, sizeof text);

    return r <= 0 ? r : sys_cgroup_number(text, ret);
}

/* ---- Processor time ---- */

static int measure_cpu_v2(struct native_cgroup *cgroup, struct sandbox_usage *ret)
{
    char text[2048];
    uint64_t user = 0;
    uint64_t system = 0;
    int r = read_measured(cgroup, CGROUP_CPU, text, sizeof text);

    if (r <= 0)
        return r;
    r = sys_cgroup_key(text, "user_usec", &user);
    if (r == 0)
        r = sys_cgroup_key(text, "system_usec", &system);
    if (r < 0)
        return r;
    ret->user_us = user;
    ret->system_us = system;
    return 0;
}

/*
 * The sum is exact; its parts are counted in ticks of the clock, which short programs never see. So
 * only their proportion is used, as the kernel does for rusage.
 */
static int measure_cpu_v1(struct native_cgroup *cgroup, struct sandbox_usage *ret)
{
    uint64_t total = SANDBOX_UNKNOWN;
    uint64_t user = 0;
    uint64_t system = 0;
    int r = read_number(cgroup, CGROUP_CPU, &total);

    if (r == 0)
        r = read_number(cgroup, CGROUP_CPU_USER, &user);
    if (r == 0)
        r = read_number(cgroup, CGROUP_CPU_SYSTEM, &system);
    if (r < 0 || total == SANDBOX_UNKNOWN)
        return r;
    double part = user + system > 0 ? (double)user / (double)(user + system) : 1;
    uint64_t total_us = total / 1000;
    uint64_t user_us = (uint64_t)((double)total_us * part);
    ret->user_us = cgroup->base_user_us + user_us;
    ret->system_us = cgroup->base_system_us + total_us - user_us;
    return 0;
}

/* ---- Memory, processes, devices ---- */

/* With no more than half of its limit used at any time, the kernel had no reason to kill. */
static bool was_near(const struct sandbox_usage *usage, uint64_t limit)
{
    return usage->peak_memory_bytes == SANDBOX_UNKNOWN || usage->peak_memory_bytes > limit / 2;
}

static int measure_memory(struct native_cgroup *cgroup, bool last, struct sandbox_usage *ret)
{
    char text[1024];
    uint64_t killed = 0;
    int r = last ? 0 : read_number(cgroup, CGROUP_MEMORY, &ret->memory_bytes);

    if (r == 0)
        r = read_number(cgroup, CGROUP_MEMORY_PEAK, &ret->peak_memory_bytes);
    if (r == 0 && !was_near(ret, cgroup->memory_limit))
        return 0;
    if (r == 0)
        r = read_measured(cgroup, CGROUP_MEMORY_EVENTS, text, sizeof text);
    if (r <= 0)
        return r;
    r = sys_cgroup_key(text, "oom_kill", &killed);
    if (r == 0)
        ret->memory_kills = killed;
    return r;
}

/* Without init and its spare, which are counted in v2. */
static int read_processes(struct native_cgroup *cgroup, enum native_cgroup_file which,
                          uint64_t *ret)
{
    uint64_t ours = cgroup->where->version == 2 ? cgroup->ours : 0;
    uint64_t count = SANDBOX_UNKNOWN;
    int r = read_number(cgroup, which, &count);

    if (r == 0 && count != SANDBOX_UNKNOWN)
        *ret = count > ours ? count - ours : 0;
    return r;
}

static int measure_processes(struct native_cgroup *cgroup, struct sandbox_usage *ret)
{
    char text[256];
    uint64_t refused = 0;
    int r = read_processes(cgroup, CGROUP_PIDS, &ret->processes);

    if (r == 0)
        r = read_processes(cgroup, CGROUP_PIDS_PEAK, &ret->peak_processes);
    if (r == 0)
        r = read_measured(cgroup, CGROUP_PIDS_EVENTS, text, sizeof text);
    if (r <= 0)
        return r;
    r = sys_cgroup_key(text, "max", &refused);
    if (r == 0)
        ret->process_refusals = refused;
    return r;
}

static int measure_io(struct native_cgroup *cgroup, struct sandbox_usage *ret)
{
    char text[4096];
    uint64_t read_bytes = 0;
    uint64_t written_bytes = 0;
    int r = read_measured(cgroup, CGROUP_IO, text, sizeof text);

    if (r <= 0)
        return r;
    r = sys_cgroup_sum(text, "rbytes", &read_bytes);
    if (r == 0)
        r = sys_cgroup_sum(text, "wbytes", &written_bytes);
    if (r < 0)
        return r;
    ret->read_bytes = read_bytes;
    ret->written_bytes = written_bytes;
    return 0;
}

int native_cgroup_measure(struct native_cgroup *cgroup, bool last, struct sandbox_usage *ret)
{
    if (!cgroup->where)
        return 0;
    /* All of them, whatever happens to one: a limit may hang on each. */
    int cpu = cgroup->where->version == 2 ? measure_cpu_v2(cgroup, ret)
              : cgroup->later             ? 0
                                          : measure_cpu_v1(cgroup, ret);
    int memory = measure_memory(cgroup, last, ret);
    int processes = measure_processes(cgroup, ret);
    int io = measure_io(cgroup, ret);
    return cpu < 0 ? cpu : memory < 0 ? memory : processes < 0 ? processes : io;
}

void native_cgroup_expect_end(struct native_cgroup *cgroup)
{
    static const enum native_cgroup_file at_end[] = {
        CGROUP_MEMORY_PEAK, CGROUP_CPU,         CGROUP_PIDS,
        CGROUP_PIDS_PEAK,   CGROUP_PIDS_EVENTS, CGROUP_IO,
    };

    if (!cgroup->where)
        return;
    /* In v1 the others are not there, or come later. One that cannot be opened is tried again when it is read. */
    size_t count = cgroup->where->version == 2 ? ARRAY_LEN(at_end) : 1;
    for (size_t i = 0; i < count; i++)
        get_measured(cgroup, at_end[i]);
}
