/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From ranges of call numbers to a program of the kernel's classic BPF.
 *
 * Loading a filter costs time, on every start: the kernel walks it for each call number there is, to
 * remember which ones are always allowed (since 5.11), then compiles it. So the search tree is the
 * one with the fewest steps over all numbers, and neighbours with the same verdict are one leaf.
 */
#pragma once

#include <linux/filter.h>

#include "rules.h"

/* From `first` to the number before the next range; the last one has no end. */
struct emit_range {
    uint32_t first;
    struct rule_verdict verdict;
};

#define EMIT_MAX BPF_MAXINSNS

/*
 * The program for calls of `arch`, others being answered with ENOSYS. `ranges` is sorted and begins
 * with number 0; `call_count` is how many numbers are walked. Returns the number of instructions
 * in `ret`; ends the process when that is not possible.
 */
size_t emit_filter(uint32_t arch, const struct emit_range *ranges, size_t count,
                   uint32_t call_count, struct sock_filter ret[EMIT_MAX]);
