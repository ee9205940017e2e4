/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client sends, cut into lines: one message each. Holds at most one line that is as long as
 * allowed, and a little more; a longer one is told about at once and skipped to its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lines {
    char *data;
    size_t cap;
    size_t start;   /* where the line that comes next begins */
    size_t scanned; /* no newline between start and here */
    size_t end;     /* of what has arrived */
    size_t max;     /* longest line, without its newline */
    bool skipping;  /* inside a line that was too long */
    bool ended;     /* nothing more arrives */
};

enum lines_next {
    LINES_NONE,     /* no whole line has arrived */
    LINES_ONE,      /* *ret is a line of *len bytes, without its newline */
    LINES_TOO_LONG, /* one was, and is dropped; *ret is its beginning, of *len bytes */
};

void lines_init(struct lines *lines, size_t max);
void lines_clear(struct lines *lines);

/* Read once from `fd`. Returns 1, 0 at the end (what is left is the last line), or -errno. */
int lines_read(struct lines *lines, int fd);

/* The same with bytes that have arrived otherwise. */
void lines_add(struct lines *lines, const char *data, size_t len);
void lines_finish(struct lines *lines);

/* The next line; *ret is valid until more is added. Call until it says LINES_NONE. */
enum lines_next lines_next(struct lines *lines, const char **ret, size_t *len);

/* Put `line`, which lines_next() has just given, back: it comes again. */
void lines_unread(struct lines *lines, const char *line);
