/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's own rights, for the calling thread and the time of one call.
 *
 * Should: whatever the call opens, creates or removes is decided by the kernel as for a command in the
 * sandbox. Mustn't: the process must not become a target: real, effective and saved ids stay, and those
 * are what decides who may signal or trace us. Other threads must not change: libc's own functions
 * would, so these are raw system calls.
 */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>

#include "work/work.h"

struct rights {
    bool taken;
    int uid, gid;
    int group_count;
    gid_t *groups;
    struct __user_cap_data_struct caps[2];
    int death_signal;
};

/* Returns 0 or -errno; on failure nothing has changed. */
int rights_take(const struct work *work, struct rights *ret);

/* Back to what was before. When that fails the thread has less than before, and -errno says so. */
int rights_give_back(struct rights *rights);
