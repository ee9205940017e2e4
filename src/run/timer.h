/* SPDX-License-Identifier: Apache-2.0 */
/* All that one run waits a time for, by one descriptor: what is set and not due costs no call. One thread at a time. */
#pragma once

#include <stdint.h>

enum timer_for { TIMER_DEADLINE, TIMER_MONITOR, TIMER_COUNT };

struct timer {
    int fd;                       /* readable when something may be due; -1: not open */
    uint64_t due_ns[TIMER_COUNT]; /* 0: not set */
    uint64_t armed_ns;            /* what the descriptor waits for; 0: nothing */
};

int timer_open(struct timer *timer);
void timer_close(struct timer *timer);

/* Nothing is waited for any more. The descriptor may be readable once for nothing. */
void timer_forget(struct timer *timer);

/* Have something be due so long from now, instead of when it was set for before. */
int timer_set(struct timer *timer, enum timer_for what, uint64_t ms);

/* A bit for each that is due, and set no more then. -errno: for the others cannot be waited any longer. */
int timer_take(struct timer *timer);
