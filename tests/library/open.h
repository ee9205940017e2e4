/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the library share: a sandbox that is open, and calls on it that must work. */
#pragma once

#include <hutch.h>

#include "../box/drive.h"

static const char *const layouts[] = {"host", "minimal", "root"};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct hutch_error err;

/* A call that must work. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            box_fatal(__FILE__, __LINE__, "%s: %s (errno %d, at %s)", #call, err.msg,              \
                      err.sys_errno, err.where);                                                   \
    } while (0)

static inline struct hutch_sandbox *open_box(const char *const *flags)
{
    struct hutch_policy *policy = drive_policy(flags);
    struct hutch_sandbox *sandbox = NULL;

    OK(hutch_sandbox_open(policy, NULL, NULL, &sandbox, &err));
    hutch_policy_free(policy);
    return sandbox;
}

/* Where commands start, inside. */
static inline const char *cwd_of(const struct hutch_sandbox *sandbox)
{
    struct hutch_sandbox_info info = HUTCH_SANDBOX_INFO_INIT;

    OK(hutch_sandbox_info(sandbox, &info, &err));
    return info.cwd;
}
