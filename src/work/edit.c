/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "work/call.h"
#include "work/file.h"
#include "work/replace.h"
#include "work/text.h"

/* What is looked for and what takes its place, in one kind of line ends. */
struct change {
    const char *from;
    size_t from_len;
    const char *to;
    size_t to_len;
};

static bool is_crlf(const char *data, size_t len, size_t newline)
{
    return newline > 0 && newline < len && data[newline] == '\n' && data[newline - 1] == '\r';
}

/* `text` with every line end as "\r\n", or every one as "\n". */
static char *with_ends(struct arena *arena, const char *text, bool crlf)
{
    size_t len = strlen(text), at = 0;
    char *out = arena_alloc(arena, 2 * len + 1);

    for (size_t i = 0; out && i < len; i++) {
        if (text[i] == '\r' && text[i + 1] == '\n')
            continue;
        if (crlf && text[i] == '\n')
            out[at++] = '\r';
        out[at++] = text[i];
    }
    return out;
}

static uint64_t count(const struct work_bytes *file, const struct change *change)
{
    uint64_t found = 0;
    const char *at = file->data, *end = file->data + file->len;

    while ((at = memmem(at, (size_t)(end - at), change->from, change->from_len))) {
        found++;
        at += change->from_len;
    }
    return found;
}

/* Whether there are line ends, and all of them are "\r\n". */
static bool all_crlf(const struct work_bytes *file)
{
    const char *at = file->data, *end = file->data + file->len;
    bool any = false;

    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        if (!is_crlf(file->data, file->len, (size_t)(at - file->data)))
            return false;
        any = true;
        at++;
    }
    return any;
}

static struct change change_of(const char *from, const char *to)
{
    return (struct change){.from = from, .from_len = strlen(from), .to = to, .to_len = strlen(to)};
}

/* Find out in which kind of line ends the old text is there. *change is as the caller sent it. */
static int choose(const struct work_bytes *file, struct arena *arena, struct change *change,
                  uint64_t *found)
{
    const struct change sent = *change;

    *found = count(file, &sent);
    for (int crlf = 1; crlf >= 0 && *found == 0 && strchr(sent.from, '\n'); crlf--) {
        const char *from = with_ends(arena, sent.from, crlf);
        const char *to = with_ends(arena, sent.to, crlf);
        if (!from || !to)
            return -ENOMEM;
        *change = change_of(from, to);
        *found = count(file, change);
    }
    /* Text without line ends fits any file; what replaces it may have some. */
    if (*found > 0 && !strchr(sent.from, '\n') && strchr(sent.to, '\n') && all_crlf(file)) {
        const char *to = with_ends(arena, sent.to, true);
        if (!to)
            return -ENOMEM;
        *change = change_of(sent.from, to);
    }
    return 0;
}

static int apply(const struct work_bytes *file, const struct change *change, struct buf *out)
{
    const char *at = file->data, *end = file->data + file->len, *hit;

    while ((hit = memmem(at, (size_t)(end - at), change->from, change->from_len))) {
        buf_add(out, at, (size_t)(hit - at));
        buf_add(out, change->to, change->to_len);
        at = hit + change->from_len;
    }
    buf_add(out, at, (size_t)(end - at));
    return out->failed ? -ENOMEM : 0; /* the size was checked */
}

/* The new size, before memory is asked for; -EFBIG when it is above the limit. */
static int check_size(const struct work_bytes *file, const struct change *change, uint64_t found,
                      size_t max)
{
    uint64_t added;

    if (__builtin_mul_overflow(found, (uint64_t)change->to_len, &added) ||
        __builtin_add_overflow(added, file->len - found * change->from_len, &added) || added > max)
        return -EFBIG;
    return 0;
}

static int edit_bytes(const struct work_bytes *file, const struct hutch_file_edit_options *options,
                      struct arena *arena, struct change *change, struct buf *out, uint64_t *found)
{
    if (change->from_len == 0) {
        *found = 1;
        buf_add(out, change->to, change->to_len);
        return file->len > 0 ? -ENOTUNIQ : out->failed ? -EFBIG : 0;
    }
    int r = choose(file, arena, change, found);
    if (r < 0)
        return r;
    if (*found == 0)
        return -ENOMSG;
    if (*found > 1 && !options->all)
        return -ENOTUNIQ;
    r = check_size(file, change, *found, options->max_bytes);
    return r < 0 ? r : apply(file, change, out);
}

static int load(const struct work *work, const struct work_spot *spot, size_t max,
                struct work_bytes *file)
{
    struct stat st;
    fd_auto int fd = work_file_open_at(work, spot->dir, spot->name, &st);
    if (fd < 0)
        return fd;
    int r = work_file_load(fd, max, false, file);
    if (r < 0)
        return r;
    if (!text_is_bytes(file->data, file->len))
        return -EILSEQ;
    return file->more ? -EFBIG : 0;
}

/* Of *ret the path is there already. */
static int edit_path(const struct call *call, const struct hutch_file_edit_options *options,
                     struct arena *arena, struct change change, struct hutch_file_edited *ret)
{
    work_spot_auto struct work_spot spot = WORK_SPOT_INIT;
    work_bytes_auto struct work_bytes file = {0};
    buf_auto struct buf out;
    char text[PATH_MAX];

    buf_init(&out, options->max_bytes);
    int r = work_path_below(call->path, "", text);
    if (r == 0)
        r = work_spot_follow(call->work, text, &spot);
    if (r == 0)
        r = load(call->work, &spot, options->max_bytes, &file);
    if (r == 0)
        r = edit_bytes(&file, options, arena, &change, &out, &ret->occurrences);
    if (r < 0)
        return r;
    ret->size = out.len;
    struct replace replace = {.spot = &spot, .data = out.data, .len = out.len};
    return replace_file(&replace);
}

int work_edit(const struct work *work, const char *path, const char *old_text, const char *new_text,
              const struct hutch_file_edit_options *options, struct arena *arena,
              struct hutch_file_edited *ret, struct hutch_error *err)
{
    struct hutch_file_edited edited = {0};
    struct call call;
    int r = call_begin(&call, work, "edit", path, err);

    if (r < 0)
        return r;
    edited.path = arena_strdup(arena, call.path);
    r = edited.path ? edit_path(&call, options, arena, change_of(old_text, new_text), &edited)
                    : -ENOMEM;
    r = call_end(&call, r);
    if (r == 0)
        *ret = edited;
    return r;
}
