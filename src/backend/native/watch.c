/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/path.h"
#include "sys/procfs.h"
#include "sys/ret.h"

/* Whoever nests deeper keeps the remains, under a name that means nothing. */
#define REMOVE_DEPTH 32
#define POLL_MS 10

static void remove_tree(int dir, const char *name, int depth);

static void remove_entries(int dir, int depth)
{
    struct entry { /* struct linux_dirent64 */
        uint64_t ino;
        int64_t off;
        unsigned short len;
        unsigned char type;
        char name[];
    };
    _Alignas(struct entry) char buffer[2048];
    long got;

    while ((got = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < got;) {
            const struct entry *entry = (const struct entry *)(buffer + at);
            at += entry->len;
            if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
                remove_tree(dir, entry->name, depth);
        }
    }
}

static void reopen(int dir);

static void remove_tree(int dir, const char *name, int depth)
{
    if (unlinkat(dir, name, 0) == 0 || depth > REMOVE_DEPTH)
        return;
    fd_auto int path = sys_open_beneath(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (path >= 0)
        reopen(path);
    fd_auto int child = sys_open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (child >= 0)
        remove_entries(child, depth + 1);
    if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
        errno = 0; /* filled again meanwhile; the next look finds it */
}

/* Its owner may have closed a directory to us, who have no more rights than he has, and as many. */
static void reopen(int dir)
{
    char name[SYS_PROC_NAME_MAX];
    struct stat st;

    sys_proc_fd_name(dir, name); /* works whatever its mode is */
    if (fstat(dir, &st) < 0 || chmod(name, (st.st_mode & 07777) | 0700) < 0)
        errno = 0;
}

static bool is_there(int dir, const char *name, struct stat *ret)
{
    if (fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    if (errno != EACCES)
        return false;
    reopen(dir);
    return fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * Out of the way at once, by one rename that nobody can outrun; then removed. When even that fails
 * nothing may go on.
 */
static void undo(int dir, const char *name)
{
    static const char away[] = ".hutch-undone";

    if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return;
    if (errno == EACCES)
        reopen(dir);
    remove_tree(dir, away, 0);
    if (renameat(dir, name, dir, away) < 0 && errno != ENOENT) {
        kill(-1, SIGKILL);
        remove_tree(dir, name, 0);
        return;
    }
    remove_tree(dir, away, 0);
}

static void tell(struct watch *watch, const struct plan_watch *path)
{
    struct proto_violation violation = {.kind = VIOLATION_PROTECT};
    size_t dir = strnlen(path->directory, sizeof violation.text - 2);
    size_t rest = strnlen(path->rest, sizeof violation.text - 2 - dir);

    memcpy(violation.text, path->directory, dir);
    violation.text[dir] = '/';
    memcpy(violation.text + dir + 1, path->rest, rest);
    watch->report(watch->arg, 0, &violation); /* which run did it, nobody can tell */
}

static bool is_watched(const struct watch *watch, const struct stat *st)
{
    struct stat other;

    for (size_t i = 0; i < watch->count; i++)
        if (fstat(watch->directories[i], &other) == 0 && other.st_dev == st->st_dev &&
            other.st_ino == st->st_ino)
            return true;
    return false;
}

/*
 * By dnotify, the old way: the end of an inotify descriptor waits for a grace period of the kernel,
 * ten milliseconds that every run would pay. Its marks end with the directory's descriptor.
 */
static void watch_directory(struct watch *watch, int dir)
{
    struct stat st;

    if (watch->polls || (fstat(dir, &st) == 0 && is_watched(watch, &st)))
        return;
    fd_auto int fd = ret_errno(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd < 0 || watch->count == WATCH_DIRECTORIES ||
        fcntl(fd, F_NOTIFY, DN_CREATE | DN_RENAME | DN_MULTISHOT) < 0) {
        watch->polls = true;
        return;
    }
    watch->directories[watch->count++] = fd_take(&fd);
}

/* What could not be looked at for want of memory or descriptors is looked at again, and again. */
static void look_failed(struct watch *watch, int r)
{
    if (r != -ENOENT && r != -ENOTDIR && r != -ELOOP)
        watch->polls = true;
}

/*
 * Go down from `start` to where the protected name would be. A directory on the way may come to be,
 * and is watched then; anything else on the way would be another way to that name.
 */
static void look_below(struct watch *watch, const struct plan_watch *path, int start)
{
    fd_auto int below = -1;
    int dir = start;

    for (const char *rest = path->rest; *rest;) {
        char name[256];
        size_t len = strcspn(rest, "/");
        struct stat st;
        if (len >= sizeof name)
            return;
        memcpy(name, rest, len);
        name[len] = '\0';
        rest += len + strspn(rest + len, "/");
        if (!is_there(dir, name, &st)) {
            look_failed(watch, -errno);
            return;
        }
        if (!*rest || !S_ISDIR(st.st_mode)) {
            undo(dir, name);
            tell(watch, path);
            return;
        }
        int next = sys_open_beneath(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        fd_close(&below);
        dir = below = next;
        if (dir < 0) {
            look_failed(watch, dir);
            return;
        }
        watch_directory(watch, dir); /* before the next look: what comes after it is seen */
    }
}

/* Whether watch `i` starts where the one before it does; most are in the workspace. */
static bool shares_directory(const struct plan *plan, size_t i)
{
    return i > 0 && strcmp(plan->watches[i].directory, plan->watches[i - 1].directory) == 0;
}

int watch_open(struct watch *watch, const struct plan *plan)
{
    fd_auto int root = ret_errno(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));

    watch->plan = plan;
    for (size_t i = 0; i < plan->watch_count; i++) {
        if (shares_directory(plan, i))
            continue;
        if (watch->count == WATCH_DIRECTORIES)
            return -E2BIG;
        int fd = sys_open_beneath(root, plan->watches[i].directory + 1, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0)
            return fd;
        watch->directories[watch->count++] = fd;
        watch->polls = watch->polls ||
                       fcntl(fd, F_NOTIFY, DN_CREATE | DN_RENAME | DN_MULTISHOT) < 0;
    }
    return 0;
}

void watch_look(struct watch *watch)
{
    size_t start = 0;

    for (size_t i = 0; i < watch->plan->watch_count; i++) {
        if (i > 0 && !shares_directory(watch->plan, i))
            start++;
        look_below(watch, &watch->plan->watches[i], watch->directories[start]);
    }
}

int watch_timeout(const struct watch *watch)
{
    return watch->polls ? POLL_MS : -1;
}
