/* SPDX-License-Identifier: Apache-2.0 */
#include "api/files.h"

#include "api/sandbox.h"
#include "base/err.h"
#include "base/options.h"
#include "base/str.h"

int files_begin(struct hutch_sandbox *sandbox, const void *result, struct work *ret,
                struct hutch_error *err)
{
    if (!sandbox)
        return err_set(err, HUTCH_EINVALID, "sandbox", "NULL was given");
    return result ? sandbox_work(sandbox, ret, err) : err_oom(err);
}

void hutch_file_free(void *result)
{
    held_free(result);
}

const char *hutch_file_type_name(enum hutch_file_type type)
{
    static const char *const names[] = {
        [HUTCH_FILE_REGULAR] = "file",
        [HUTCH_FILE_DIRECTORY] = "directory",
        [HUTCH_FILE_SYMLINK] = "symlink",
        [HUTCH_FILE_OTHER] = "other",
    };

    return (size_t)type < ARRAY_LEN(names) ? names[type] : "unknown";
}

int hutch_file_stat(struct hutch_sandbox *sandbox, const char *path,
                    const struct hutch_file_stat_options *options, struct hutch_file_entry **ret,
                    struct hutch_error *err)
{
    struct hutch_file_stat_options known = HUTCH_FILE_STAT_INIT;
    struct work work;

    if (!path || !ret)
        return err_null(err, !path ? "path" : "ret");
    held_auto struct hutch_file_entry *entry = held_new(sizeof *entry);
    int r = files_begin(sandbox, entry, &work, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = work_stat(&work, path, known.follow, held_arena(entry), entry, err);
    if (r < 0)
        return r;
    *ret = entry;
    entry = NULL;
    return 0;
}

int hutch_file_list(struct hutch_sandbox *sandbox, const char *path,
                    const struct hutch_file_list_options *options, struct hutch_file_entries **ret,
                    struct hutch_error *err)
{
    struct hutch_file_list_options known = HUTCH_FILE_LIST_INIT;
    struct work work;

    if (!ret)
        return err_null(err, "ret");
    held_auto struct hutch_file_entries *entries = held_new(sizeof *entries);
    int r = files_begin(sandbox, entries, &work, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = work_list(&work, path, &known, held_arena(entries), entries, err);
    if (r < 0)
        return r;
    *ret = entries;
    entries = NULL;
    return 0;
}

int hutch_file_read(struct hutch_sandbox *sandbox, const char *path,
                    const struct hutch_file_read_options *options, struct hutch_file_content **ret,
                    struct hutch_error *err)
{
    struct hutch_file_read_options known = HUTCH_FILE_READ_INIT;
    struct work work;

    if (!path || !ret)
        return err_null(err, !path ? "path" : "ret");
    held_auto struct hutch_file_content *content = held_new(sizeof *content);
    int r = files_begin(sandbox, content, &work, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = work_read(&work, path, &known, held_arena(content), content, err);
    if (r < 0)
        return r;
    *ret = content;
    content = NULL;
    return 0;
}

int hutch_file_write(struct hutch_sandbox *sandbox, const char *path, const void *data, size_t len,
                     const struct hutch_file_write_options *options,
                     struct hutch_file_written **ret, struct hutch_error *err)
{
    struct hutch_file_write_options known = HUTCH_FILE_WRITE_INIT;
    struct work work;

    if (!path || (!data && len > 0))
        return err_null(err, !path ? "path" : "data");
    held_auto struct hutch_file_written *written = held_new(sizeof *written);
    int r = files_begin(sandbox, written, &work, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = sandbox_check_watched(sandbox, path, held_arena(written), err);
    if (r == 0)
        r = work_write(&work, path, data, len, &known, held_arena(written), written, err);
    if (r < 0)
        return r;
    sandbox_file_written(sandbox, written->path, written->size);
    if (!ret)
        return 0;
    *ret = written;
    written = NULL;
    return 0;
}

int hutch_file_edit(struct hutch_sandbox *sandbox, const char *path, const char *old_text,
                    const char *new_text, const struct hutch_file_edit_options *options,
                    struct hutch_file_edited **ret, struct hutch_error *err)
{
    struct hutch_file_edit_options known = HUTCH_FILE_EDIT_INIT;
    struct work work;

    if (!path || !old_text || !new_text)
        return err_null(err, !path ? "path" : !old_text ? "old" : "new");
    held_auto struct hutch_file_edited *edited = held_new(sizeof *edited);
    int r = files_begin(sandbox, edited, &work, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = work_edit(&work, path, old_text, new_text, &known, held_arena(edited), edited, err);
    if (r < 0)
        return r;
    sandbox_file_written(sandbox, edited->path, edited->size);
    if (!ret)
        return 0;
    *ret = edited;
    edited = NULL;
    return 0;
}

int hutch_file_delete(struct hutch_sandbox *sandbox, const char *path,
                      const struct hutch_file_delete_options *options, struct hutch_error *err)
{
    struct hutch_file_delete_options known = HUTCH_FILE_DELETE_INIT;
    struct work work;

    if (!path)
        return err_null(err, "path");
    int r = files_begin(sandbox, path, &work, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    return r < 0 ? r : work_delete(&work, path, &known, err);
}

int hutch_file_glob(struct hutch_sandbox *sandbox, const char *path, const char *pattern,
                    const struct hutch_file_glob_options *options, struct hutch_file_entries **ret,
                    struct hutch_error *err)
{
    struct hutch_file_glob_options known = HUTCH_FILE_GLOB_INIT;
    struct work work;

    if (!pattern || !ret)
        return err_null(err, !pattern ? "pattern" : "ret");
    held_auto struct hutch_file_entries *entries = held_new(sizeof *entries);
    int r = files_begin(sandbox, entries, &work, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = work_glob(&work, path, pattern, &known, held_arena(entries), entries, err);
    if (r < 0)
        return r;
    *ret = entries;
    entries = NULL;
    return 0;
}

int hutch_file_grep(struct hutch_sandbox *sandbox, const char *path, const char *pattern,
                    const struct hutch_file_grep_options *options, struct hutch_file_matches **ret,
                    struct hutch_error *err)
{
    struct hutch_file_grep_options known = HUTCH_FILE_GREP_INIT;
    struct work work;

    if (!pattern || !ret)
        return err_null(err, !pattern ? "pattern" : "ret");
    held_auto struct hutch_file_matches *matches = held_new(sizeof *matches);
    int r = files_begin(sandbox, matches, &work, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = work_grep(&work, path, pattern, &known, held_arena(matches), matches, err);
    if (r < 0)
        return r;
    *ret = matches;
    matches = NULL;
    return 0;
}
