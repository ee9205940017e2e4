/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in the directories.
 *
 * The tree belongs to the untrusted and changes while it is walked. Every directory is opened from
 * its parent's descriptor, links are never followed, nothing but directories is opened, and no mount
 * is crossed. There is one buffer of names: before the walk goes down it puts the directory's own
 * position after the name it goes down by, and when it comes back it reads on from there. The first
 * LEVELS_OPEN directories of the way down stay open. Deeper ones are closed and found again by "..",
 * which must lead to the directory it came from.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/growth_state.h"
#include "sys/dirent.h"
#include "sys/path.h"
#include "sys/ret.h"

#define LEVELS_OPEN 24

static int push(struct growth *growth, struct level level)
{
    if (growth->walk->level_count == growth->walk->level_cap) {
        size_t cap = growth->walk->level_cap ? growth->walk->level_cap * 2 : 64;
        struct level *levels = realloc(growth->walk->levels, cap * sizeof *levels);
        if (!levels)
            return -ENOMEM;
        growth->walk->levels = levels;
        growth->walk->level_cap = cap;
    }
    if (growth->walk->level_count > LEVELS_OPEN)
        fd_close(&growth->walk->levels[growth->walk->level_count - 1].fd);
    growth->walk->levels[growth->walk->level_count++] = level;
    growth->walk->names_at = growth->walk->names_len = 0;
    return 0;
}

static struct level *current(struct growth *growth)
{
    return &growth->walk->levels[growth->walk->level_count - 1];
}

/* The directory above `fd`, if it is still the one we came by. */
static int open_parent(int fd, const struct level *parent)
{
    struct stat st;
    fd_auto int up = ret_errno(openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    if (up < 0)
        return up;
    if (fstat(up, &st) < 0)
        return -errno;
    if (st.st_dev != parent->dev || st.st_ino != parent->ino)
        return -ESTALE;
    if (lseek(up, parent->position, SEEK_SET) < 0)
        return -errno;
    return fd_take(&up);
}

/* Back to the parent. When it cannot be found again, to the deepest one that is open. */
static void pop(struct growth *growth, struct filesystem *fs)
{
    fd_auto int fd = fd_take(&current(growth)->fd);

    growth->walk->names_at = growth->walk->names_len = 0;
    growth->walk->level_count--;
    if (growth->walk->level_count == 0 || current(growth)->fd >= 0)
        return;
    current(growth)->fd = open_parent(fd, current(growth));
    if (current(growth)->fd >= 0)
        return;
    fs->unseen = true;
    while (growth->walk->level_count > 0 && current(growth)->fd < 0)
        growth->walk->level_count--;
}

/*
 * What is closed to us was closed to the run as well (it has no more rights than we have), unless it
 * was closed since, or can be gone through by whoever knows a name in it.
 */
static bool could_enter(const struct growth *growth, int dir, const char *name,
                        const struct statx *st)
{
    return st->stx_ctime.tv_sec >= growth->since || faccessat(dir, name, X_OK, AT_EACCESS) == 0;
}

static int go_down(struct growth *growth, struct filesystem *fs, const char *name, off_t next,
                   const struct statx *st)
{
    struct level *here = current(growth);

    if (growth->walk->level_count >= GROWTH_DEPTH_MAX) {
        fs->unseen = true;
        return 0;
    }
    fd_auto int fd = sys_open_beneath(here->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0) {
        if (fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP &&
            could_enter(growth, here->fd, name, st))
            fs->unseen = true;
        return 0;
    }
    here->position = next;
    if (lseek(here->fd, next, SEEK_SET) < 0) {
        fs->unseen = true;
        return 0;
    }
    int r = push(growth, (struct level){.fd = fd, .dev = growth_device(st), .ino = st->stx_ino});
    if (r == 0)
        fd_take(&fd);
    return r;
}

/* Names without the right to go to what they name: as above. */
static bool was_closed(const struct growth *growth, int dir)
{
    struct stat st;

    return fstat(dir, &st) < 0 || st.st_ctim.tv_sec >= growth->since;
}

static int look_at_name(struct growth *growth, const struct sys_dirent *entry)
{
    const struct root *root = &growth->roots[growth->walk->root];
    struct filesystem *fs = &growth->filesystems[root->fs];
    struct statx st;

    if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
        return 0;
    int r = growth_look(current(growth)->fd, entry->name, AT_SYMLINK_NOFOLLOW, &st);
    if (r < 0) {
        if (r != -ENOENT && (r != -EACCES || was_closed(growth, current(growth)->fd)))
            fs->unseen = true;
        return 0;
    }
    if (growth_mount(&st) != root->mount || growth_is_root(growth, growth_device(&st), st.stx_ino))
        return 0;
    growth_learn_device(fs, growth_device(&st));
    growth_count(growth, fs, &st);
    return S_ISDIR(st.stx_mode) ? go_down(growth, fs, entry->name, entry->next, &st) : 0;
}

/* The names in the buffer, or up to a directory; or fill it. */
static int read_names(struct growth *growth)
{
    struct filesystem *fs = &growth->filesystems[growth->roots[growth->walk->root].fs];
    size_t depth = growth->walk->level_count;

    if (growth->walk->names_at >= growth->walk->names_len) {
        int got = ret_errno(syscall(SYS_getdents64, current(growth)->fd, growth->walk->names,
                                    sizeof growth->walk->names));
        fs->unseen = fs->unseen || (got < 0 && got != -ENOENT);
        growth->walk->names_at = 0;
        growth->walk->names_len = got > 0 ? (size_t)got : 0;
        if (got <= 0)
            pop(growth, fs);
        return 0;
    }
    while (growth->walk->names_at < growth->walk->names_len && growth->walk->level_count == depth) {
        const struct sys_dirent *entry = (const struct sys_dirent *)(growth->walk->names +
                                                                     growth->walk->names_at);
        growth->walk->names_at += entry->len;
        int r = look_at_name(growth, entry);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Begin with the next of what was added. Returns 1 when there is nothing in it to walk. */
static int enter_root(struct growth *growth, const struct root *root)
{
    struct filesystem *fs = &growth->filesystems[root->fs];
    struct statx st;

    if (growth_look(root->fd, "", AT_EMPTY_PATH, &st) < 0) {
        fs->unseen = true;
        return 1;
    }
    growth_count(growth, fs, &st);
    if (!S_ISDIR(st.stx_mode))
        return 1;
    fd_auto int fd = sys_open_beneath(root->fd, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        fs->unseen = true;
        return 1;
    }
    int r = push(growth, (struct level){.fd = fd, .dev = root->dev, .ino = root->ino});
    if (r == 0)
        fd_take(&fd);
    return r;
}

int growth_tree_step(struct growth *growth)
{
    int r;

    if (growth->walk->root == growth->root_count)
        return 1;
    if (growth->walk->level_count == 0)
        r = enter_root(growth, &growth->roots[growth->walk->root]);
    else
        r = read_names(growth);
    if (r > 0 || (r == 0 && growth->walk->level_count == 0))
        growth->walk->root++;
    return r < 0 ? r : 0;
}
