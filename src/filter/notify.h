/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about which the shipped filters notify a listener. Any thread; no allocation. */
#pragma once

struct filter_notified {
    int nr;           /* on the running architecture */
    const char *name; /* NULL ends a table */
    const char *hint; /* what the policy would need to say, as half a sentence */
};

/* NULL when no shipped filter notifies about it. Fit for use between clone and exec. */
const struct filter_notified *filter_notified_find(int nr);
