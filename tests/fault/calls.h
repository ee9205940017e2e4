/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of system calls: names, how they can fail, and which failures are harmless. */
#pragma once

#include <stdbool.h>

#include "trace.h"

#define CALL_ERRORS_MAX 6

struct call_info {
    long nr;
    const char *name;
    int errors[CALL_ERRORS_MAX]; /* the likeliest first; none: it cannot fail */
    bool after;                  /* the call has its effect even when it fails */
};

/* Never NULL; calls that are not in the table get a row of their own kind. */
const struct call_info *call_info(long nr);

/*
 * Why a run may go on after this call of `role` has failed with `error` (exactly as confined as
 * otherwise, which is checked), or NULL when it must not.
 */
const char *call_tolerated(const struct trace_call *call, int error);

/* Why a call is never made to fail here although it could be, or NULL. */
const char *call_exempt(const struct trace_call *call);

const char *role_name(enum trace_role role);
