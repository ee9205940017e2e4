/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/path.h"

#define NAME_MOST 128

int sys_sysctl_read(const char *name, char *out, size_t size)
{
    char path[NAME_MOST] = "/proc/sys/";
    size_t used = strlen(path);
    size_t len = strlen(name);

    if (used + len >= sizeof path)
        return -ENAMETOOLONG;
    memcpy(path + used, name, len + 1);
    fd_auto int fd = sys_open(path, O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t got = read(fd, out, size - 1);
    if (got < 0)
        return -errno;
    if (got == 0)
        return -ENODATA;
    out[got] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return 0;
}
