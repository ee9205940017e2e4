/* SPDX-License-Identifier: Apache-2.0 */
#include "session/history.h"

#include <stdlib.h>
#include <string.h>

static void drop(struct history *history, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        history->bytes -= strlen(history->rows[i]) + 1;
        free(history->rows[i]);
    }
    history->count -= count;
    memmove(history->rows, history->rows + count, history->count * sizeof *history->rows);
}

void history_add(struct history *history, const char *text)
{
    size_t size = strlen(text) + 1;
    size_t gone = 0, bytes = history->bytes;

    if (!history->rows) {
        history->rows = malloc(HISTORY_MAX * sizeof *history->rows);
        history->count = 0;
    }
    char *copy = history->rows && size <= HISTORY_BYTES_MAX ? strdup(text) : NULL;
    if (!copy)
        return;
    while (gone < history->count &&
           (bytes > HISTORY_BYTES_MAX - size || history->count - gone >= HISTORY_MAX))
        bytes -= strlen(history->rows[gone++]) + 1;
    if (gone)
        drop(history, gone);
    history->rows[history->count++] = copy;
    history->bytes += size;
}

void history_clear(struct history *history)
{
    if (history->count)
        drop(history, history->count);
    free(history->rows);
    *history = (struct history){0};
}
