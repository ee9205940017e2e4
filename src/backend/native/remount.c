/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mount flags on kernels without mount_setattr (before 5.12): every mount there is, one by one, as
 * the table of mounts lists them. Runs in the new root, when that table shows the sandbox alone and
 * before anything untrusted runs in it.
 */
#include <errno.h>
#include <string.h>

#include "backend/native/init.h"
#include "base/path.h"
#include "base/str.h"
#include "sys/mount.h"
#include "sys/mountinfo.h"

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

static int remount(void *arg, const struct sys_mountinfo *info)
{
    const struct plan *plan = arg;
    const struct plan_mount *mount = governing(plan, info->path);
    if (!mount)
        return -EIO;

    unsigned flags = flags_of(info->options) | init_mount_flags(mount);
    if (is_sealed(plan, info->path))
        flags |= SYS_MOUNT_RDONLY;
    /* Covered mounts cannot be named, and cannot be reached either. */
    int r = sys_mount_remount(info->path, flags);
    return r == -EINVAL || r == -ENOENT ? 0 : r;
}

int init_files_remount(const struct plan *plan)
{
    return sys_mountinfo_each(remount, (void *)plan);
}
