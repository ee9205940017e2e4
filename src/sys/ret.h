/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convention of this folder: a function returns what its call returns, or -errno. Nothing here
 * knows a policy, allocates, locks or prints, so init may call all of it between clone and exec.
 */
#pragma once

#include <errno.h>

static inline int ret_errno(long r)
{
    return r < 0 ? -errno : (int)r;
}
