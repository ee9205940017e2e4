/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a plan as text that a table can hold: "bind+ @/ws workspace", + for writable. */
#pragma once

#include "../scratch.h"
#include "plan/explain.h"
#include "plan/plan.h"

/*
 * Those at or below `from` ("@" is the scratch directory), in their order, one a line; without the
 * places made for them unless `places`.
 */
static inline const char *steps(const struct plan *plan, const char *from, bool places)
{
    static char out[SCRATCH_TEXT];
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        bool is_place = mount->kind == MOUNT_DIR || mount->kind == MOUNT_FILE;
        if (!str_starts(mount->target, at(from)) || (is_place && !places))
            continue;
        len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s %s %s\n",
                                plan_kind_name(mount->kind), mount->writable ? "+" : "",
                                folded(mount->target), plan_why_name(mount->why));
    }
    return out;
}
