/* SPDX-License-Identifier: Apache-2.0 */
/* Owning descriptors: closed by scope unless taken. */
#pragma once

#include <unistd.h>

static inline void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Give the descriptor away: the caller of fd_take() owns it, *fd is left at -1. */
static inline int fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#define fd_auto __attribute__((cleanup(fd_close)))
