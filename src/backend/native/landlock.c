/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second lock on files, from the same plan: even if a mount had the wrong flags, a command may
 * read everywhere and write only where the plan says so. Built once by init, put on by each command.
 */
#include "sys/landlock.h"

#include <errno.h>
#include <fcntl.h>

#include "backend/native/init.h"
#include "base/fd.h"
#include "sys/path.h"
#include "sys/ret.h"

static int allow(int ruleset, int abi, int root, const char *path, enum sys_landlock_access access,
                 bool directory)
{
    fd_auto int fd = sys_open_beneath(root, path + 1, O_PATH | O_NOFOLLOW, 0);

    return fd < 0 ? fd : sys_landlock_allow(ruleset, abi, fd, access, directory);
}

/* Devices are covered by the one rule for /dev, pins by that of the place they are in. */
static bool needs_rule(const struct plan_mount *mount)
{
    if (mount->kind == MOUNT_TMPFS)
        return mount->writable;
    return mount->kind == MOUNT_BIND && mount->writable && !mount->device && mount->why != WHY_PIN;
}

int init_landlock_build(const struct plan *plan, uint32_t *ret_index)
{
    int abi = plan->landlock_abi;
    fd_auto int root = sys_open("/", O_PATH | O_DIRECTORY);
    if (root < 0)
        return root;
    fd_auto int ruleset = sys_landlock_create(abi, plan->lasting);
    if (ruleset < 0)
        return ruleset;

    int r = allow(ruleset, abi, root, "/", SYS_LANDLOCK_READ, true);
    if (r == 0)
        r = allow(ruleset, abi, root, "/dev", SYS_LANDLOCK_DEVICE, true);
    for (size_t i = 0; r == 0 && i < plan->mount_count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        *ret_index = (uint32_t)i;
        if (needs_rule(mount))
            r = allow(ruleset, abi, root, mount->target, SYS_LANDLOCK_WRITE,
                      mount->kind == MOUNT_TMPFS || mount->directory);
    }
    return r < 0 ? r : fd_take(&ruleset);
}
