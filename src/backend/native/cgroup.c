/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "sys/cgroup.h"
#include "sys/path.h"
#include "sys/ret.h"

/* ---- Making ---- */

/* What errno does not say of a group that cannot be made. */
static const char *why_not_made(int r)
{
    switch (r) {
    case -EAGAIN: return " (cgroup.max.descendants or cgroup.max.depth allows no more)";
    case -ENOSPC: return " (the kernel has no room for more groups)";
    case -ENOENT:
    case -ENODEV: return " (the group it was to be made in is gone)";
    case -EROFS: return " (the hierarchy is mounted read-only)";
    default: return "";
    }
}

static const char *hierarchy(const struct native_cgroup *cgroup, size_t i)
{
    return cgroup->where->version == 2 ? "v2" : plan_controller_name(i);
}

/* The lock comes right after the group itself; until then its age protects it (see cgroup_sweep.c). */
static int make_group(struct native_cgroup *cgroup, size_t i, struct hutch_error *err)
{
    int parent = cgroup->where->parent[i];
    int r = cgroup->made[i] ? 0 : sys_cgroup_make(parent, cgroup->name);

    if (r < 0)
        return err_sys(err, r, "cgroup", "cannot make the control group '%s' (%s)%s", cgroup->name,
                       hierarchy(cgroup, i), why_not_made(r));
    cgroup->made[i] = true;
    r = cgroup->dir[i] = sys_cgroup_open(parent, cgroup->name);
    if (r >= 0)
        r = sys_cgroup_lock(cgroup->dir[i]);
    return r < 0 ? err_sys(err, r, "cgroup", "cannot lock the control group '%s' (%s)",
                           cgroup->name, hierarchy(cgroup, i))
                 : 0;
}

static bool is_same_directory(int a, int b)
{
    struct stat one;
    struct stat other;

    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* v1 controllers that are mounted together ("cpu,cpuacct") have one group. */
static int find_shared(const struct native_cgroup *cgroup, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (cgroup->made[j] &&
            is_same_directory(cgroup->where->parent[j], cgroup->where->parent[i]))
            return (int)j;
    return -1;
}

/*
 * In v1 the group that only counts CPU time can come later, when the command has run for a moment: most
 * are over by then, and who waits for them knows what they used. The one of memory says who to move.
 */
static bool comes_later(const struct native_cgroup *cgroup, size_t i)
{
    return cgroup->where->version == 1 && i == CONTROLLER_CPUACCT &&
           cgroup->where->parent[CONTROLLER_MEMORY] >= 0 && find_shared(cgroup, i) < 0;
}

static int make_groups(struct native_cgroup *cgroup, struct hutch_error *err)
{
    for (size_t i = 0; i < CONTROLLER_COUNT; i++) {
        if (cgroup->where->parent[i] < 0)
            continue;
        if (comes_later(cgroup, i)) {
            cgroup->later = true;
            continue;
        }
        int shared = find_shared(cgroup, i);
        int r;
        if (shared < 0) {
            r = make_group(cgroup, i, err);
        } else {
            r = cgroup->dir[i] = sys_dup(cgroup->dir[shared], 3);
            if (r < 0)
                err_sys(err, r, "cgroup", "cannot copy a descriptor");
        }
        if (r < 0)
            return r;
    }
    return 0;
}

void native_cgroup_name(const struct plan *plan, char out[NATIVE_CGROUP_NAME_MAX])
{
    snprintf(out, NATIVE_CGROUP_NAME_MAX, NATIVE_CGROUP_PREFIX "%s", plan->id);
}

static void begin(struct native_cgroup *cgroup, const struct plan *plan)
{
    *cgroup = (struct native_cgroup){.where = &plan->cgroup,
                                     .memory_limit = plan->limits.memory_bytes,
                                     .ours = 1 + plan->lasting};
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        cgroup->dir[i] = -1;
    for (size_t i = 0; i < CGROUP_FILE_COUNT; i++)
        cgroup->files[i] = -1;
    native_cgroup_name(plan, cgroup->name);
}

void native_cgroup_adopt(struct native_cgroup *cgroup, const struct plan *plan, int *dir)
{
    begin(cgroup, plan);
    cgroup->dir[0] = fd_take(dir);
}

int native_cgroup_make(struct native_cgroup *cgroup, const struct plan *plan,
                       struct hutch_error *err)
{
    *cgroup = (struct native_cgroup){0};
    if (plan->cgroup.version == 0 || plan->cgroup.unit)
        return 0;
    begin(cgroup, plan);
    int r = make_groups(cgroup, err);
    if (r == 0)
        r = native_cgroup_set_limits(cgroup, plan, err);
    if (r < 0)
        native_cgroup_clear(cgroup);
    return r;
}

/* ---- Joining ---- */

int native_cgroup_clone_fd(const struct native_cgroup *cgroup)
{
    return cgroup->where && cgroup->where->version == 2 ? cgroup->dir[0] : -1;
}

int native_cgroup_join_fds(const struct native_cgroup *cgroup, int ret[CONTROLLER_COUNT],
                           struct hutch_error *err)
{
    int count = 0;

    if (!cgroup->where || cgroup->where->version != 1)
        return 0;
    for (size_t i = 0; i < CONTROLLER_COUNT; i++) {
        if (!cgroup->made[i])
            continue;
        int r = ret_errno(openat(cgroup->dir[i], "tasks", O_WRONLY | O_CLOEXEC));
        if (r < 0) {
            while (count > 0)
                fd_close(&ret[--count]);
            return err_sys(err, r, "cgroup", "cannot open the control group '%s' (%s)",
                           cgroup->name, hierarchy(cgroup, i));
        }
        ret[count++] = r;
    }
    return count;
}

/* ---- Completing ---- */

/* A fork that races with a move is found by the next look. */
#define MOVES_MAX 64

/* Every process of the list in `from`, each of which `fn` may move. Returns how many there were. */
static int each_process(int from, int (*fn)(int to, uint64_t pid), int to)
{
    char text[4096];
    size_t len = 0;
    int count = 0;
    fd_auto int fd = ret_errno(openat(from, "cgroup.procs", O_RDONLY | O_CLOEXEC));

    if (fd < 0)
        return fd;
    for (;;) {
        ssize_t got = read(fd, text + len, sizeof text - 1 - len);
        if (got < 0)
            return -errno;
        if (got == 0)
            return count;
        len += (size_t)got;
        text[len] = '\0';
        char *line = text;
        for (char *end; (end = strchr(line, '\n')); line = end + 1, count++) {
            uint64_t pid = 0;
            *end = '\0';
            int r = sys_cgroup_number(line, &pid);
            if (r == 0 && fn)
                r = fn(to, pid);
            if (r < 0)
                return r;
        }
        len -= (size_t)(line - text);
        memmove(text, line, len);
    }
}

static int move_process(int to, uint64_t pid)
{
    int r = sys_cgroup_write_number(to, "cgroup.procs", pid);

    return r == -ESRCH ? 0 : r; /* it has ended */
}

int native_cgroup_complete(struct native_cgroup *cgroup)
{
    int from = cgroup->dir[CONTROLLER_MEMORY];

    if (!cgroup->later)
        return 0;
    if (cgroup->dir[CONTROLLER_CPUACCT] < 0) {
        int r = make_group(cgroup, CONTROLLER_CPUACCT, NULL);
        if (r < 0)
            return -EIO;
    }
    int to = cgroup->dir[CONTROLLER_CPUACCT];
    for (int i = 0; i < MOVES_MAX; i++) {
        int r = each_process(from, move_process, to);
        if (r < 0)
            return r;
        int there = each_process(to, NULL, -1);
        r = each_process(from, NULL, -1);
        if (there < 0 || r < 0)
            return there < 0 ? there : r;
        if (there >= r) {
            cgroup->later = false;
            return 1;
        }
    }
    return -EAGAIN;
}

/* ---- Ending ---- */

int native_cgroup_remove(struct native_cgroup *cgroup)
{
    int result = 0;

    for (size_t i = 0; cgroup->where && i < CONTROLLER_COUNT; i++) {
        if (!cgroup->made[i])
            continue;
        int r = sys_cgroup_remove(cgroup->where->parent[i], cgroup->name);
        if (r == 0 || r == -ENOENT || r == -ENODEV)
            cgroup->made[i] = false;
        else if (result == 0)
            result = r;
    }
    return result;
}

void native_cgroup_clear(struct native_cgroup *cgroup)
{
    if (!cgroup->where)
        return;
    native_cgroup_remove(cgroup);
    for (size_t i = 0; i < CGROUP_FILE_COUNT; i++)
        fd_close(&cgroup->files[i]);
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        fd_close(&cgroup->dir[i]);
    *cgroup = (struct native_cgroup){0};
}
