/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who keeps the limits on memory, processes, CPU time and CPUs: a control group where this process may
 * make one or systemd would for it, else a sampler and what the kernel counts for each user namespace.
 *
 * A group costs time at every start, so only what a limit needs is looked for. A sandbox without any of
 * these limits has no group, and is measured as well as can be done without.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "plan/passes.h"
#include "sys/cgroup.h"
#include "sys/path.h"
#include "sys/procfs.h"

#define PLACES_MAX 8192 /* /proc/self/cgroup: a dozen lines in v1 */
#define PLACE_MAX 4096

#define BIT(controller) (1U << (controller))

const char *plan_controller_name(enum plan_controller controller)
{
    static const char *const names[CONTROLLER_COUNT] = {
        [CONTROLLER_MEMORY] = "memory",
        [CONTROLLER_PIDS] = "pids",
        [CONTROLLER_CPU] = "cpu",
        [CONTROLLER_CPUACCT] = "cpuacct",
    };

    return names[controller];
}

/* ---- What is needed ---- */

static unsigned needed_controllers(const struct plan_limits *limits, uint64_t available_milli)
{
    unsigned needed = 0;

    if (limits->memory_bytes != NUM_NO_LIMIT)
        needed |= BIT(CONTROLLER_MEMORY);
    if (limits->processes != NUM_NO_LIMIT)
        needed |= BIT(CONTROLLER_PIDS);
    if (limits->cpus_milli < available_milli)
        needed |= BIT(CONTROLLER_CPU);
    if (limits->cpu_time_ms != NUM_NO_LIMIT)
        needed |= BIT(CONTROLLER_CPUACCT);
    return needed;
}

/* ---- What can be had: each of these returns the controllers that it found ---- */

struct wanted {
    const char *names[CONTROLLER_COUNT + 1]; /* ends with NULL */
    enum plan_controller which[CONTROLLER_COUNT];
};

/* What has to be looked for in v2, where every group counts CPU time without a controller. */
static struct wanted list_wanted(unsigned needed)
{
    struct wanted wanted = {0};
    unsigned count = 0;

    for (unsigned i = 0; i < CONTROLLER_CPUACCT; i++)
        if (needed & BIT(i)) {
            wanted.which[count] = i;
            wanted.names[count++] = plan_controller_name(i);
        }
    return wanted;
}

/* `found` has a bit for each name. */
static unsigned wanted_found(const struct wanted *wanted, unsigned found)
{
    unsigned have = BIT(CONTROLLER_CPUACCT);

    for (unsigned i = 0; wanted->names[i]; i++)
        if (found & BIT(i))
            have |= BIT(wanted->which[i]);
    return have;
}

static unsigned find_v2(int root, const char *places, unsigned needed, struct plan_cgroup *cgroup)
{
    const struct wanted wanted = list_wanted(needed);
    unsigned found = 0;
    char own[PLACE_MAX];

    if (sys_cgroup_place(places, "", own, sizeof own) < 0)
        return 0;
    fd_auto int dir = sys_cgroup_search(root, own, wanted.names, &found);
    unsigned have = dir < 0 ? 0 : wanted_found(&wanted, found) & needed;
    if (!have)
        return 0;
    cgroup->version = 2;
    cgroup->parent[0] = fd_take(&dir);
    return have;
}

/*
 * A login session has a group that is root's, so that its processes can make none. But every user of
 * such a system has a systemd with a subtree, which makes groups in it when asked: with the
 * controllers of that subtree and no others, whatever is asked for.
 */
static unsigned find_unit(int root, unsigned needed, struct plan_cgroup *cgroup)
{
    const struct wanted wanted = list_wanted(needed);
    unsigned uid = geteuid();
    char subtree[96];

    if (uid == 0)
        return 0;
    snprintf(subtree, sizeof subtree, "user.slice/user-%u.slice/user@%u.service", uid, uid);
    fd_auto int dir = sys_open_beneath(root, subtree, O_PATH | O_DIRECTORY, 0);
    if (dir < 0)
        return 0;
    unsigned found = sys_cgroup_listed(dir, "cgroup.controllers", wanted.names);
    unsigned have = wanted_found(&wanted, found) & needed;
    int manager = have ? plan_find_manager(&cgroup->bus) : -1;
    if (manager < 0)
        return 0;
    cgroup->version = 2;
    cgroup->unit = true;
    cgroup->manager = manager;
    return have;
}

/* Since Linux 5.14 RLIMIT_NPROC counts each user namespace on its own; before, all of a user's. */
static bool counts_by_namespace(void)
{
    struct utsname kernel;
    char *end;

    if (uname(&kernel) < 0)
        return false;
    unsigned long major = strtoul(kernel.release, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > 5 || (major == 5 && minor >= 14);
}

/*
 * Each controller has a group of its own here, and each costs a start as much as a tenth of a bare
 * process. So there is none for what the kernel limits for each user namespace.
 */
static unsigned find_v1(int root, const char *places, unsigned needed, bool by_namespace,
                        struct plan_cgroup *cgroup)
{
    unsigned have = 0;
    char own[PLACE_MAX];

    if (by_namespace)
        needed &= ~BIT(CONTROLLER_PIDS);
    for (unsigned i = 0; i < CONTROLLER_COUNT; i++) {
        if (!(needed & BIT(i)) ||
            sys_cgroup_place(places, plan_controller_name(i), own, sizeof own) < 0)
            continue;
        fd_auto int dir = sys_open_beneath(root, own, O_PATH | O_DIRECTORY, 0);
        if (dir < 0 || sys_cgroup_may_make(dir) < 0)
            continue;
        cgroup->version = 1;
        cgroup->parent[i] = fd_take(&dir);
        have |= BIT(i);
    }
    return have;
}

static unsigned find(unsigned needed, bool by_namespace, struct plan_cgroup *cgroup)
{
    char places[PLACES_MAX];
    fd_auto int root = needed ? sys_cgroup_root() : -1;
    int version = root < 0 ? root : sys_cgroup_version(root);

    if (version < 0 || sys_proc_read(getpid(), "cgroup", places, sizeof places) < 0)
        return 0;
    if (version == 2) {
        unsigned have = find_v2(root, places, needed, cgroup);
        return have ? have : find_unit(root, needed, cgroup);
    }
    unsigned have = find_v1(root, places, needed, by_namespace, cgroup);
    if (have)
        return have;
    /* Both at once: v2 may have the controllers that v1 was not given. */
    fd_auto int unified = sys_open_beneath(root, "unified", O_PATH | O_DIRECTORY, 0);
    if (unified < 0 || sys_cgroup_version(unified) != 2)
        return 0;
    return find_v2(unified, places, needed, cgroup);
}

/* ---- What follows from it ---- */

static enum plan_means means(uint64_t limit, bool by_cgroup, enum plan_means otherwise)
{
    if (limit == NUM_NO_LIMIT)
        return MEANS_NONE;
    return by_cgroup ? MEANS_CGROUP : otherwise;
}

static int choose_cpus(const struct policy *policy, struct plan_limits *limits, uint64_t available,
                       bool by_cgroup, struct hutch_error *err)
{
    char text[NUM_TEXT_MAX];

    if (limits->cpus_milli == NUM_NO_LIMIT)
        limits->cpus_means = MEANS_NONE;
    else if (limits->cpus_milli >= available)
        limits->cpus_means = MEANS_HOST;
    else if (by_cgroup)
        limits->cpus_means = MEANS_CGROUP;
    else if (limits->cpus_milli % 1000 == 0)
        limits->cpus_means = MEANS_AFFINITY;
    else
        return err_set(err, HUTCH_EUNSUPPORTED, policy->values[POLICY_CPUS].origin,
                       "cannot limit a sandbox to %s CPUs: there is no control group with the cpu "
                       "controller that could be used; without one only whole CPUs can be given",
                       num_format_cpus(limits->cpus_milli, text));
    return 0;
}

int plan_pass_cgroup(const struct policy *policy, struct plan *plan, struct hutch_error *err)
{
    struct plan_limits *limits = &plan->limits;
    uint64_t available = limits->host_cpus_milli;

    plan->cgroup = (struct plan_cgroup){.parent = {-1, -1, -1, -1}, .manager = -1};
    bool by_namespace = counts_by_namespace();
    unsigned have = find(needed_controllers(limits, available), by_namespace, &plan->cgroup);

    limits->memory_means = means(limits->memory_bytes, have & BIT(CONTROLLER_MEMORY),
                                 MEANS_SAMPLED);
    limits->cpu_time_means = means(limits->cpu_time_ms, have & BIT(CONTROLLER_CPUACCT),
                                   MEANS_SAMPLED);
    limits->processes_means = means(limits->processes, have & BIT(CONTROLLER_PIDS),
                                    by_namespace ? MEANS_RLIMIT : MEANS_SAMPLED);
    return choose_cpus(policy, limits, available, have & BIT(CONTROLLER_CPU), err);
}
