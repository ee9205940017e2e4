/* SPDX-License-Identifier: Apache-2.0 */
/* Init's beginning, from outside: cloned into its namespaces and its group, given its ids, let go on. */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "backend/native/describe.h"
#include "backend/native/engine.h"
#include "backend/native/init.h"
#include "backend/native/unit.h"
#include "base/err.h"
#include "base/fd.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/clone.h"
#include "sys/message.h"
#include "sys/process.h"

/* Map init's ids and let it go on. */
static int map_ids(const struct native *native, pid_t pid, struct hutch_error *err)
{
    const struct plan_identity *identity = &native->plan->identity;
    const struct sys_idmap map = {
        .uid_inside = identity->uid,
        .uid_outside = identity->host_uid,
        .gid_inside = identity->gid,
        .gid_outside = identity->host_gid,
    };

    int r = sys_ids_map(pid, &map, !identity->privileged);
    if (r < 0)
        return native_describe_setup(native->plan, STEP_IDS, 0, -r, err);
    const struct proto_request mapped = {.type = PROTO_MAPPED};
    r = sys_message_send(native->base.events_fd, &mapped, sizeof mapped, NULL, 0);
    return r < 0 ? err_sys(err, r, "ids", "cannot talk to the sandbox's first process") : 0;
}

/* Into its group at once, where there is one. */
static int clone_process(const struct native *native, uint64_t flags, int *ret_pidfd)
{
    int cgroup = native_cgroup_clone_fd(&native->cgroup);
    int pid = cgroup < 0 ? -ENOSYS : sys_clone_into(flags, cgroup, ret_pidfd);

    if (pid != -ENOSYS)
        return pid;
    pid = sys_clone_namespaces(flags, ret_pidfd);
    if (pid <= 0 || cgroup < 0)
        return pid;
    /* Slowly, then, but before it is let go on. When that fails it sees the end of the socket. */
    int r = sys_cgroup_write_number(cgroup, "cgroup.procs", (uint64_t)pid);
    if (r == 0)
        return pid;
    sys_pidfd_kill(*ret_pidfd, SIGKILL);
    struct sys_exit ended;
    sys_pidfd_wait(*ret_pidfd, true, &ended);
    fd_close(ret_pidfd);
    return r;
}

int native_clone_init(struct native *native, int *trees, struct hutch_error *err)
{
    /* And the network, made by the first command's process (see spawn.c). */
    const uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                           CLONE_NEWUTS | CLONE_NEWCGROUP;
    int pair[2];
    int pidfd = -1;
    fd_auto int self = sys_pidfd_open(getpid());
    if (self < 0)
        return err_sys(err, self, "clone", "cannot open a pidfd of this process");

    int r = sys_message_pair(pair);
    if (r < 0)
        return err_sys(err, r, "clone", "cannot create a socket pair");
    const struct init_args args = {
        .plan = native->plan,
        .trees = trees,
        .sock = pair[1],
        .engine_pidfd = self,
        .started_ns = sys_clock_ns(CLOCK_MONOTONIC),
        .spare = native->spare,
    };

    int pid = clone_process(native, flags, &pidfd);
    if (pid == 0)
        init_main(&args);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return native_describe_setup(native->plan, STEP_CLONE, 0, -pid, err);
    }
    native->base.events_fd = pair[0];
    native->base.exit_fd = pidfd;
    /* It waits for its ids, so that nothing has been used yet of what is limited. */
    if (native->plan->cgroup.unit) {
        r = native_unit_start(&native->cgroup, native->plan, pid, err);
        if (r < 0)
            return r;
    }
    return map_ids(native, pid, err);
}
