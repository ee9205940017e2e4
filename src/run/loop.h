/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run waits with: a set of descriptors, in which its sandbox's are, and a timer. To make one takes half
 * a dozen calls, so a sandbox that lasts keeps that of its last run for the next. One thread at a time.
 */
#pragma once

#include "backend/backend.h"
#include "run/timer.h"

struct loop {
    int epoll; /* -1: not open */
    struct timer timer;
};

#define LOOP_INIT                                                                                  \
    {                                                                                              \
        .epoll = -1, .timer = {.fd = -1 }                                                          \
    }

int loop_open(struct loop *loop, const struct sandbox *sandbox);
void loop_close(struct loop *loop);

/* Add a descriptor to read from. */
int loop_watch(const struct loop *loop, int fd, uint32_t tag);
void loop_unwatch(const struct loop *loop, int fd);

/* Leave the source without one. */
struct loop loop_take(struct loop *loop);
