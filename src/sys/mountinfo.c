/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/mountinfo.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/ret.h"

#define LINE_MAX_BYTES 8192

/* Spaces, tabs, newlines and backslashes are written as \ooo. */
static void unescape(char *text)
{
    char *out = text;

    for (const char *p = text; *p; p++) {
        if (p[0] == '\\' && p[1] && p[2] && p[3]) {
            *out++ = (char)((p[1] & 7U) << 6 | (p[2] & 7U) << 3 | (p[3] & 7U));
            p += 3;
        } else {
            *out++ = *p;
        }
    }
    *out = '\0';
}

/* One line: "id parent major:minor root MOUNTPOINT OPTIONS ...". */
static int tell(char *line, sys_mountinfo_fn *fn, void *arg)
{
    char *field[6];
    char *rest = line;

    for (size_t i = 0; i < ARRAY_LEN(field); i++) {
        field[i] = rest;
        rest = strchr(rest, ' ');
        if (!rest)
            return -EIO;
        *rest++ = '\0';
    }
    unescape(field[4]);
    return fn(arg, &(struct sys_mountinfo){.path = field[4], .options = field[5]});
}

/* All whole lines of `text`; what is left of it moves to its start. */
static int tell_lines(char *text, size_t *len, sys_mountinfo_fn *fn, void *arg)
{
    char *line = text;

    for (char *end = strchr(line, '\n'); end; end = strchr(line, '\n')) {
        *end = '\0';
        int r = tell(line, fn, arg);
        if (r < 0)
            return r;
        line = end + 1;
    }
    *len -= (size_t)(line - text);
    memmove(text, line, *len);
    return 0;
}

int sys_mountinfo_each(sys_mountinfo_fn *fn, void *arg)
{
    char buffer[LINE_MAX_BYTES];
    size_t len = 0;
    fd_auto int fd = ret_errno(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return fd;

    for (;;) {
        ssize_t got = read(fd, buffer + len, sizeof buffer - 1 - len);
        if (got < 0)
            return -errno;
        len += (size_t)got;
        buffer[len] = '\0';
        int r = tell_lines(buffer, &len, fn, arg);
        if (r < 0)
            return r;
        if (got == 0)
            return len ? -EIO : 0;
        if (len == sizeof buffer - 1)
            return -ENAMETOOLONG;
    }
}
