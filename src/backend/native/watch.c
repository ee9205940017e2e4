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
#include "base/num.h"
#include "sys/clock.h"
#include "sys/dirent.h"
#include "sys/path.h"
#include "sys/procfs.h"
#include "sys/ret.h"

/* Whoever nests deeper, or makes more than can be removed in time, keeps it, under a name that means nothing. */
#define REMOVE_DEPTH 32
#define REMOVE_MS 20        /* at a time: others wait for init */
#define REMOVE_LAST_MS 5000 /* when nothing runs any more */
#define POLL_MS 10

/* ---- Removing ---- */

static void remove_tree(int dir, const char *name, int depth, uint64_t until_ns);

static bool is_late(uint64_t until_ns)
{
    return sys_clock_ns(CLOCK_MONOTONIC) > until_ns;
}

static void remove_entries(int dir, int depth, uint64_t until_ns)
{
    _Alignas(struct sys_dirent) char buffer[2048];
    long got;

    while ((got = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < got;) {
            const struct sys_dirent *entry = (const struct sys_dirent *)(buffer + at);
            at += entry->len;
            if (is_late(until_ns))
                return;
            if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
                remove_tree(dir, entry->name, depth, until_ns);
        }
    }
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

static void remove_tree(int dir, const char *name, int depth, uint64_t until_ns)
{
    if (unlinkat(dir, name, 0) == 0 || depth > REMOVE_DEPTH)
        return;
    fd_auto int path = sys_open_beneath(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (path >= 0)
        reopen(path);
    fd_auto int child = sys_open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (child >= 0)
        remove_entries(child, depth + 1, until_ns);
    if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
        errno = 0; /* there is more, or it was filled again meanwhile */
}

/* ---- What was moved out of the way ---- */

static void put_remains_name(const struct watch *watch, unsigned number,
                             char out[WATCH_REMAINS_NAME])
{
    static const char prefix[] = ".hutch-undone-";
    char *end = out + sizeof prefix - 1;

    memcpy(out, prefix, sizeof prefix - 1);
    memcpy(end, watch->plan->id, sizeof watch->plan->id - 1);
    end += sizeof watch->plan->id - 1;
    *end++ = '-';
    *num_put(end, number, 10) = '\0';
}

/*
 * To be removed in time; where no more can be remembered, it stays. Not by a copy of the descriptor: with
 * the first one that is closed the directory is watched no more.
 */
static void remember(struct watch *watch, int dir, const char *name)
{
    int fd = ret_errno(openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));

    if (fd < 0 || watch->remains_count == WATCH_REMAINS) {
        fd_close(&fd);
        return;
    }
    struct watch_remains *remains = &watch->remains[watch->remains_count++];
    remains->dir = fd;
    memcpy(remains->name, name, WATCH_REMAINS_NAME);
}

static void remove_remains(struct watch *watch, unsigned budget_ms)
{
    uint64_t until_ns = sys_clock_ns(CLOCK_MONOTONIC) + budget_ms * UINT64_C(1000000);
    size_t kept = 0;

    for (size_t i = 0; i < watch->remains_count; i++) {
        struct watch_remains *remains = &watch->remains[i];
        struct stat st;
        if (!is_late(until_ns))
            remove_tree(remains->dir, remains->name, 0, until_ns);
        if (fstatat(remains->dir, remains->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            watch->remains[kept++] = *remains;
        else
            fd_close(&remains->dir);
    }
    watch->remains_count = kept;
}

/* ---- Looking ---- */

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
 * Out of the way at once, by one rename that nobody can outrun; it is removed when there is time. The name
 * cannot be guessed, so that nothing is there. When even that fails nothing may go on.
 */
static void undo(struct watch *watch, int dir, const char *name)
{
    char away[WATCH_REMAINS_NAME];

    if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return;
    if (errno == EACCES)
        reopen(dir);
    put_remains_name(watch, watch->remains_number++, away);
    if (renameat(dir, name, dir, away) == 0) {
        remember(watch, dir, away);
    } else if (errno != ENOENT) {
        kill(-1, SIGKILL);
        remove_tree(dir, name, 0, UINT64_MAX);
    }
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

/* 1, 0 or -errno. */
static int is_watched(const struct watch *watch, int dir)
{
    struct stat st;
    struct stat other;

    if (fstat(dir, &st) < 0)
        return -errno;
    for (size_t i = 0; i < watch->count; i++) {
        if (fstat(watch->directories[i], &other) < 0)
            return -errno;
        if (other.st_dev == st.st_dev && other.st_ino == st.st_ino)
            return 1;
    }
    return 0;
}

/*
 * By dnotify, the old way: the end of an inotify descriptor waits for a grace period of the kernel,
 * ten milliseconds that every run would pay. Its marks end with the directory's descriptor.
 */
static int notify_of(int dir)
{
    return ret_errno(fcntl(dir, F_NOTIFY, DN_CREATE | DN_RENAME | DN_DELETE | DN_MULTISHOT));
}

static void watch_take(struct watch *watch, int *fd)
{
    if (*fd < 0 || watch->count == WATCH_DIRECTORIES || notify_of(*fd) < 0)
        watch->polls = true;
    else
        watch->directories[watch->count++] = fd_take(fd);
}

static void watch_directory(struct watch *watch, int dir)
{
    int r = watch->polls ? 1 : is_watched(watch, dir);

    if (r > 0)
        return;
    fd_auto int fd = ret_errno(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    watch_take(watch, &fd);
}

int watch_add(struct watch *watch, int *fd)
{
    int r = *fd < 0 ? 0 : is_watched(watch, *fd);

    if (r == 0)
        watch_take(watch, fd);
    return r < 0 ? r : 0;
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
            undo(watch, dir, name);
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
    fd_auto int root = sys_open("/", O_PATH | O_DIRECTORY);

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
        watch->polls = watch->polls || notify_of(fd) < 0;
    }
    return 0;
}

static void look_at_all(struct watch *watch)
{
    size_t start = 0;

    for (size_t i = 0; i < watch->plan->watch_count; i++) {
        if (i > 0 && !shares_directory(watch->plan, i))
            start++;
        look_below(watch, &watch->plan->watches[i], watch->directories[start]);
    }
}

void watch_look(struct watch *watch)
{
    look_at_all(watch);
    if (watch->remains_count > 0)
        remove_remains(watch, REMOVE_MS);
}

void watch_end(struct watch *watch)
{
    look_at_all(watch);
    if (watch->remains_count > 0)
        remove_remains(watch, REMOVE_LAST_MS);
}

int watch_timeout(const struct watch *watch)
{
    return watch->polls || watch->remains_count > 0 ? POLL_MS : -1;
}
