/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/procstat.h"
#include "sys/ret.h"

/* Forks that race with the kill are met by the next pass. */
#define PASSES_MAX 256
#define ANCESTORS_MAX 64

/* Whether the process of `stat` is the leader's: itself, in its session, or descended from it. */
static bool is_of(int proc, pid_t pid, struct sys_procstat stat, pid_t leader)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (pid == leader || stat.session == leader)
            return true;
        pid = stat.parent;
        if (sys_procstat_read(proc, pid, &stat) < 0)
            return false;
    }
    return false;
}

/* A process whose first thread has ended may have others, which live. */
static bool has_ended(const struct sys_procstat *stat)
{
    return stat->ending && stat->threads <= 1;
}

/* Returns how many were signalled that had not ended. */
static unsigned pass(int proc, pid_t leader, int signal)
{
    struct sys_proclist list;
    struct sys_procstat stat;
    unsigned count = 0;
    int pid;

    if (sys_proclist_open(&list, proc, ".") < 0)
        return 0;
    while (sys_proclist_next(&list, &pid) > 0) {
        if (pid <= 1 || sys_procstat_read(proc, pid, &stat) < 0 || has_ended(&stat) ||
            !is_of(proc, pid, stat, leader))
            continue;
        count += kill(pid, signal) == 0;
        if (signal != SIGKILL)
            kill(pid, SIGCONT);
    }
    sys_proclist_close(&list);
    return count;
}

void tree_signal(pid_t leader, int signal)
{
    fd_auto int proc = ret_errno(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));

    if (proc < 0) { /* then at least these */
        kill(-leader, signal);
        return;
    }
    for (int i = 0; i < PASSES_MAX; i++)
        if (pass(proc, leader, signal) == 0 || signal != SIGKILL)
            return;
}

int tree_cpu_ticks(int proc, pid_t leader, uint64_t *ret)
{
    struct sys_proclist list;
    struct sys_procstat stat;
    uint64_t ticks = 0;
    int pid;
    int r = sys_proclist_open(&list, proc, ".");

    if (r < 0)
        return r;
    while ((r = sys_proclist_next(&list, &pid)) > 0)
        if (pid > 1 && sys_procstat_read(proc, pid, &stat) == 0 && is_of(proc, pid, stat, leader))
            ticks += stat.user_ticks + stat.system_ticks + stat.waited_user + stat.waited_system;
    sys_proclist_close(&list);
    if (r == 0)
        *ret = ticks;
    return r;
}
