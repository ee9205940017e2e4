/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A root caller's grants become detached trees in which their owner is the sandbox's id. Only the
 * engine has the privilege, so they are made here and attached by init.
 */
#include <errno.h>

#include "backend/native/engine.h"
#include "backend/native/init.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "sys/mount.h"

/* The map is a user namespace that costs a process to make, so that mounts of one owner share it. */
struct owner_map {
    const struct plan_identity *identity;
    uid_t uid;
    gid_t gid;
    int userns; /* -1 before the first */
    struct sys_ids_holder *holder;
};

static int map_owner(struct owner_map *owner, const struct plan_mount *mount)
{
    const struct sys_idmap map = {
        .uid_inside = mount->owner_uid,
        .uid_outside = owner->identity->host_uid,
        .gid_inside = mount->owner_gid,
        .gid_outside = owner->identity->host_gid,
    };

    if (owner->userns >= 0 && owner->uid == mount->owner_uid && owner->gid == mount->owner_gid)
        return 0;
    fd_close(&owner->userns);
    sys_ids_release(owner->holder);
    owner->userns = sys_ids_namespace(&map, owner->holder);
    owner->uid = mount->owner_uid;
    owner->gid = mount->owner_gid;
    return owner->userns < 0 ? owner->userns : 0;
}

static int make_idmapped_tree(struct owner_map *owner, const struct plan_mount *mount, int *ret,
                              struct hutch_error *err)
{
    char shown[160];

    str_printable(mount->source, shown, sizeof shown);
    int r = map_owner(owner, mount);
    if (r < 0)
        return err_sys(err, r, "ids", "cannot make a user namespace for '%s'", shown);
    fd_auto int tree = sys_mount_clone(mount->source_fd, "", mount->recursive);
    if (tree < 0)
        return err_sys(err, tree, "mounts", "cannot copy the mount of '%s'", shown);

    r = sys_mount_idmap(tree, mount->recursive, owner->userns);
    if (r == 0)
        r = sys_mount_set(tree, mount->recursive, init_mount_flags(mount));
    if (r == -EINVAL || r == -ENOSYS)
        return err_sys(err, r, "mounts",
                       "cannot give '%s' to a sandbox of root: its file system (or one mounted in "
                       "it) or this kernel cannot map ids; run hutch as the files' owner",
                       shown);
    if (r < 0)
        return err_sys(err, r, "mounts", "cannot map the ids of '%s'", shown);
    *ret = fd_take(&tree);
    return 0;
}

int native_make_trees(const struct plan *plan, struct sys_ids_holder *holder, int *trees,
                      struct hutch_error *err)
{
    struct owner_map owner = {.identity = &plan->identity, .userns = -1, .holder = holder};
    int r = 0;

    for (size_t i = 0; r == 0 && i < plan->mount_count; i++)
        if (plan->mounts[i].idmap)
            r = make_idmapped_tree(&owner, &plan->mounts[i], &trees[i], err);
    fd_close(&owner.userns);
    return r;
}
