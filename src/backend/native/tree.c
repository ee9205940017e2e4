/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/path.h"
#include "sys/procstat.h"
#include "sys/ret.h"

/* Forks that race with the kill are met by the next pass. */
#define PASSES_MAX 256
#define ANCESTORS_MAX 64

static bool is_known(const struct tree_seen *seen, pid_t leader, pid_t pid, uint64_t start)
{
    for (size_t i = 0; seen && i < seen->count; i++)
        if (seen->members[i].leader == leader && seen->members[i].pid == pid &&
            seen->members[i].start == start)
            return true;
    return false;
}

/* Whether the process of `stat` is the leader's: itself, in its session, descended from it or from one known. */
static bool is_of(int proc, pid_t pid, struct sys_procstat stat, pid_t leader,
                  const struct tree_seen *seen)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (pid == leader || stat.session == leader ||
            is_known(seen, leader, pid, stat.start_ticks))
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

/* All are found before one is signalled: the end of a parent cuts its children off. */
static size_t collect(int proc, pid_t leader, const struct tree_seen *seen,
                      struct tree_member ret[TREE_SEEN_MAX])
{
    struct sys_proclist list;
    struct sys_procstat stat;
    size_t count = 0;
    int pid;

    if (sys_proclist_open(&list, proc, ".") < 0)
        return 0;
    while (count < TREE_SEEN_MAX && sys_proclist_next(&list, &pid) > 0)
        if (pid > 1 && sys_procstat_read(proc, pid, &stat) == 0 && !has_ended(&stat) &&
            is_of(proc, pid, stat, leader, seen))
            ret[count++] = (struct tree_member){leader, pid, stat.start_ticks};
    sys_proclist_close(&list);
    return count;
}

static void remember(struct tree_seen *seen, const struct tree_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (seen->count < TREE_SEEN_MAX &&
            !is_known(seen, members[i].leader, members[i].pid, members[i].start))
            seen->members[seen->count++] = members[i];
}

void tree_signal(pid_t leader, int signal, struct tree_seen *seen)
{
    struct tree_member members[TREE_SEEN_MAX];
    fd_auto int proc = sys_open("/proc", O_PATH | O_DIRECTORY);

    if (proc < 0) { /* then at least these */
        kill(-leader, signal);
        return;
    }
    for (int i = 0; i < PASSES_MAX; i++) {
        size_t count = collect(proc, leader, seen, members);
        remember(seen, members, count);
        for (size_t k = 0; k < count; k++) {
            kill(members[k].pid, signal);
            if (signal != SIGKILL)
                kill(members[k].pid, SIGCONT);
        }
        if (count == 0 || signal != SIGKILL)
            return;
    }
}

static bool was_signalled(const struct tree_seen *seen, pid_t leader)
{
    for (size_t i = 0; i < seen->count; i++)
        if (seen->members[i].leader == leader)
            return true;
    return false;
}

void tree_end(struct tree_seen *seen, pid_t leader)
{
    size_t kept = 0;

    if (!was_signalled(seen, leader))
        return;
    tree_signal(leader, SIGKILL, seen);
    /* Its pid may become another's. */
    for (size_t i = 0; i < seen->count; i++)
        if (seen->members[i].leader != leader)
            seen->members[kept++] = seen->members[i];
    seen->count = kept;
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
        if (pid > 1 && sys_procstat_read(proc, pid, &stat) == 0 &&
            is_of(proc, pid, stat, leader, NULL))
            ticks += stat.user_ticks + stat.system_ticks + stat.waited_user + stat.waited_system;
    sys_proclist_close(&list);
    if (r == 0)
        *ret = ticks;
    return r;
}
