/* SPDX-License-Identifier: Apache-2.0 */
#include "work/grep_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "sys/clock.h"
#include "work/text.h"

#define CLOCK_EVERY 256 /* lines */

/* A line of the file in memory, without its end. */
struct line {
    size_t start;
    size_t end;
};

void grep_clear(struct grep *grep)
{
    work_bytes_clear(&grep->file);
    work_bytes_clear(&grep->folded);
}

static struct line line_at(const struct grep *grep, size_t start)
{
    const char *data = grep->file.data;
    const char *newline = memchr(data + start, '\n', grep->file.len - start);

    return (struct line){start, newline ? (size_t)(newline - data) : grep->file.len};
}

/* Where the line begins that `at` is in. */
static size_t line_start(const struct grep *grep, size_t at)
{
    const char *newline = memrchr(grep->file.data, '\n', at);

    return newline ? (size_t)(newline - grep->file.data) + 1 : 0;
}

static size_t without_return(const struct grep *grep, struct line line)
{
    return line.end - (line.end > line.start && grep->file.data[line.end - 1] == '\r');
}

static const char *copy_line(struct grep *grep, struct line line)
{
    const char *data = grep->file.data + line.start;
    size_t len = without_return(grep, line) - line.start;

    if (len > grep->options->line_bytes)
        len = text_whole(data, grep->options->line_bytes);
    char *copy = arena_alloc(grep->arena, len + 1);
    if (copy)
        memcpy(copy, data, len);
    grep->text_bytes += len;
    return copy;
}

/* Up to `context` lines before the one at `start`. */
static const char **copy_before(struct grep *grep, size_t start, size_t *count)
{
    struct line lines[GREP_CONTEXT_MAX];
    size_t have = 0;
    const char **out = arena_alloc(grep->arena, (grep->options->context + 1) * sizeof *out);

    while (out && have < grep->options->context && start > 0) {
        size_t end = start - 1;

        start = line_start(grep, end);
        lines[have++] = (struct line){start, end};
    }
    for (size_t i = 0; i < have; i++)
        if (!(out[i] = copy_line(grep, lines[have - 1 - i])))
            return NULL;
    *count = have;
    return out;
}

static const char **copy_after(struct grep *grep, size_t end, size_t *count)
{
    size_t have = 0;
    const char **out = arena_alloc(grep->arena, (grep->options->context + 1) * sizeof *out);

    while (out && have < grep->options->context && end + 1 < grep->file.len) {
        struct line line = line_at(grep, end + 1);

        if (!(out[have++] = copy_line(grep, line)))
            return NULL;
        end = line.end;
    }
    *count = have;
    return out;
}

static int add(struct grep *grep, const char *path, struct line line, uint64_t number)
{
    if (grep->count >= grep->options->limit || grep->text_bytes > grep->options->total_bytes) {
        grep->truncated = true;
        return 0;
    }
    grep->found = arena_grow(grep->arena, grep->found, grep->count, &grep->cap,
                             sizeof *grep->found);
    if (!grep->found)
        return -ENOMEM;
    struct hutch_file_match *match = &grep->found[grep->count];
    *match = (struct hutch_file_match){.path = path, .line = number, .text = copy_line(grep, line)};
    match->before = copy_before(grep, line.start, &match->before_count);
    match->after = copy_after(grep, line.end, &match->after_count);
    if (!match->text || !match->before || !match->after)
        return -ENOMEM;
    grep->count++;
    return 0;
}

static int find_literal(const struct grep *grep, size_t from, struct line *ret)
{
    const struct needle *needle = grep->needle;
    const char *data = needle->fold ? grep->folded.data : grep->file.data;
    const char *hit = memmem(data + from, grep->file.len - from, needle->text, needle->len);

    if (!hit)
        return 0;
    *ret = line_at(grep, line_start(grep, (size_t)(hit - data)));
    return 1;
}

static int find_regex(struct grep *grep, size_t from, struct line *ret)
{
    for (unsigned lines = 1; from < grep->file.len; lines++) {
        struct line line = line_at(grep, from);
        size_t len = without_return(grep, line) - line.start;
        int r = rx_search(&grep->needle->rx, grep->file.data + line.start, len, grep->deadline_ns);

        if (r > 0)
            *ret = line;
        if (r != 0)
            return r;
        from = line.end + 1;
        if (lines % CLOCK_EVERY == 0 && sys_clock_ns(CLOCK_MONOTONIC) > grep->deadline_ns)
            return -ETIMEDOUT;
    }
    return 0;
}

static uint64_t count_lines(const char *data, size_t from, size_t to)
{
    uint64_t count = 0;

    for (const char *at = data + from, *end = data + to;
         (at = memchr(at, '\n', (size_t)(end - at))); at++)
        count++;
    return count;
}

static int search(struct grep *grep, const char *path)
{
    const char *shown = NULL;
    struct line line;
    uint64_t number = 1;
    size_t from = 0;
    int r;

    while (!grep->truncated && from < grep->file.len) {
        r = grep->needle->regex ? find_regex(grep, from, &line) : find_literal(grep, from, &line);
        if (r == -ETIMEDOUT) {
            grep->truncated = true;
            return 0;
        }
        if (r <= 0)
            return r;
        number += count_lines(grep->file.data, from, line.start);
        if (!shown && !(shown = arena_strdup(grep->arena, path)))
            return -ENOMEM;
        r = add(grep, shown, line, number);
        if (r < 0)
            return r;
        from = line.end + 1;
        number++;
    }
    return 0;
}

/* A NUL far into the file: what comes before it was text. */
static void cut_at_nul(struct grep *grep)
{
    const char *nul = memchr(grep->file.data, '\0', grep->file.len);

    if (nul)
        grep->file.len = line_start(grep, (size_t)(nul - grep->file.data));
}

static int fold(struct grep *grep)
{
    if (grep->folded.cap < grep->file.cap) {
        work_bytes_clear(&grep->folded);
        grep->folded.data = malloc(grep->file.cap);
        if (!grep->folded.data)
            return -ENOMEM;
        grep->folded.cap = grep->file.cap;
    }
    for (size_t i = 0; i < grep->file.len; i++)
        grep->folded.data[i] = needle_lower(grep->file.data[i]);
    return 0;
}

int grep_file(struct grep *grep, int fd, const char *path)
{
    int r = work_file_load(fd, grep->options->file_bytes, true, &grep->file);

    if (r < 0)
        return r;
    if (!text_is_bytes(grep->file.data, grep->file.len))
        return 0;
    cut_at_nul(grep);
    if (grep->needle->fold && !grep->needle->regex)
        r = fold(grep);
    if (r == 0)
        r = search(grep, path);
    /* After its matches: those are what was asked for. */
    if (r == 0 && grep->file.more)
        grep->cut = true;
    return r;
}
