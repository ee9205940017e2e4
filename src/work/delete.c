/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing a tree that somebody else shapes, of any depth, with two descriptors.
 *
 * Everything is removed by (descriptor of its directory, name), and a directory is entered only from the
 * one that holds it, not through a link: so what is removed was below the top when we came by. The way
 * back up is "..", which must lead to the directory we came from; if it does not, something was moved,
 * and the walk starts again at the top. Nothing is remembered but which directories we are in: whatever
 * was removed stays removed, so starting again is never wrong, and the budget ends it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/str.h"
#include "sys/clock.h"
#include "sys/ret.h"
#include "work/call.h"
#include "work/names.h"
#include "work/path.h"

/* Names read at a time. Each directory below costs one reading of its parent. */
#define NAMES_MAX 128

struct identity {
    dev_t dev;
    ino_t ino;
};

struct removal {
    const struct work_spot *spot; /* the top */
    uint64_t deadline_ns;
    int dir;                 /* the directory we are in; -1: none */
    struct identity *levels; /* of it and all above it, from the top on */
    size_t depth;
    size_t cap;
    struct arena arena;
};

static int push(struct removal *removal, int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    removal->levels = arena_grow(&removal->arena, removal->levels, removal->depth, &removal->cap,
                                 sizeof *removal->levels);
    if (!removal->levels)
        return -ENOMEM;
    removal->levels[removal->depth++] = (struct identity){st.st_dev, st.st_ino};
    return 0;
}

/* Go into `name`. Returns 1, 0 when it is not a directory any more, -errno. */
static int enter(struct removal *removal, int from, const char *name)
{
    fd_auto int fd = ret_errno(openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));

    if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
        return 0;
    if (fd < 0)
        return fd;
    int r = push(removal, fd);
    if (r < 0)
        return r;
    fd_close(&removal->dir);
    removal->dir = fd_take(&fd);
    return 1;
}

/* Go to the directory above, or out of them all when that is not where we came from. */
static int leave(struct removal *removal)
{
    struct stat st = {0};
    fd_auto int dir = fd_take(&removal->dir);

    if (--removal->depth == 0)
        return 0;
    const struct identity *above = &removal->levels[removal->depth - 1];
    fd_auto int up = ret_errno(openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (up == -EMFILE || up == -ENFILE || up == -ENOMEM)
        return up;
    if (up < 0 || fstat(up, &st) < 0 || st.st_dev != above->dev || st.st_ino != above->ino)
        removal->depth = 0;
    else
        removal->dir = fd_take(&up);
    return 0;
}

/* Remove one name. -ENOTEMPTY: a directory that has to be entered first. */
static int unlink_name(int dir, const char *name, bool is_directory)
{
    int r = work_is_mount(dir, name);

    if (r == 0)
        r = ret_errno(unlinkat(dir, name, is_directory ? AT_REMOVEDIR : 0));
    else if (r > 0)
        r = -EBUSY;
    if (r == -ENOTDIR && is_directory)
        r = ret_errno(unlinkat(dir, name, 0));
    else if (r == -EISDIR && !is_directory)
        r = ret_errno(unlinkat(dir, name, AT_REMOVEDIR));
    /* Changed its kind twice: the next reading sees it again. */
    if (r == -ENOENT || r == -ENOTDIR || r == -EISDIR)
        return 0;
    return r == -EEXIST ? -ENOTEMPTY : r;
}

/* Remove what can be, of some names of the current directory; enter the first that needs it. */
static int sweep(struct removal *removal, const struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->items[i].text;
        int r = unlink_name(removal->dir, name, names->items[i].type == DT_DIR);

        if (r == -ENOTEMPTY) {
            r = enter(removal, removal->dir, name);
            if (r > 0)
                return 0;
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* One reading of the current directory, from its start: what was removed is not there any more. */
static int step(struct removal *removal)
{
    struct arena arena;
    struct names names;

    arena_init(&arena);
    int r = lseek(removal->dir, 0, SEEK_SET) < 0 ? -errno : 0;
    if (r == 0)
        r = names_read(removal->dir, NAMES_MAX, &arena, &names);
    if (r == 0)
        r = names.count > 0 ? sweep(removal, &names) : leave(removal);
    arena_clear(&arena);
    return r;
}

static int remove_tree(struct removal *removal)
{
    const struct work_spot *spot = removal->spot;
    int r;

    do {
        if (sys_clock_ns(CLOCK_MONOTONIC) > removal->deadline_ns)
            return -ETIMEDOUT;
        if (removal->dir >= 0) {
            r = step(removal);
            continue;
        }
        r = unlink_name(spot->dir, spot->name, true);
        if (r == 0)
            return 0;
        if (r == -ENOTEMPTY)
            r = enter(removal, spot->dir, spot->name);
    } while (r >= 0);
    return r;
}

static int delete_path(const struct call *call, const struct hutch_file_delete_options *options)
{
    work_spot_auto struct work_spot spot = WORK_SPOT_INIT;
    struct stat st;
    int r = work_spot_open(call->work, call->path, &spot);

    if (r < 0)
        return r == -EISDIR ? -EBUSY : r; /* "/" and "..": we might stand in it */
    if (fstatat(spot.dir, spot.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    r = unlink_name(spot.dir, spot.name, S_ISDIR(st.st_mode));
    if (r != -ENOTEMPTY || !options->recursive)
        return r;

    struct removal removal = {
        .spot = &spot,
        .dir = -1,
        .deadline_ns = call_deadline_ns(options->budget_ms),
    };
    arena_init(&removal.arena);
    r = remove_tree(&removal);
    fd_close(&removal.dir);
    arena_clear(&removal.arena);
    return r;
}

int work_delete(const struct work *work, const char *path,
                const struct hutch_file_delete_options *options, struct hutch_error *err)
{
    struct call call;
    int r = call_begin(&call, work, "delete", path, err);

    return r < 0 ? r : call_end(&call, delete_path(&call, options));
}
