/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/standing.h"

#include <string.h>
#include <sys/syscall.h>

#include "sys/raw.h"

#define K_IOPRIO_WHO_PROCESS 1

void sys_standing_read(pid_t pid, struct sys_standing *ret)
{
    memset(ret, 0, sizeof *ret);
    for (int what = 0; what < SYS_LIMITS; what++)
        SYS_RAW(SYS_prlimit64, pid, what, NULL, &ret->limits[what]);
    SYS_RAW(SYS_sched_getattr, pid, &ret->schedule, sizeof ret->schedule, 0);
    SYS_RAW(SYS_sched_getaffinity, pid, sizeof ret->processors, ret->processors);
    ret->io_priority = SYS_RAW(SYS_ioprio_get, K_IOPRIO_WHO_PROCESS, pid);
}
