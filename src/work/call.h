/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every call of work.h begins and ends with: the path as text, the sandbox's rights, and the
 * error. Below it, functions return 0 or -errno and need not know of any of these.
 */
#pragma once

#include <limits.h>

#include "work/rights.h"

struct call {
    const struct work *work;
    const char *verb;    /* for the message: "read" */
    char path[PATH_MAX]; /* as work_path_text() makes it */
    struct rights rights;
    struct hutch_error *err;
};

/* Begin a call on `path`. On failure *err is filled and there is nothing to end. */
int call_begin(struct call *call, const struct work *work, const char *verb, const char *path,
               struct hutch_error *err);

/* Give the rights back; `r` is the outcome, 0 or -errno. Returns what the call returns. */
int call_end(struct call *call, int r);

/* The same for an argument that is wrong: `r` is one of HUTCH_*, and *err is filled already. */
int call_end_refused(struct call *call, int r);

/* The monotonic clock's time when a budget that begins now is over; never, when it is that large. */
uint64_t call_deadline_ns(uint64_t budget_ms);
