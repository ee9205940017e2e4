/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "filter/tables.h"

#if defined(__x86_64__)
#define SHIPPED filter_shipped_x86_64
#define NOTIFIED filter_notified_x86_64
#else
#define SHIPPED filter_shipped_aarch64
#define NOTIFIED filter_notified_aarch64
#endif

const struct filter *filter_shipped(const char *name)
{
    for (const struct filter_shipped *row = SHIPPED; row->name; row++) {
        if (str_eq(row->name, name))
            return &row->filter;
    }
    return NULL;
}

const struct filter_notified *filter_notified_find(int nr)
{
    for (const struct filter_notified *row = NOTIFIED; row->name; row++) {
        if (row->nr == nr)
            return row;
    }
    return NULL;
}
