/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/ids.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/clone.h"
#include "sys/path.h"
#include "sys/raw.h"
#include "sys/ret.h"

static int write_file(int dir, const char *name, const char *text)
{
    fd_auto int fd = ret_errno(openat(dir, name, O_WRONLY | O_CLOEXEC));
    if (fd < 0)
        return fd;

    ssize_t len = (ssize_t)strlen(text);
    ssize_t done = write(fd, text, (size_t)len);
    if (done < 0)
        return -errno;
    return done == len ? 0 : -EIO;
}

static int open_proc(pid_t pid)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return sys_open(path, O_PATH | O_DIRECTORY);
}

static int write_maps(int proc, const struct sys_idmap *map, bool deny_setgroups)
{
    char line[64];
    int r = deny_setgroups ? write_file(proc, "setgroups", "deny") : 0;
    if (r < 0)
        return r;

    snprintf(line, sizeof line, "%u %u 1", map->gid_inside, map->gid_outside);
    r = write_file(proc, "gid_map", line);
    if (r < 0)
        return r;
    snprintf(line, sizeof line, "%u %u 1", map->uid_inside, map->uid_outside);
    return write_file(proc, "uid_map", line);
}

int sys_ids_map(pid_t pid, const struct sys_idmap *map, bool deny_setgroups)
{
    fd_auto int proc = open_proc(pid);
    if (proc < 0)
        return proc;
    return write_maps(proc, map, deny_setgroups);
}

SYS_OWN_STACK static int end_at_once(void *arg)
{
    (void)arg;
    SYS_RAW(SYS_exit, 0);
    return 0;
}

int sys_ids_namespace(const struct sys_idmap *map, struct sys_ids_holder *holder)
{
    /* It shares our descriptors too: nothing to copy. */
    int pid = sys_beside_start(end_at_once, NULL, holder->stack, sizeof holder->stack,
                               CLONE_FILES | CLONE_NEWUSER);

    holder->pid = pid < 0 ? 0 : pid;
    if (pid < 0)
        return pid;
    fd_auto int proc = open_proc(pid);
    int r = proc < 0 ? proc : write_maps(proc, map, false);
    return r < 0 ? r : ret_errno(openat(proc, "ns/user", O_RDONLY | O_CLOEXEC));
}

void sys_ids_release(struct sys_ids_holder *holder)
{
    if (holder->pid > 0)
        sys_beside_wait(holder->pid);
    holder->pid = 0;
}

/* Raw calls: libc's versions change every thread of the process, and this one has no others. */
int sys_ids_become(uid_t uid, gid_t gid, bool drop_groups)
{
    int r = drop_groups ? ret_errno(syscall(SYS_setgroups, 0, NULL)) : 0;
    if (r < 0)
        return r;
    r = ret_errno(syscall(SYS_setresgid, gid, gid, gid));
    if (r < 0)
        return r;
    return ret_errno(syscall(SYS_setresuid, uid, uid, uid));
}
