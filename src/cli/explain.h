/* SPDX-License-Identifier: Apache-2.0 */
/* Printing a plan: `hutch explain`, and `hutch run --dry-run`. */
#pragma once

#include <hutch.h>

struct options;

/* Print on stdout what a run with these options would be. */
int explain_print(const struct options *options, struct hutch_error *err);
