/* SPDX-License-Identifier: Apache-2.0 */
/* What this process has mapped, in the order of addresses. Without an allocator, and without a locale. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sys_mapping {
    uintptr_t start;
    uintptr_t end;
    bool memory; /* private, readable and writable, of no file and of no stack */
};

struct sys_maps {
    int fd;
    size_t at;
    size_t len;
    char text[8192]; /* a line and its path */
};

/* 0 or -errno. */
int sys_maps_open(struct sys_maps *maps);

/*
 * Returns 1, 0 at the end, -errno. Mappings that were returned may be taken away meanwhile; the rest is not
 * changed by that.
 */
int sys_maps_next(struct sys_maps *maps, struct sys_mapping *ret);
void sys_maps_close(struct sys_maps *maps);
