/* SPDX-License-Identifier: Apache-2.0 */
#include "work/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/clock.h"
#include "sys/path.h"
#include "work/file.h"

#define NAMES_MAX ((size_t)200000)           /* of one directory */
#define WAITING_MAX_BYTES ((size_t)32 << 20) /* of directories not entered yet */

static int wait_for(struct walk *walk, const char *path)
{
    size_t bytes = strlen(path) + 1 + sizeof path;

    if (walk->waiting_bytes + bytes > WAITING_MAX_BYTES) {
        walk->truncated = true;
        return 0;
    }
    if (walk->waiting_count == walk->waiting_cap) {
        size_t cap = walk->waiting_cap ? walk->waiting_cap * 2 : 64;
        char **waiting = realloc(walk->waiting, cap * sizeof *waiting);
        if (!waiting)
            return -ENOMEM;
        walk->waiting = waiting;
        walk->waiting_cap = cap;
    }
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    walk->waiting[walk->waiting_count++] = copy;
    walk->waiting_bytes += bytes;
    return 0;
}

static bool is_root(const struct work *work, int dir)
{
    struct stat a, b;

    return fstat(work->root, &a) == 0 && fstat(dir, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int walk_init(struct walk *walk, const struct work *work, int *base, uint64_t deadline_ns)
{
    struct statfs fs;

    *walk = (struct walk){.base = fd_take(base), .dir = -1, .deadline_ns = deadline_ns};
    arena_init(&walk->arena);
    if (fstatfs(walk->base, &fs) < 0)
        return -errno;
    walk->base_type = (unsigned long)fs.f_type;
    if (work->system_dirs && is_root(work, walk->base))
        walk->system_dirs = work->system_dirs;
    return wait_for(walk, "");
}

void walk_clear(struct walk *walk)
{
    for (size_t i = 0; i < walk->waiting_count; i++)
        free(walk->waiting[i]);
    free(walk->waiting);
    arena_clear(&walk->arena);
    fd_close(&walk->dir);
    fd_close(&walk->base);
}

static bool is_out_of_time(struct walk *walk)
{
    if (sys_clock_ns(CLOCK_MONOTONIC) < walk->deadline_ns)
        return false;
    walk->truncated = true;
    return true;
}

/* File systems that show the kernel, not files. */
static bool is_left_out(const struct walk *walk, int dir)
{
    struct statfs fs;

    if (fstatfs(dir, &fs) < 0)
        return true;
    if ((unsigned long)fs.f_type == walk->base_type)
        return false;
    return fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC ||
           fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* By its name, which is the only one: no link was followed from the root to here. */
static bool is_system(const struct walk *walk)
{
    for (const char *const *dir = walk->system_dirs; dir && *dir; dir++)
        if (str_eq(*dir + 1, walk->dir_path))
            return true;
    return false;
}

/* What says nothing about the rest: gone, replaced, or not ours to read. */
static bool is_passed_over(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EACCES || r == -EPERM ||
           r == -EXDEV || r == -ENAMETOOLONG || r == -ESTALE || r == -EIO;
}

/* Enter the directory that waits next. */
static int enter(struct walk *walk)
{
    char *path = walk->waiting[--walk->waiting_count];

    walk->waiting_bytes -= strlen(path) + 1 + sizeof path;
    memcpy(walk->dir_path, path, strlen(path) + 1);
    free(path);
    fd_close(&walk->dir);
    arena_clear(&walk->arena);
    walk->names = (struct names){0};
    walk->next = 0;
    walk->fresh = walk->waiting_count;
    walk->entered++;

    if (is_system(walk))
        return 0;
    walk->dir = sys_open_beneath(walk->base, walk->dir_path, O_RDONLY | O_DIRECTORY, 0);
    if (walk->dir < 0)
        return is_passed_over(walk->dir) ? 0 : walk->dir;
    if (is_left_out(walk, walk->dir))
        return 0;
    int r = names_read(walk->dir, NAMES_MAX, &walk->arena, &walk->names);
    walk->truncated |= walk->names.truncated;
    return is_passed_over(r) ? 0 : r;
}

/* The first in order must be the last that waits. */
static void turn_fresh(struct walk *walk)
{
    for (size_t a = walk->fresh, b = walk->waiting_count; a + 1 < b; a++) {
        char *swapped = walk->waiting[a];

        walk->waiting[a] = walk->waiting[--b];
        walk->waiting[b] = swapped;
    }
}

static enum hutch_file_type type_of(int dir, const struct name *name)
{
    struct stat st;

    switch (name->type) {
    case DT_REG: return HUTCH_FILE_REGULAR;
    case DT_DIR: return HUTCH_FILE_DIRECTORY;
    case DT_LNK: return HUTCH_FILE_SYMLINK;
    case DT_UNKNOWN:
        return fstatat(dir, name->text, &st, AT_SYMLINK_NOFOLLOW) < 0 ? HUTCH_FILE_OTHER
                                                                      : work_file_type(st.st_mode);
    default: return HUTCH_FILE_OTHER;
    }
}

/* The current directory's next entry. False when its path is too long. */
static bool take(struct walk *walk, struct walk_item *ret)
{
    const struct name *name = &walk->names.items[walk->next++];
    size_t dir_len = strlen(walk->dir_path), len = strlen(name->text);
    size_t start = dir_len ? dir_len + 1 : 0;

    if (start + len >= sizeof walk->path) {
        walk->truncated = true;
        return false;
    }
    memcpy(walk->path, walk->dir_path, dir_len);
    if (dir_len)
        walk->path[dir_len] = '/';
    memcpy(walk->path + start, name->text, len + 1);
    *ret = (struct walk_item){.dir = walk->dir,
                              .name = walk->path + start,
                              .path = walk->path,
                              .type = type_of(walk->dir, name)};
    return true;
}

int walk_next(struct walk *walk, struct walk_item *ret)
{
    for (;;) {
        if (is_out_of_time(walk))
            return 0;
        if (walk->next < walk->names.count) {
            if (take(walk, ret))
                return 1;
            continue;
        }
        turn_fresh(walk);
        if (walk->waiting_count == 0)
            return 0;
        int r = enter(walk);
        if (r < 0)
            return r;
    }
}

int walk_enter(struct walk *walk, const struct walk_item *item)
{
    return wait_for(walk, item->path);
}
