/* SPDX-License-Identifier: Apache-2.0 */
/* One run from the command line, to its end: `hutch run`, and `hutch shell`. */
#pragma once

#include <hutch.h>

struct options;

/*
 * Run, relay, report. Returns what to exit with, or a negative code when nothing ran. What is left of the
 * sandbox may end a moment later: exit at once.
 */
int run_options(const struct options *options, struct hutch_error *err);

/* hutch itself failed and nothing ran: say so in the form the caller asked for. Returns the status. */
int run_failed(const struct options *options, const struct hutch_error *error);
