/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t sys_clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}
