/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many files in one call. Everything that a result needs to say what happened is there before the first
 * file is touched; what one file needs has memory of its own, so that the want of it is about that file.
 */
#include <errno.h>

#include "api/files.h"
#include "api/sandbox.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"
#include "base/str.h"

/* Fill `transfers` with `count` rows without paths. */
static int make_rows(struct hutch_file_transfers *transfers, size_t count,
                     struct hutch_file_transfer **ret, struct hutch_error *err)
{
    struct hutch_file_transfer *rows;
    size_t bytes;

    if (__builtin_mul_overflow(count, sizeof *rows, &bytes))
        return err_oom(err);
    rows = arena_alloc(held_arena(transfers), bytes);
    if (!rows)
        return err_oom(err);
    *transfers = (struct hutch_file_transfers){.items = rows, .count = count};
    *ret = rows;
    return 0;
}

static void upload_one(const struct hutch_sandbox *sandbox, const struct work *work,
                       const struct hutch_file_source *file, struct hutch_error *err)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;
    struct hutch_file_written written;
    struct arena arena;

    if (!file->path || (!file->data && file->len > 0)) {
        err_set(err, HUTCH_EINVALID, !file->path ? "path" : "data", "NULL was given");
        return;
    }
    arena_init(&arena);
    options.mode = file->mode;
    int r = sandbox_check_watched(sandbox, file->path, &arena, err);
    if (r == 0)
        r = work_write(work, file->path, file->data, file->len, &options, &arena, &written, err);
    if (r == 0)
        sandbox_file_written(sandbox, written.path, written.size);
    arena_clear(&arena);
}

int hutch_file_upload(struct hutch_sandbox *sandbox, const struct hutch_file_source *files,
                      size_t count, struct hutch_file_transfers **ret, struct hutch_error *err)
{
    struct hutch_file_transfer *rows = NULL;
    struct work work;

    if (!ret || (!files && count > 0))
        return err_set(err, HUTCH_EINVALID, !ret ? "ret" : "files", "NULL was given");
    held_auto struct hutch_file_transfers *transfers = held_new(sizeof *transfers);
    int r = files_begin(sandbox, transfers, &work, err);
    if (r == 0)
        r = make_rows(transfers, count, &rows, err);
    if (r < 0 || !rows)
        return r;
    for (size_t i = 0; i < count; i++)
        rows[i].path = files[i].path ? arena_strdup(held_arena(transfers), files[i].path) : NULL;
    if (arena_failed(held_arena(transfers)))
        return err_oom(err);
    for (size_t i = 0; i < count; i++)
        upload_one(sandbox, &work, &files[i], &rows[i].error);
    *ret = transfers;
    transfers = NULL;
    return 0;
}

/* The whole file, of at most `max` bytes, copied to `arena`. */
static void download_one(const struct work *work, size_t max, struct arena *arena,
                         struct hutch_file_transfer *row)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    struct hutch_file_content content;
    struct arena own;
    char shown[256];

    if (!row->path) {
        err_set(&row->error, HUTCH_EINVALID, "path", "NULL was given");
        return;
    }
    arena_init(&own);
    options.bytes = true;
    options.limit = UINT64_MAX;
    options.max_bytes = max;
    int r = work_read(work, row->path, &options, &own, &content, &row->error);
    if (r == 0 && content.truncated) {
        err_sys(&row->error, -EFBIG, row->path, "cannot download '%s': it is too large",
                str_printable(row->path, shown, sizeof shown));
        row->error.code = HUTCH_EINVALID;
    } else if (r == 0) {
        char *copy = arena_alloc(arena, content.len + 1);
        if (copy)
            memcpy(copy, content.data, content.len);
        else
            err_oom(&row->error);
        row->data = copy;
        row->len = copy ? content.len : 0;
    }
    arena_clear(&own);
}

int hutch_file_download(struct hutch_sandbox *sandbox, const char *const *paths, size_t count,
                        const struct hutch_file_download_options *options,
                        struct hutch_file_transfers **ret, struct hutch_error *err)
{
    struct hutch_file_download_options known = HUTCH_FILE_DOWNLOAD_INIT;
    struct hutch_file_transfer *rows = NULL;
    struct work work;

    if (!ret || (!paths && count > 0))
        return err_set(err, HUTCH_EINVALID, !ret ? "ret" : "paths", "NULL was given");
    held_auto struct hutch_file_transfers *transfers = held_new(sizeof *transfers);
    int r = files_begin(sandbox, transfers, &work, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = make_rows(transfers, count, &rows, err);
    if (r < 0 || !rows)
        return r;
    for (size_t i = 0; i < count; i++)
        rows[i].path = paths[i] ? arena_strdup(held_arena(transfers), paths[i]) : NULL;
    if (arena_failed(held_arena(transfers)))
        return err_oom(err);
    for (size_t i = 0, left = known.total_bytes; i < count; i++) {
        size_t max = known.max_bytes < left ? known.max_bytes : left;

        download_one(&work, max, held_arena(transfers), &rows[i]);
        left -= rows[i].len;
    }
    *ret = transfers;
    transfers = NULL;
    return 0;
}
