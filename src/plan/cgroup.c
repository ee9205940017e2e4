/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who keeps the limits on memory, processes, CPU time and CPUs: a control group where this process may
 * make one or systemd would for it, else a sampler and what the kernel counts for each user namespace.
 *
 * A group costs time at every start, so only what a limit needs is looked for. A sandbox without any of
 * these limits has no group, and is measured as well as can be done without.
 */
#include <errno.h>
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

/* ---- What can be had: each of these returns the controllers that it found, or a failure to look ---- */

static enum plan_cgroup_lack lack_of(int absence)
{
    switch (absence) {
    case -EROFS: return CGROUP_LACKS_WRITABLE;
    case -EACCES:
    case -EPERM: return CGROUP_LACKS_RIGHTS;
    default: return CGROUP_LACKS_HIERARCHY;
    }
}

static void note(struct plan_cgroup *cgroup, enum plan_cgroup_lack lack)
{
    if (lack > cgroup->lack)
        cgroup->lack = lack;
}

/* No failure but absence may pass for absence: a limit would be kept by lesser means. */
static int none_if_absent(int r, struct plan_cgroup *cgroup)
{
    if (!sys_cgroup_is_absent(r))
        return r;
    note(cgroup, lack_of(r));
    return 0;
}

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

static int find_v2(int root, const char *places, unsigned needed, struct plan_cgroup *cgroup)
{
    const struct wanted wanted = list_wanted(needed);
    unsigned found = 0;
    char own[PLACE_MAX];
    int r = sys_cgroup_place(places, "", own, sizeof own);

    if (r < 0)
        return none_if_absent(r, cgroup);
    fd_auto int dir = sys_cgroup_search(root, own, wanted.names, &found);
    if (dir < 0)
        return none_if_absent(dir, cgroup);
    unsigned have = wanted_found(&wanted, found) & needed;
    if (!have) {
        note(cgroup, CGROUP_LACKS_CONTROLLERS);
        return 0;
    }
    cgroup->version = 2;
    cgroup->parent[0] = fd_take(&dir);
    return (int)have;
}

/*
 * A login session has a group that is root's, so that its processes can make none. But every user of
 * such a system has a systemd with a subtree, which makes groups in it when asked: with the
 * controllers of that subtree and no others, whatever is asked for.
 */
static int find_unit(int root, unsigned needed, struct plan_cgroup *cgroup)
{
    const struct wanted wanted = list_wanted(needed);
    unsigned found = 0;
    unsigned uid = geteuid();
    char subtree[96];

    if (uid == 0)
        return 0;
    snprintf(subtree, sizeof subtree, "user.slice/user-%u.slice/user@%u.service", uid, uid);
    fd_auto int dir = sys_open_beneath(root, subtree, O_PATH | O_DIRECTORY, 0);
    int r = dir < 0 ? dir : sys_cgroup_listed(dir, "cgroup.controllers", wanted.names, &found);
    if (r < 0)
        return none_if_absent(r, cgroup);
    unsigned have = wanted_found(&wanted, found) & needed;
    note(cgroup, have ? CGROUP_LACKS_MANAGER : CGROUP_LACKS_CONTROLLERS);
    int manager = have ? plan_find_manager(&cgroup->bus) : -ENOENT;
    if (manager < 0)
        return none_if_absent(manager, cgroup);
    cgroup->version = 2;
    cgroup->unit = true;
    cgroup->manager = manager;
    return (int)have;
}

/* Since Linux 5.14 RLIMIT_NPROC counts each user namespace on its own; before, all of a user's. */
static int counts_by_namespace(bool *ret)
{
    struct utsname kernel;
    char *end;

    if (uname(&kernel) < 0)
        return -errno;
    unsigned long major = strtoul(kernel.release, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    *ret = major > 5 || (major == 5 && minor >= 14);
    return 0;
}

/* The group of this process in one hierarchy of v1, when it may make others there. */
static int open_v1(int root, const char *places, const char *controller)
{
    char own[PLACE_MAX];
    int r = sys_cgroup_place(places, controller, own, sizeof own);

    if (r < 0)
        return r;
    fd_auto int dir = sys_open_beneath(root, own, O_PATH | O_DIRECTORY, 0);
    r = dir < 0 ? dir : sys_cgroup_may_make(dir);
    return r < 0 ? r : fd_take(&dir);
}

/*
 * Each controller has a group of its own here, and each costs a start as much as a tenth of a bare
 * process. So there is none for what the kernel limits for each user namespace.
 */
static int find_v1(int root, const char *places, unsigned needed, bool by_namespace,
                   struct plan_cgroup *cgroup)
{
    unsigned have = 0;

    if (by_namespace)
        needed &= ~BIT(CONTROLLER_PIDS);
    for (unsigned i = 0; i < CONTROLLER_COUNT; i++) {
        if (!(needed & BIT(i)))
            continue;
        int dir = open_v1(root, places, plan_controller_name(i));
        if (none_if_absent(dir, cgroup) < 0)
            return dir;
        if (dir < 0)
            continue;
        cgroup->version = 1;
        cgroup->parent[i] = dir;
        have |= BIT(i);
    }
    return (int)have;
}

static int find_mixed(int root, const char *places, unsigned needed, bool by_namespace,
                      struct plan_cgroup *cgroup)
{
    int have = find_v1(root, places, needed, by_namespace, cgroup);

    if (have != 0)
        return have;
    /* Both at once: v2 may have the controllers that v1 was not given. */
    fd_auto int unified = sys_open_beneath(root, "unified", O_PATH | O_DIRECTORY, 0);
    int version = unified < 0 ? unified : sys_cgroup_version(unified);
    if (version != 2)
        return version < 0 ? none_if_absent(version, cgroup) : 0;
    return find_v2(unified, places, needed, cgroup);
}

static int find(unsigned needed, bool by_namespace, struct plan_cgroup *cgroup)
{
    char places[PLACES_MAX];

    if (!needed)
        return 0;
    fd_auto int root = sys_cgroup_root();
    int version = root < 0 ? root : sys_cgroup_version(root);
    int r = version < 0 ? version : sys_proc_read(getpid(), "cgroup", places, sizeof places);
    if (r < 0)
        return none_if_absent(r, cgroup);
    if (version == 1)
        return find_mixed(root, places, needed, by_namespace, cgroup);
    int have = find_v2(root, places, needed, cgroup);
    return have != 0 ? have : find_unit(root, needed, cgroup);
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
    bool by_namespace = false;

    plan->cgroup = (struct plan_cgroup){.parent = {-1, -1, -1, -1}, .manager = -1};
    int r = counts_by_namespace(&by_namespace);
    if (r < 0)
        return err_sys(err, r, "cgroup", "cannot ask for the kernel's version");
    r = find(needed_controllers(limits, available), by_namespace, &plan->cgroup);
    if (r < 0)
        return err_sys(err, r, "cgroup", "cannot look for a control group to keep the limits");
    unsigned have = (unsigned)r;
    if (plan->cgroup.version > 0)
        plan->cgroup.lack = CGROUP_LACKS_NOTHING;

    limits->memory_means = means(limits->memory_bytes, have & BIT(CONTROLLER_MEMORY),
                                 MEANS_SAMPLED);
    limits->cpu_time_means = means(limits->cpu_time_ms, have & BIT(CONTROLLER_CPUACCT),
                                   MEANS_SAMPLED);
    limits->processes_means = means(limits->processes, have & BIT(CONTROLLER_PIDS),
                                    by_namespace ? MEANS_RLIMIT : MEANS_SAMPLED);
    return choose_cpus(policy, limits, available, have & BIT(CONTROLLER_CPU), err);
}
