/* SPDX-License-Identifier: Apache-2.0 */
/* What getdents64() fills a buffer with, for those that may not allocate, or stop in the middle. */
#pragma once

#include <stdint.h>

struct sys_dirent { /* struct linux_dirent64 of the kernel */
    uint64_t ino;
    int64_t next; /* where to read on after it */
    unsigned short len;
    unsigned char type;
    char name[];
};
