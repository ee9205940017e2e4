/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that lacks a system call, or refuses it: a filter in front of hutch answers in the kernel's place.
 */
#pragma once

#include <sys/syscall.h>

#include "drive.h"

/* These numbers are the same on every machine; older headers lack them. */
#define K_SYS_clone3 435
#define K_SYS_mount_setattr 442
#define K_SYS_landlock_create_ruleset 444

struct refusal {
    unsigned number;
    unsigned flag; /* only with one of these bits in the first argument; 0: always */
    int error;
};

struct refusals {
    struct refusal items[4]; /* ends with error 0 */
};

/* Put the filter on this process, for good. For drive_start(): `arg` is a struct refusals. */
void refuse_calls(void *arg);

/* As drive_cli(), behind the filter. */
struct drive_end refusing_cli(const struct refusals *refusals, const char *const *args);
