/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to say about the facts of `enforced`: why this host gives less than others, and what would
 * help. It goes by what the passes decided, so that it cannot be about something else.
 */
#include <errno.h>

#include "base/str.h"
#include "plan/passes.h"
#include "sys/landlock.h"

static const struct plan_remark nothing = {.state = HUTCH_HOST_OK};

static struct plan_remark weaker(const char *reason, const char *help)
{
    return (struct plan_remark){HUTCH_HOST_WEAKER, reason, help};
}

static struct plan_remark missing(const char *reason, const char *help)
{
    return (struct plan_remark){HUTCH_HOST_MISSING, reason, help};
}

static struct plan_remark remark_on_landlock(const struct plan *plan)
{
    if (plan->landlock_abi >= SYS_LANDLOCK_NEWEST)
        return nothing;
    if (plan->landlock_abi > 0)
        return weaker("an old version: from 6 on it also keeps signals and abstract sockets inside",
                      "Linux 6.12 or newer");
    if (sys_landlock_abi() == -EOPNOTSUPP)
        return missing("Landlock is switched off on this kernel",
                       "add landlock to the list lsm= of the kernel's parameters");
    return missing("this kernel has no Landlock",
                   "Linux 5.13 or newer, built with it; in a container, a seccomp profile that "
                   "lets its calls pass");
}

/* ---- Control groups ---- */

#define DELEGATE                                                                                   \
    "have the controllers memory, pids and cpu delegated to this user (Delegate= of systemd)"

static struct plan_remark remark_on_lack(enum plan_cgroup_lack lack)
{
    switch (lack) {
    case CGROUP_LACKS_WRITABLE:
        return missing("control groups are mounted read-only, as in a container",
                       "give the container a writable /sys/fs/cgroup");
    case CGROUP_LACKS_RIGHTS:
        return missing("this process is in another user's control group",
                       "log in through systemd with cgroup v2, or have a group given to this user");
    case CGROUP_LACKS_CONTROLLERS:
        return missing("control groups can be made, but none that keeps a limit", DELEGATE);
    case CGROUP_LACKS_MANAGER:
        return missing("the user's systemd could make a control group, but its socket is not found",
                       "set XDG_RUNTIME_DIR to /run/user/UID, as a login does");
    default:
        return missing("there are no control groups at /sys/fs/cgroup",
                       "mount cgroup2 at /sys/fs/cgroup");
    }
}

static struct plan_remark remark_on_cgroup(const struct plan *plan)
{
    static const struct plan_remark by_systemd = {
        HUTCH_HOST_OK, "the user's systemd makes it, which takes some milliseconds", NULL};

    if (plan->cgroup.version == 0)
        return remark_on_lack(plan->cgroup.lack);
    if (plan_sampled_limit(plan) || plan->limits.cpus_means == MEANS_AFFINITY)
        return weaker("it lacks a controller", DELEGATE);
    return plan->cgroup.unit ? by_systemd : nothing;
}

/* ---- Limits ---- */

static struct plan_remark remark_on_limit(const struct plan *plan, const struct plan_limit_row *row)
{
    /* Not even with a control group is there more than that. */
    static const struct plan_remark on_disk = {
        HUTCH_HOST_OK, "growth is measured: a little more can be written",
        "a workspace in memory has an exact size (-w tmpfs)"};
    const char *group = remark_on_cgroup(plan).help;

    if (row->means == MEANS_AFFINITY)
        return weaker("whole processors only: nothing shares them out", group);
    if (row->means != MEANS_SAMPLED)
        return nothing;
    if (str_eq(row->name, "disk"))
        return on_disk;
    return weaker("looked at every few ms: no control group keeps it", group);
}

struct plan_remark plan_remark_on(const struct plan *plan, const char *fact)
{
    struct plan_limit_row limits[PLAN_LIMIT_ROWS];

    if (str_eq(fact, "landlock"))
        return remark_on_landlock(plan);
    if (str_eq(fact, "cgroup"))
        return remark_on_cgroup(plan);
    if (str_eq(fact, "nodump"))
        return nothing; /* or there would be no plan */
    plan_limit_rows(plan, limits);
    for (size_t i = 0; i < PLAN_LIMIT_ROWS; i++)
        if (str_eq(fact, limits[i].name))
            return remark_on_limit(plan, &limits[i]);
    return (struct plan_remark){HUTCH_HOST_UNKNOWN, NULL, NULL};
}
