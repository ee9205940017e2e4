/* SPDX-License-Identifier: Apache-2.0 */
/* What a filter does, as text: one line a call number, one more for each probe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "filter/filter.h"

#define GOLDEN_LAST 511

/* A verdict in words: "allow", "notify", "EPERM". Returns `out`. */
const char *golden_verdict(uint32_t verdict, char out[32]);

/* With `refused_only`, what is allowed has no line, but for the calls that probes are about. */
void golden_table(struct buf *out, const struct filter *filter, uint32_t arch, bool refused_only);
