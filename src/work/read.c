/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is read once, from its start, in blocks: lines before the wanted ones are counted, the wanted
 * ones kept, those after them counted again until the end or until enough was looked at.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "work/call.h"
#include "work/file.h"
#include "work/text.h"

#define BLOCK ((size_t)64 << 10)

struct reader {
    const struct hutch_file_read_options *options;
    struct buf content;
    size_t whole;     /* bytes of content that are whole lines */
    uint64_t taken;   /* lines in the content */
    uint64_t line;    /* the one being read, from 0 */
    bool in_line;     /* it has bytes already */
    bool full;        /* max_bytes is reached: nothing more is kept */
    bool ended;       /* the end of the file was seen */
    uint64_t scanned; /* bytes */
};

static bool is_wanted(const struct reader *reader)
{
    return reader->line >= reader->options->offset &&
           reader->line - reader->options->offset < reader->options->limit;
}

/* Part of a wanted line. */
static void keep(struct reader *reader, const char *data, size_t len)
{
    size_t room = reader->options->max_bytes - reader->content.len;

    if (reader->full)
        return;
    if (len <= room) {
        buf_add(&reader->content, data, len);
        return;
    }
    reader->full = true;
    if (reader->taken > 0) {
        reader->content.len = reader->whole; /* lines are given whole, or not at all ... */
        return;
    }
    /* ... but for a first line that is too long, which would never be seen otherwise. */
    buf_add(&reader->content, data, room);
    reader->content.len = text_whole(reader->content.data, reader->content.len);
    reader->taken = 1;
}

static void end_line(struct reader *reader)
{
    if (is_wanted(reader) && !reader->full) {
        reader->taken++;
        reader->whole = reader->content.len;
    }
    reader->line++;
    reader->in_line = false;
}

static void scan(struct reader *reader, const char *data, size_t len)
{
    reader->scanned += len;
    while (len > 0) {
        const char *newline = memchr(data, '\n', len);
        size_t part = newline ? (size_t)(newline - data) + 1 : len;

        if (is_wanted(reader))
            keep(reader, data, part);
        reader->in_line = true;
        if (newline)
            end_line(reader);
        data += part;
        len -= part;
    }
}

static int give(const struct buf *buf, struct arena *arena, struct hutch_file_content *ret)
{
    char *copy = buf->failed ? NULL : arena_alloc(arena, buf->len + 1);

    if (!copy)
        return -ENOMEM;
    if (buf->len)
        memcpy(copy, buf->data, buf->len);
    ret->data = copy;
    ret->len = buf->len;
    ret->utf8 = str_is_utf8(copy, buf->len);
    return 0;
}

/* The lines, when the whole of the file's first block is in `block` already. */
static int read_lines(struct reader *reader, int fd, char *block, size_t len)
{
    for (;;) {
        scan(reader, block, len);
        if (len < BLOCK) {
            reader->ended = true;
            break;
        }
        if (reader->scanned >= reader->options->scan_bytes)
            break;
        ssize_t n = work_file_read(fd, block, BLOCK);
        if (n < 0)
            return (int)n;
        len = (size_t)n;
    }
    if (reader->ended && reader->in_line)
        end_line(reader);
    /* Not there yet, and there is more: this line is out of reach. */
    return !reader->ended && reader->taken == 0 && reader->options->limit > 0 ? -EFBIG : 0;
}

static int lines(struct reader *reader, int fd, char *block, size_t len, struct arena *arena,
                 struct hutch_file_content *ret)
{
    int r = read_lines(reader, fd, block, len);
    if (r < 0)
        return r;
    uint64_t next = reader->options->offset + reader->taken;
    /* A line that was still being read when the scan stopped is not there. */
    if (!reader->full && reader->taken > 0)
        reader->content.len = reader->whole;
    ret->truncated = reader->full;
    ret->start_line = reader->taken ? reader->options->offset + 1 : 0;
    ret->end_line = reader->taken ? next : 0;
    ret->more = next >= reader->options->offset && (!reader->ended || next < reader->line);
    ret->next_offset = ret->more ? next : 0;
    ret->total_known = reader->ended;
    ret->total_lines = reader->ended ? reader->line : 0;
    return give(&reader->content, arena, ret);
}

/* Bytes from where `fd` is, of which `have` are in `block`. */
static int bytes(int fd, uint64_t limit, size_t max, char *block, size_t have, struct arena *arena,
                 struct hutch_file_content *ret)
{
    buf_auto struct buf buf;
    size_t most = limit < max ? (size_t)limit : max;
    bool ended = false;

    buf_init(&buf, most);
    for (size_t len = have, room = most; !buf.failed; room = most - buf.len) {
        buf_add(&buf, block, len < room ? len : room);
        ended = len <= room && len < BLOCK;
        if (ended || len > room)
            break;
        ssize_t n = work_file_read(fd, block, BLOCK);
        if (n < 0)
            return (int)n;
        len = (size_t)n;
    }
    ret->more = !ended;
    ret->truncated = !ended && max < limit;
    return give(&buf, arena, ret);
}

static int read_bytes(int fd, const struct hutch_file_read_options *options, char *block,
                      struct arena *arena, struct hutch_file_content *ret)
{
    if (options->offset > INT64_MAX || lseek(fd, (off_t)options->offset, SEEK_SET) < 0)
        return -EFBIG;
    ssize_t n = work_file_read(fd, block, BLOCK);
    if (n < 0)
        return (int)n;
    int r = bytes(fd, options->limit, options->max_bytes, block, (size_t)n, arena, ret);
    ret->next_offset = ret->more ? options->offset + ret->len : 0;
    return r;
}

static int read_file(int fd, const struct hutch_file_read_options *options, struct arena *arena,
                     struct hutch_file_content *ret)
{
    char block[BLOCK];

    if (options->bytes)
        return read_bytes(fd, options, block, arena, ret);
    ssize_t n = work_file_read(fd, block, sizeof block);
    if (n < 0)
        return (int)n;
    ret->binary = !text_is_text(block, (size_t)n);
    if (ret->binary) {
        int r = bytes(fd, UINT64_MAX, options->max_bytes, block, (size_t)n, arena, ret);
        ret->more = false; /* not in lines */
        return r;
    }
    struct reader reader = {.options = options};
    buf_init(&reader.content, options->max_bytes);
    int r = lines(&reader, fd, block, (size_t)n, arena, ret);
    buf_clear(&reader.content);
    return r;
}

static int read_path(const struct call *call, const struct hutch_file_read_options *options,
                     struct arena *arena, struct hutch_file_content *ret)
{
    struct hutch_file_content content = {0};
    struct stat st;
    fd_auto int fd = work_file_open(call->work, call->path, &st);
    if (fd < 0)
        return fd;

    content.size = (uint64_t)st.st_size;
    content.modified_ns = work_file_modified_ns(&st);
    int r = read_file(fd, options, arena, &content);
    if (r == 0)
        *ret = content;
    return r;
}

int work_read(const struct work *work, const char *path,
              const struct hutch_file_read_options *options, struct arena *arena,
              struct hutch_file_content *ret, struct hutch_error *err)
{
    struct call call;
    int r = call_begin(&call, work, "read", path, err);

    return r < 0 ? r : call_end(&call, read_path(&call, options, arena, ret));
}
