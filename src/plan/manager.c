/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the caller's own systemd can be asked for a control group: at its own socket, else by way of
 * the session's message bus. It is only looked for here; nobody is connected to.
 *
 * Variables name these sockets, and a caller who runs hutch by sudo or su may have somebody else's. So
 * one counts only when it is the caller's, in a directory that nobody else can put sockets in.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "plan/passes.h"
#include "sys/cgroup.h"
#include "sys/ret.h"

static bool is_own(int fd, mode_t type)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid();
}

static bool is_closed(int dir)
{
    struct stat st;

    return fstat(dir, &st) == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* -ENOENT, unless `r` is a failure that says nothing about what is there. */
static int not_there(int r)
{
    return r == -ENAMETOOLONG || sys_cgroup_is_absent(r) ? -ENOENT : r;
}

/* `path` is cut at its last slash. */
static int open_own_socket(char *path)
{
    char *slash = strrchr(path, '/');

    if (path[0] != '/' || slash == path)
        return -ENOENT;
    *slash = '\0';
    fd_auto int dir = ret_errno(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (dir < 0)
        return not_there(dir);
    if (!is_own(dir, S_IFDIR) || !is_closed(dir))
        return -ENOENT;
    fd_auto int fd = ret_errno(openat(dir, slash + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0)
        return not_there(fd);
    return is_own(fd, S_IFSOCK) ? fd_take(&fd) : -ENOENT;
}

/* Below XDG_RUNTIME_DIR. */
static int open_runtime(const char *name)
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    char path[PATH_MAX];
    int len = runtime ? snprintf(path, sizeof path, "%s/%s", runtime, name) : -1;

    return len > 0 && (size_t)len < sizeof path ? open_own_socket(path) : -ENOENT;
}

/* "unix:path=/run/user/1000/bus,guid=...;..." Only the first address, and only one without escapes. */
static int open_session_bus(void)
{
    static const char kind[] = "unix:path=";
    const char *address = secure_getenv("DBUS_SESSION_BUS_ADDRESS");
    char path[PATH_MAX];

    if (!address || !str_starts(address, kind))
        return -ENOENT;
    address += sizeof kind - 1;
    size_t len = strcspn(address, ",;");
    if (len >= sizeof path || memchr(address, '%', len))
        return -ENOENT;
    memcpy(path, address, len);
    path[len] = '\0';
    return open_own_socket(path);
}

int plan_find_manager(bool *ret_is_bus)
{
    int fd = open_runtime("systemd/private");

    if (fd != -ENOENT) {
        *ret_is_bus = false;
        return fd;
    }
    fd = open_session_bus();
    if (fd == -ENOENT)
        fd = open_runtime("bus");
    if (fd >= 0)
        *ret_is_bus = true;
    return fd;
}
