/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small sandbox without a sandbox: "@/root" is what is "/" inside, "@/outside" is not to be touched.
 * What the tests do there themselves is plain POSIX.
 */
#pragma once

#include <errno.h>

#include "../scratch.h"
#include "base/arena.h"
#include "work/work.h"

static struct work work;
static struct arena arena;
static struct hutch_error err;
static int fds_before;

/* In memory where that is possible, for tests that need many files or very large ones. */
static inline void inside_make(const char *const *tree)
{
    snprintf(scratch, sizeof scratch, "/dev/shm/hutch-unit-XXXXXX");
    if (!mkdtemp(scratch)) {
        scratch_make(tree);
        return;
    }
    chmod(scratch, 0755);
    for (; *tree; tree++)
        scratch_add(*tree);
}

static inline int inside_setup(void **state)
{
    static const char *const tree[] = {"outside/", "outside/canary", "root/", "root/ws/", NULL};

#ifdef INSIDE_IN_MEMORY
    inside_make(tree);
#else
    scratch_make(tree);
#endif
    fds_before = open_fds();
    arena_init(&arena);
    work = (struct work)WORK_INIT;
    work.cwd = "/ws";
    work.root = open(at("@/root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return work.root < 0 ? -1 : 0;
}

/* Also counts descriptors: no call may leave one behind. */
static inline int inside_teardown(void **state)
{
    fd_close(&work.root);
    arena_clear(&arena);
    int leaked = open_fds() - fds_before;
    return scratch_remove(state) < 0 || leaked != 0 ? -1 : 0;
}

/* The host's path of a path inside. */
static inline const char *host(const char *path)
{
    static char answers[4][PATH_MAX];
    static unsigned next;
    char *out = answers[next++ % 4];

    snprintf(out, PATH_MAX, "%s/root%s%s", scratch, path[0] == '/' ? "" : "/ws/", path);
    return out;
}

static inline void put_bytes(const char *path, const char *data, size_t len)
{
    fd_auto int fd = open(host(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, data, len) != (ssize_t)len)
        fail_msg("cannot write '%s'", path);
}

static inline void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

/* At most 64 KiB. "(none)" when it is not there. */
static inline const char *get(const char *path)
{
    static char data[65537];
    fd_auto int fd = open(host(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t len = fd < 0 ? -1 : read(fd, data, sizeof data - 1);

    if (len < 0)
        return "(none)";
    data[len] = '\0';
    return data;
}

static inline void make_dir(const char *path)
{
    if (mkdir(host(path), 0755) < 0)
        fail_msg("cannot make '%s'", path);
}

static inline void make_link(const char *text, const char *path)
{
    if (symlink(text, host(path)) < 0)
        fail_msg("cannot make '%s'", path);
}

static inline mode_t mode_of(const char *path)
{
    struct stat st;

    return lstat(host(path), &st) < 0 ? 0 : st.st_mode & 07777;
}

static inline bool is_there(const char *path)
{
    struct stat st;

    return lstat(host(path), &st) == 0;
}

/* `got` must be the code `want` with sys_errno `error`, and 0 when both are 0. */
static inline void expect(const char *what, int got, int want, int error)
{
    if (got != want || (want != 0 && (err.code != want || err.sys_errno != error)))
        fail_msg("%s: %d (errno %d: %s), not %d (errno %d)", what, got, err.sys_errno, err.msg,
                 want, error);
}
