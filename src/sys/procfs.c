/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/procfs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "sys/path.h"
#include "sys/ret.h"

/* "/proc/PID/name". */
static int open_proc(pid_t pid, const char *name, int flags)
{
    char path[SYS_PROC_NAME_MAX + 32] = "/proc/";
    size_t len = strlen(name);

    if (len >= 32)
        return -ENAMETOOLONG;
    char *end = num_put(path + strlen(path), (uint64_t)pid, 10);
    *end++ = '/';
    memcpy(end, name, len + 1);
    return sys_open(path, flags);
}

int sys_proc_read(pid_t pid, const char *name, char *data, size_t size)
{
    fd_auto int fd = open_proc(pid, name, O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t len = read(fd, data, size - 1);
    if (len < 0)
        return -errno;
    data[len] = '\0';
    return (int)len;
}

int sys_proc_open_dir(pid_t pid, const char *name)
{
    return open_proc(pid, name, O_PATH | O_DIRECTORY);
}

void sys_proc_fd_name(int fd, char out[SYS_PROC_NAME_MAX])
{
    static const char prefix[] = "/proc/self/fd/";

    memcpy(out, prefix, sizeof prefix - 1);
    *num_put(out + sizeof prefix - 1, (uint64_t)fd, 10) = '\0';
}
