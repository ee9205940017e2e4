/* SPDX-License-Identifier: Apache-2.0 */
/* The last commands of a shell, bounded in number and bytes. One thread at a time. */
#pragma once

#include <stddef.h>

#define HISTORY_MAX 1000
#define HISTORY_BYTES_MAX (1 << 20)

struct history {
    char **rows; /* oldest first */
    size_t count;
    size_t bytes; /* of all rows, with their ends */
};

/* Without memory for it the row is not kept. */
void history_add(struct history *history, const char *text);
void history_clear(struct history *history);
