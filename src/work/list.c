/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/str.h"
#include "sys/clock.h"
#include "work/call.h"
#include "work/entry.h"
#include "work/names.h"
#include "work/path.h"

static int stat_path(const struct call *call, bool follow, struct arena *arena,
                     struct hutch_file_entry *ret)
{
    struct stat st;
    fd_auto int fd = follow ? work_path_open(call->work, call->path, O_PATH) : -ENOENT;

    /* A link that leads nowhere is still a link. */
    if (fd == -ENOENT || fd == -ELOOP)
        fd = work_path_open(call->work, call->path, O_PATH | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    const char *path = arena_strdup(arena, call->path);
    if (!path)
        return -ENOMEM;
    /* The root has no name: it is called what it is. */
    entry_fill(path, path[1] ? (size_t)(strrchr(path, '/') + 1 - path) : 0, &st, ret);
    return 0;
}

int work_stat(const struct work *work, const char *path, bool follow, struct arena *arena,
              struct hutch_file_entry *ret, struct hutch_error *err)
{
    struct call call;
    int r = call_begin(&call, work, "look at", path, err);

    return r < 0 ? r : call_end(&call, stat_path(&call, follow, arena, ret));
}

/* Fill items[*count]; nothing when the name is gone or its path too long to be used. */
static int add(const struct call *call, int dir, const struct name *name, bool follow,
               struct arena *arena, struct hutch_file_entry *items, size_t *count)
{
    char text[PATH_MAX];
    struct stat st;

    if (work_path_below(call->path, name->text, text) < 0)
        return 0;
    int r = entry_look(call->work, dir, name->text, text, follow, &st);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    const char *path = arena_strdup(arena, text);
    if (!path)
        return -ENOMEM;
    entry_fill(path, strlen(path) - strlen(name->text), &st, &items[(*count)++]);
    return 0;
}

static int list_directory(const struct call *call, const struct hutch_file_list_options *options,
                          struct arena *arena, struct hutch_file_entries *ret)
{
    uint64_t deadline_ns = call_deadline_ns(options->budget_ms);
    size_t count = 0;
    struct names names;
    fd_auto int dir = work_path_open(call->work, call->path, O_RDONLY | O_DIRECTORY);
    if (dir < 0)
        return dir;

    int r = names_read(dir, options->limit, arena, &names);
    if (r < 0)
        return r;
    struct hutch_file_entry *items = arena_alloc(arena, (names.count + 1) * sizeof *items);
    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < names.count && r == 0; i++) {
        /* Each of them may be a link that leads through all others. */
        if (sys_clock_ns(CLOCK_MONOTONIC) > deadline_ns) {
            names.truncated = true;
            break;
        }
        r = add(call, dir, &names.items[i], options->follow, arena, items, &count);
    }
    if (r < 0)
        return r;
    *ret = (struct hutch_file_entries){
        .items = items, .count = count, .truncated = names.truncated};
    return 0;
}

int work_list(const struct work *work, const char *path,
              const struct hutch_file_list_options *options, struct arena *arena,
              struct hutch_file_entries *ret, struct hutch_error *err)
{
    struct call call;
    int r = call_begin(&call, work, "list", path, err);

    return r < 0 ? r : call_end(&call, list_directory(&call, options, arena, ret));
}
