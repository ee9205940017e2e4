/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a sandbox's control group, as the files of v2 and of v1 say them. */
#include "backend/native/cgroup.h"

#include <errno.h>

#include "base/err.h"
#include "base/num.h"
#include "sys/cgroup.h"

/* The kernel has never more processes, and takes no larger number. */
#define PIDS_MOST 4194304U

/* The kernel's own period, unless the share of it would be less than the millisecond it wants. */
#define PERIOD_US 100000U
#define LONG_PERIOD_US 1000000U
#define LEAST_QUOTA_US 1000U

struct setting {
    enum plan_controller controller;
    const char *file;
    char text[2 * NUM_TEXT_MAX];
    const char *instead; /* file that gets a 0 where `file` does not exist; "": none is needed */
};

struct settings {
    struct setting items[6];
    size_t count;
};

static struct setting *add(struct settings *settings, enum plan_controller controller,
                           const char *file)
{
    struct setting *setting = &settings->items[settings->count++];

    *setting = (struct setting){.controller = controller, .file = file};
    return setting;
}

static void add_number(struct settings *settings, enum plan_controller controller, const char *file,
                       uint64_t value)
{
    *num_put(add(settings, controller, file)->text, value, 10) = '\0';
}

static uint64_t period_us(uint64_t cpus_milli)
{
    return cpus_milli * PERIOD_US / 1000 < LEAST_QUOTA_US ? LONG_PERIOD_US : PERIOD_US;
}

uint64_t native_cgroup_pids_max(const struct plan *plan)
{
    uint64_t processes = plan->limits.processes;

    return processes < PIDS_MOST ? processes + 1 + plan->lasting : PIDS_MOST;
}

/*
 * memory.oom.group stays 0. With it the kernel would kill init together with the rest, and a command
 * could keep init from its last look at protected paths (watch.c) by using too much memory.
 */
static void list_v2(const struct plan *plan, struct settings *ret)
{
    const struct plan_limits *limits = &plan->limits;

    if (limits->memory_means == MEANS_CGROUP) {
        add_number(ret, CONTROLLER_MEMORY, "memory.max", limits->memory_bytes);
        add_number(ret, CONTROLLER_MEMORY, "memory.swap.max", 0);
        ret->items[ret->count - 1].instead = "";
    }
    if (limits->processes_means == MEANS_CGROUP)
        add_number(ret, CONTROLLER_PIDS, "pids.max", native_cgroup_pids_max(plan));
    if (limits->cpus_means == MEANS_CGROUP) {
        uint64_t period = period_us(limits->cpus_milli);
        struct setting *setting = add(ret, CONTROLLER_CPU, "cpu.max");
        char *end = num_put(setting->text, limits->cpus_milli * period / 1000, 10);
        *end++ = ' ';
        *num_put(end, period, 10) = '\0';
    }
}

static void list_v1(const struct plan_limits *limits, struct settings *ret)
{
    if (limits->memory_means == MEANS_CGROUP) {
        add_number(ret, CONTROLLER_MEMORY, "memory.limit_in_bytes", limits->memory_bytes);
        /* Memory and swap together: not before, since it may not be lower than the one above. */
        if (limits->host_swaps) {
            add_number(ret, CONTROLLER_MEMORY, "memory.memsw.limit_in_bytes", limits->memory_bytes);
            ret->items[ret->count - 1].instead = "memory.swappiness";
        }
    }
    if (limits->processes_means == MEANS_CGROUP)
        add_number(ret, CONTROLLER_PIDS, "pids.max",
                   limits->processes < PIDS_MOST ? limits->processes : PIDS_MOST);
    if (limits->cpus_means == MEANS_CGROUP) {
        uint64_t period = period_us(limits->cpus_milli);
        if (period != PERIOD_US)
            add_number(ret, CONTROLLER_CPU, "cpu.cfs_period_us", period);
        add_number(ret, CONTROLLER_CPU, "cpu.cfs_quota_us", limits->cpus_milli * period / 1000);
    }
}

/* In v2 a group has the files of those controllers that its parent gives: it may have to be told. */
static int write_setting(const struct native_cgroup *cgroup, const struct setting *setting)
{
    bool v2 = cgroup->where->version == 2;
    int dir = cgroup->dir[v2 ? 0 : setting->controller];
    int r = sys_cgroup_write(dir, setting->file, setting->text);

    if (r != -ENOENT)
        return r;
    if (setting->instead)
        return setting->instead[0] ? sys_cgroup_write_number(dir, setting->instead, 0) : 0;
    if (!v2)
        return r;
    r = sys_cgroup_enable(cgroup->where->parent[0], plan_controller_name(setting->controller));
    return r < 0 ? r : sys_cgroup_write(dir, setting->file, setting->text);
}

static const char *why_not_set(const struct setting *setting, int r)
{
    if (r == -EINVAL && setting->controller == CONTROLLER_CPU)
        return " (the group around it may have less)";
    if (r == -EBUSY)
        return " (there are processes in the group around it)";
    if (r == -ENODEV || r == -ENOENT)
        return " (the group, or its controller, is gone)";
    return "";
}

int native_cgroup_set_limits(const struct native_cgroup *cgroup, const struct plan *plan,
                             struct hutch_error *err)
{
    struct settings settings = {0};

    if (cgroup->where->version == 2)
        list_v2(plan, &settings);
    else
        list_v1(&plan->limits, &settings);
    for (size_t i = 0; i < settings.count; i++) {
        const struct setting *setting = &settings.items[i];
        int r = write_setting(cgroup, setting);
        if (r < 0)
            return err_sys(err, r, "cgroup", "cannot set %s of the control group '%s' to '%s'%s",
                           setting->file, cgroup->name, setting->text, why_not_set(setting, r));
    }
    return 0;
}
