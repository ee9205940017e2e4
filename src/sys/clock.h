/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, in nanoseconds; timers, in milliseconds. */
#pragma once

#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

#include "sys/ret.h"

static inline uint64_t sys_clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

/* Have a timerfd be readable once, this long from now; 0 stops it. */
static inline int sys_timer_set(int timer, uint64_t ms)
{
    struct itimerspec spec = {
        .it_value = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000}};

    return ret_errno(timerfd_settime(timer, 0, &spec, NULL));
}
