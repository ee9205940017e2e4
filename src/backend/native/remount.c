/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mount flags on kernels without mount_setattr (before 5.12): every mount there is, one by one, as
 * the table of mounts lists them. Runs in the new root, when that table shows the sandbox alone and
 * before anything untrusted runs in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/init.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "sys/mount.h"
#include "sys/ret.h"

#define LINE_MAX_BYTES 8192

/* The mount of the plan that governs `path`: the deepest one at or above it, the last of equals. */
static const struct plan_mount *governing(const struct plan *plan, const char *path)
{
    const struct plan_mount *best = NULL;
    size_t best_len = 0;

    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        size_t len = strlen(mount->target);
        if (mount->kind == MOUNT_DIR || mount->kind == MOUNT_FILE || mount->kind == MOUNT_LINK ||
            mount->kind == MOUNT_SEAL)
            continue;
        if (path_is_within(path, mount->target) && (!best || len >= best_len)) {
            best = mount;
            best_len = len;
        }
    }
    return best;
}

static bool is_sealed(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].kind == MOUNT_SEAL && str_eq(plan->mounts[i].target, path))
            return true;
    return false;
}

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

/* Flags the mount has already: a user namespace may not take away what it inherited. */
static unsigned flags_of(const char *options)
{
    static const struct {
        const char *word;
        unsigned flag;
    } words[] = {{"ro", SYS_MOUNT_RDONLY},
                 {"nosuid", SYS_MOUNT_NOSUID},
                 {"nodev", SYS_MOUNT_NODEV},
                 {"noexec", SYS_MOUNT_NOEXEC}};
    unsigned flags = 0;

    while (*options) {
        size_t len = strcspn(options, ",");
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            if (strlen(words[i].word) == len && memcmp(options, words[i].word, len) == 0)
                flags |= words[i].flag;
        options += len + (options[len] == ',');
    }
    return flags;
}

/* One line: "id parent major:minor root MOUNTPOINT OPTIONS ...". */
static int remount_line(const struct plan *plan, char *line)
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
    const struct plan_mount *mount = governing(plan, field[4]);
    if (!mount)
        return -EIO;

    unsigned flags = flags_of(field[5]) | init_mount_flags(mount);
    if (is_sealed(plan, field[4]))
        flags |= SYS_MOUNT_RDONLY;
    /* Covered mounts cannot be named, and cannot be reached either. */
    int r = sys_mount_remount(field[4], flags);
    return r == -EINVAL || r == -ENOENT ? 0 : r;
}

int init_files_remount(const struct plan *plan)
{
    static const char table[] = "/proc/self/mountinfo";
    char buffer[LINE_MAX_BYTES];
    size_t len = 0;
    fd_auto int fd = ret_errno(open(table, O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return fd;

    for (;;) {
        ssize_t got = read(fd, buffer + len, sizeof buffer - 1 - len);
        if (got < 0)
            return -errno;
        len += (size_t)got;
        buffer[len] = '\0';
        char *line = buffer;
        for (char *end = strchr(line, '\n'); end; end = strchr(line, '\n')) {
            *end = '\0';
            int r = remount_line(plan, line);
            if (r < 0)
                return r;
            line = end + 1;
        }
        len -= (size_t)(line - buffer);
        memmove(buffer, line, len);
        if (got == 0)
            return len ? -EIO : 0;
        if (len == sizeof buffer - 1)
            return -ENAMETOOLONG;
    }
}
