/* SPDX-License-Identifier: Apache-2.0 */
/* What calls that run a command share. */
#pragma once

#include <hutch.h>

/*
 * The caller's struct may be older (smaller) or newer (larger) than ours: take what both know, and
 * defaults for the rest.
 */
int api_read_command(const struct hutch_command *given, struct hutch_command *ret,
                     struct hutch_error *err);

/* As hutch_run_finish(), then free the run. */
int api_finish(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err);
