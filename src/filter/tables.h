/* SPDX-License-Identifier: Apache-2.0 */
/* What tools/gen-filters writes, for each architecture. Only one's own is in the library. */
#pragma once

#include <linux/filter.h>

#include "filter/filter.h"
#include "filter/notify.h"

struct filter_shipped {
    const char *name; /* NULL ends the table */
    struct filter filter;
};

extern const struct filter_shipped filter_shipped_x86_64[];
extern const struct filter_shipped filter_shipped_aarch64[];

/* Sorted by number. */
extern const struct filter_notified filter_notified_x86_64[];
extern const struct filter_notified filter_notified_aarch64[];
