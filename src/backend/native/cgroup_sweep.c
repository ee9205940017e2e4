/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups that killed engines left behind. */
#include "backend/native/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/cgroup.h"

/* No engine takes so long from making a group to locking it. */
#define SWEEP_AGE_S 10

/* One sweep ends some time, whatever it finds; the next goes on. */
#define SWEEP_MOST 64

bool native_cgroup_is_ours(const char *name, const char *suffix)
{
    const size_t prefix = strlen(NATIVE_CGROUP_PREFIX);
    const size_t id = sizeof((struct plan *)0)->id - 1;

    return str_starts(name, NATIVE_CGROUP_PREFIX) &&
           strspn(name + prefix, "abcdefghijklmnopqrstuvwxyz0123456789") == id &&
           str_eq(name + prefix + id, suffix);
}

/*
 * The kernel gives a directory the time at which it was first looked at, which is never before it was
 * made. That it is empty needs no look: it cannot be removed otherwise.
 */
static bool sweep_one(int parent, const char *name)
{
    struct stat st;
    fd_auto int dir = sys_cgroup_open(parent, name);

    if (dir < 0 || fstat(dir, &st) < 0 || time(NULL) - st.st_mtime <= SWEEP_AGE_S)
        return false;
    return sys_cgroup_lock(dir) == 0 && sys_cgroup_remove(parent, name) == 0;
}

static void sweep_parent(int parent)
{
    struct stat st;
    int removed = 0;

    /* Two links and one for each group in it: when there is none but ours, nothing is listed. */
    if (fstat(parent, &st) < 0 || st.st_nlink <= 3)
        return;
    int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!list) {
        fd_close(&fd);
        return;
    }
    for (struct dirent *entry; removed < SWEEP_MOST && (entry = readdir(list));)
        if (native_cgroup_is_ours(entry->d_name, ""))
            removed += sweep_one(parent, entry->d_name);
    closedir(list);
}

void native_cgroup_sweep(const struct native_cgroup *cgroup)
{
    for (size_t i = 0; cgroup->where && i < CONTROLLER_COUNT; i++)
        if (cgroup->where->parent[i] >= 0)
            sweep_parent(cgroup->where->parent[i]);
}
