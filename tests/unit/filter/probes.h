/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments with which the golden table and the tests try each call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct probe {
    const char *call;
    const char *what; /* a few words for the table */
    uint64_t args[6];
};

extern const struct probe probes[];
extern const size_t probe_count;
