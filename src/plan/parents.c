/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A root caller may grant a path below a directory that is closed to everybody else, such as
 * another user's home. The sandbox's id could not pass it. What it could not have read anyway is
 * covered with an empty directory that leads to the granted path and to nothing else.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/passes.h"

/* The topmost directory above `target` that the sandbox's id cannot search; NULL when none is. */
static const char *closed_parent(struct plan *plan, const char *target)
{
    for (const char *slash = strchr(target + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        char *dir = arena_strndup(&plan->arena, target, (size_t)(slash - target));
        struct stat st;
        if (!dir)
            return NULL;
        if (stat(dir, &st) == 0 && !(st.st_mode & S_IXOTH))
            return dir;
    }
    return NULL;
}

int plan_pass_parents(struct plan *plan, struct plan_entries *entries, struct hutch_error *err)
{
    if (!plan->identity.privileged || plan->layout != LAYOUT_HOST)
        return 0;

    for (size_t i = 0; i < entries->count; i++) {
        const struct plan_mount mount = entries->items[i].mount;
        if (mount.kind != MOUNT_BIND || !mount.idmap)
            continue;
        const char *dir = closed_parent(plan, mount.target);
        const struct plan_entry *cover = dir ? plan_entry_covering(entries, dir) : NULL;
        /* Anything but the plain host below it is ours: id-mapped, or made by an earlier round. */
        if (!cover || cover->mount.why != WHY_LAYOUT || cover->mount.kind != MOUNT_BIND)
            continue;
        plan_entry_add(
            plan, entries,
            (struct plan_mount){.kind = MOUNT_TMPFS, .target = dir, .source_fd = -1, .mode = 0755});
    }
    return arena_failed(&plan->arena) ? err_oom(err) : 0;
}
