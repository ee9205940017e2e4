/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/cover.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h> /* some libcs have no statx */
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/path.h"
#include "sys/ret.h"

#define K_STATX_ATTR_MOUNT_ROOT 0x2000
#define PATH_ROOM 4096

static bool is_cover(const struct plan_mount *mount)
{
    return mount->why == WHY_HIDE || mount->why == WHY_PROTECT || mount->why == WHY_PIN;
}

/* 0: it is there. -EIDRM: it is not. -EACCES: the sandbox's id does not come so far. Or another -errno. */
static int look(const char *path)
{
    struct statx st;
    int r = ret_errno(
        syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &st));

    if (r < 0)
        return r == -ENOENT || r == -ENOTDIR ? -EIDRM : r;
    /* A kernel that cannot tell is older than 5.8. */
    if (!(st.stx_attributes_mask & K_STATX_ATTR_MOUNT_ROOT))
        return 0;
    return st.stx_attributes & K_STATX_ATTR_MOUNT_ROOT ? 0 : -EIDRM;
}

static size_t parent_len(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

/* The directory in which it lies, which is where it could be replaced. `before` is watched already, or NULL. */
static int watch_parent(struct watch *watch, int *root, const char *path, const char *before)
{
    char parent[PATH_ROOM];
    size_t len = parent_len(path);

    if (before && parent_len(before) == len && memcmp(before, path, len) == 0)
        return 0;
    if (len >= sizeof parent)
        return -ENAMETOOLONG;
    memcpy(parent, path, len);
    parent[len] = '\0';
    if (*root < 0)
        *root = sys_open("/", O_PATH | O_DIRECTORY);
    if (*root < 0)
        return *root;
    fd_auto int fd = sys_open_beneath(*root, len > 0 ? parent + 1 : ".", O_RDONLY | O_DIRECTORY, 0);
    return watch_add(watch, &fd);
}

int cover_open(struct cover *cover, const struct plan *plan, struct watch *watch,
               uint32_t *ret_index)
{
    const char *before = NULL;
    fd_auto int root = -1; /* most sandboxes have few of them, some none */
    unsigned ordinal = 0;
    int r = 0;

    *cover = (struct cover){.plan = plan};
    for (size_t i = 0; r == 0 && i < plan->mount_count; i++) {
        if (!is_cover(&plan->mounts[i]))
            continue;
        *ret_index = (uint32_t)i;
        /* Before the look: what comes after it is told of. */
        r = watch_parent(watch, &root, plan->mounts[i].target, before);
        before = plan->mounts[i].target;
        if (r == 0)
            r = look(plan->mounts[i].target);
        if (r == -EACCES && ordinal < COVER_UNSEEN_MAX) {
            cover->unseen[ordinal] = true;
            r = 0;
        }
        ordinal++;
    }
    return r;
}

int cover_find_lost(const struct cover *cover)
{
    unsigned ordinal = 0;

    for (size_t i = 0; i < cover->plan->mount_count; i++) {
        if (!is_cover(&cover->plan->mounts[i]))
            continue;
        bool unseen = ordinal < COVER_UNSEEN_MAX && cover->unseen[ordinal];
        if (!unseen && look(cover->plan->mounts[i].target) < 0)
            return (int)i;
        ordinal++;
    }
    return -1;
}
