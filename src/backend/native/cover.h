/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts that hide or protect a path of the host. When somebody on the host replaces that path, by a rename
 * or by removing it, the kernel takes the mount off, in every namespace: inside, the new file lies open. Init
 * cannot mount it again, so it notices, and the sandbox ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backend/native/watch.h"
#include "plan/plan.h"

#define COVER_UNSEEN_MAX 128

struct cover {
    const struct plan *plan;
    bool unseen
        [COVER_UNSEEN_MAX]; /* of each: the sandbox's id does not come so far, and sees nothing of it */
};

/* Have `watch` tell of changes around them. -EIDRM: the plan's mount *ret_index is not there any more. */
int cover_open(struct cover *cover, const struct plan *plan, struct watch *watch,
               uint32_t *ret_index);

/* The index of a plan's mount that is not there any more, or -1. To be called when the watch has told. */
int cover_find_lost(const struct cover *cover);
