/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/path.h"

int sys_maps_open(struct sys_maps *maps)
{
    maps->at = 0;
    maps->len = 0;
    maps->fd = sys_open("/proc/self/maps", O_RDONLY);
    return maps->fd < 0 ? maps->fd : 0;
}

void sys_maps_close(struct sys_maps *maps)
{
    fd_close(&maps->fd);
}

/* Move what is left of the text to its beginning, and add to it. Returns as read() does, or -errno. */
static ssize_t read_on(struct sys_maps *maps)
{
    maps->len -= maps->at;
    memmove(maps->text, maps->text + maps->at, maps->len);
    maps->at = 0;
    if (maps->len == sizeof maps->text)
        return -EOVERFLOW;
    ssize_t got = read(maps->fd, maps->text + maps->len, sizeof maps->text - maps->len);
    if (got < 0)
        return -errno;
    maps->len += (size_t)got;
    return got;
}

/* The end of a number; NULL when there is none. */
static const char *take_hex(const char *at, uintptr_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    const char *first = at;
    const char *digit;

    *ret = 0;
    while (*at && (digit = strchr(digits, *at))) {
        *ret = *ret << 4 | (uintptr_t)(digit - digits);
        at++;
    }
    return at > first ? at : NULL;
}

/* The field after this one, or the end. */
static const char *skip_field(const char *at)
{
    at += strcspn(at, " ");
    return at + strspn(at, " ");
}

/* "start-end rights offset device inode name" */
static int parse(const char *line, struct sys_mapping *ret)
{
    const char *at = take_hex(line, &ret->start);

    if (!at || *at != '-')
        return -EBADMSG;
    at = take_hex(at + 1, &ret->end);
    if (!at || *at != ' ')
        return -EBADMSG;
    const char *rights = at + 1;
    const char *inode = skip_field(skip_field(skip_field(rights)));
    const char *name = skip_field(inode);
    ret->memory = str_starts(rights, "rw-p ") && str_starts(inode, "0") &&
                  (!*name || str_eq(name, "[heap]") || str_starts(name, "[anon:")) &&
                  (inode[1] == ' ' || inode[1] == '\0');
    return 1;
}

int sys_maps_next(struct sys_maps *maps, struct sys_mapping *ret)
{
    for (;;) {
        char *line = maps->text + maps->at;
        char *end = memchr(line, '\n', maps->len - maps->at);

        if (end) {
            *end = '\0';
            maps->at = (size_t)(end + 1 - maps->text);
            return parse(line, ret);
        }
        ssize_t got = read_on(maps);
        if (got <= 0)
            return (int)got;
    }
}
