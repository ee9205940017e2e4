/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/clone.h"
#include "sys/raw.h"

/* A group is busy for as long as init takes for its last work. What stays after that is swept by a later engine. */
#define TRIES_MAX 14 /* 1, 2, 4 ms ... 16 s in all */

/* ---- In the janitor: calls without libc, whose errno is the engine's ---- */

/* In order, so that what lies between them can be closed. */
static void sort(int *fds, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && fds[k] < fds[k - 1]; k--) {
            int fd = fds[k];
            fds[k] = fds[k - 1];
            fds[k - 1] = fd;
        }
}

/* Who reads from a pipe of the engine's waits for the end of all who could write to it. */
static void close_others(const struct janitor *janitor)
{
    int keep[CONTROLLER_COUNT];
    size_t count = 0;
    unsigned next = 0;

    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        if (janitor->parents[i] >= 0)
            keep[count++] = janitor->parents[i];
    sort(keep, count);
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)keep[i] > next)
            SYS_RAW(K_SYS_close_range, next, keep[i] - 1, 0);
        next = (unsigned)keep[i] + 1;
    }
    SYS_RAW(K_SYS_close_range, next, ~0U, 0);
}

/* The pid is the engine's as long as that is our parent. Where it cannot be waited for, it is looked for. */
static void wait_for_engine(const struct janitor *janitor)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    struct pollfd engine = {.fd = (int)SYS_RAW(K_SYS_pidfd_open, janitor->engine, 0),
                            .events = POLLIN};

    while (SYS_RAW(SYS_getppid, 0) == janitor->engine) {
        long r = engine.fd < 0 ? engine.fd : SYS_RAW(SYS_ppoll, &engine, 1, NULL, NULL, 0);
        if (r > 0)
            return;
        SYS_RAW(SYS_nanosleep, &pause, NULL);
    }
}

/* Whether none is left. */
static bool remove_groups(const struct janitor *janitor)
{
    bool done = true;

    for (size_t i = 0; i < CONTROLLER_COUNT; i++) {
        int parent = janitor->parents[i];
        long r = parent < 0 ? 0 : SYS_RAW(SYS_unlinkat, parent, janitor->group, AT_REMOVEDIR);
        done = done && (r == 0 || r == -ENOENT || r == -ENODEV);
    }
    return done;
}

SYS_OWN_STACK static int janitor_main(void *arg)
{
    const struct janitor *janitor = arg;
    struct timespec pause = {.tv_nsec = 1000000};

    close_others(janitor);
    /*
     * Out of the group that a terminal, or who wants the engine gone, sends signals to. A session of its own
     * would do no more, and take the kernel longer: the scheduler has a group for each.
     */
    SYS_RAW(SYS_setpgid, 0, 0);
    SYS_RAW(SYS_prctl, PR_SET_NAME, "hutch-janitor");
    wait_for_engine(janitor);
    for (int i = 0; i < TRIES_MAX && !remove_groups(janitor); i++) {
        SYS_RAW(SYS_nanosleep, &pause, NULL);
        pause.tv_nsec *= 2;
        pause.tv_sec += pause.tv_nsec / 1000000000;
        pause.tv_nsec %= 1000000000;
    }
    SYS_RAW(SYS_exit, 0);
    return 0;
}

/* ---- In the engine ---- */

int janitor_start(struct janitor *janitor, const struct plan *plan, struct hutch_error *err)
{
    if (plan->cgroup.version == 0 || plan->cgroup.unit)
        return 0;
    janitor->engine = getpid();
    native_cgroup_name(plan, janitor->group);
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        janitor->parents[i] = plan->cgroup.parent[i];

    int r = sys_beside_start(janitor_main, janitor, janitor->stack, sizeof janitor->stack, 0);
    if (r < 0)
        return err_sys(err, r, "cgroup", "cannot start the process that removes control groups");
    janitor->pid = r;
    return 0;
}

void janitor_dismiss(struct janitor *janitor)
{
    if (janitor->pid <= 0)
        return;
    kill(janitor->pid, SIGKILL);
    sys_beside_wait(janitor->pid);
    janitor->pid = 0;
}
