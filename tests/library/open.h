/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the library share: all layouts, and calls that must work. */
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

/* Where commands start, inside; also of a sandbox that is closed by then. */
static inline const char *cwd_of(const struct hutch_sandbox *sandbox)
{
    struct hutch_sandbox_info info = HUTCH_SANDBOX_INFO_INIT;

    OK(hutch_sandbox_info(sandbox, &info, &err));
    return box_text("%s", info.cwd);
}
