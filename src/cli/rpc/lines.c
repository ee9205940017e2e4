/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/lines.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK = 65536,
    KEEP = 1 << 20, /* more memory than this is given back once it is empty */
};

void lines_init(struct lines *lines, size_t max)
{
    *lines = (struct lines){.max = max};
}

void lines_clear(struct lines *lines)
{
    free(lines->data);
    lines_init(lines, lines->max);
}

/* Move what is left to the front, and give back what one long line needed. */
static void tidy(struct lines *lines)
{
    if (lines->start == lines->end && lines->cap > KEEP) {
        free(lines->data);
        lines->data = NULL;
        lines->cap = 0;
    } else if (lines->start > 0) {
        memmove(lines->data, lines->data + lines->start, lines->end - lines->start);
    }
    lines->scanned -= lines->start;
    lines->end -= lines->start;
    lines->start = 0;
}

/* Room for `len` more bytes, which is not 0. Not twice the room of the longest line. */
static char *reserve(struct lines *lines, size_t len)
{
    tidy(lines);
    if (lines->cap - lines->end < len) {
        size_t need = lines->end + len;
        assert(need > 0);
        size_t cap = lines->cap * 2 < lines->max + CHUNK ? lines->cap * 2 : lines->max + CHUNK;
        cap = cap > need ? cap : need;
        char *data = realloc(lines->data, cap);

        if (!data)
            abort();
        lines->data = data;
        lines->cap = cap;
    }
    return lines->data + lines->end;
}

int lines_read(struct lines *lines, int fd)
{
    ssize_t n;

    do {
        n = read(fd, reserve(lines, CHUNK), CHUNK);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if (n == 0)
        lines_finish(lines);
    lines->end += (size_t)n;
    return n > 0;
}

void lines_add(struct lines *lines, const char *data, size_t len)
{
    if (len == 0)
        return;
    memcpy(reserve(lines, len), data, len);
    lines->end += len;
}

void lines_finish(struct lines *lines)
{
    lines->ended = true;
}

/* No newline so far: the rest of the input is a line, the line is too long, or it is not all there. */
static enum lines_next unfinished(struct lines *lines, const char **ret, size_t *len)
{
    size_t left = lines->end - lines->start;

    lines->scanned = lines->end;
    if (!lines->skipping && left <= lines->max && !(lines->ended && left > 0))
        return LINES_NONE;
    *ret = lines->data + lines->start;
    *len = left;
    lines->start = lines->end;
    if (lines->skipping)
        return LINES_NONE;
    lines->skipping = left > lines->max;
    return lines->skipping ? LINES_TOO_LONG : LINES_ONE;
}

enum lines_next lines_next(struct lines *lines, const char **ret, size_t *len)
{
    for (;;) {
        size_t left = lines->end - lines->scanned;
        const char *newline = left ? memchr(lines->data + lines->scanned, '\n', left) : NULL;

        if (!newline)
            return unfinished(lines, ret, len);

        bool skipped = lines->skipping;
        *ret = lines->data + lines->start;
        *len = (size_t)(newline - *ret);
        lines->start += *len + 1;
        lines->scanned = lines->start;
        lines->skipping = false;
        if (!skipped)
            return *len > lines->max ? LINES_TOO_LONG : LINES_ONE;
    }
}

void lines_unread(struct lines *lines, const char *line)
{
    lines->start = (size_t)(line - lines->data);
    lines->scanned = lines->start;
}
