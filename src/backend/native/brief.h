/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that a command could make init wait in: between begin and end none of them lasts longer than a few
 * milliseconds. One that would ends with EINTR.
 */
#pragma once

#include <signal.h>

struct brief {
    sigset_t before;
};

/* From here on an alarm comes again and again. Returns -errno when there can be none: then nothing has begun. */
int brief_begin(struct brief *brief);

/* Outside of this the alarm is blocked. */
void brief_end(const struct brief *brief);

/* Let go of a socket that the caller had in its hands: we may be the last to have it. Leaves -1. */
void brief_close(int *sock);
