/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a sandbox, for the engine, while the untrusted change them. What each call does, with its
 * options and its result, is in hutch.h under the same name: hutch_file_read() is work_read().
 *
 * Paths are paths inside: absolute, or relative to `cwd`; the kernel resolves them below `root` and
 * follows links as it would for a command there, but for the magic ones of /proc.
 *
 * All calls return 0, or a negative HUTCH_* code with *err filled; then *ret is untouched. err->where
 * is the path, or the name of the argument that is to blame, and err->sys_errno tells apart what a code
 * does not: EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, ELOOP, EFBIG and so on. Everything a result points to
 * lives in `arena`. Nothing is kept between calls: any thread, also with the same struct work.
 *
 * Options are never NULL here, and their `size` is not looked at. Budgets bound what one call costs,
 * whatever lies in the tree.
 */
#pragma once

#include <hutch.h>
#include <sys/types.h>

struct arena;

struct work {
    int root;        /* the directory that is "/" inside; O_PATH will do */
    const char *cwd; /* where relative paths start, absolute inside; NULL is "/" */
    /*
     * The ids that files are touched as, on the host; -1: the caller's own. With ids, the calling
     * thread also has no capability for the time of a call and, if they are not its own, no
     * supplementary group.
     */
    uid_t fsuid;
    gid_t fsgid;
    /* Directories that a search from "/" passes over, absolute inside; ends with NULL. NULL: none. */
    const char *const *system_dirs;
};
#define WORK_INIT                                                                                  \
    {                                                                                              \
        .root = -1, .fsuid = (uid_t)-1, .fsgid = (gid_t)-1                                         \
    }

/* ---- Looking. `path` of a list may be NULL for `cwd`, and so may that of a search. ---- */

int work_stat(const struct work *work, const char *path, bool follow, struct arena *arena,
              struct hutch_file_entry *ret, struct hutch_error *err);

int work_list(const struct work *work, const char *path,
              const struct hutch_file_list_options *options, struct arena *arena,
              struct hutch_file_entries *ret, struct hutch_error *err);

int work_read(const struct work *work, const char *path,
              const struct hutch_file_read_options *options, struct arena *arena,
              struct hutch_file_content *ret, struct hutch_error *err);

/* ---- Changing ---- */

int work_write(const struct work *work, const char *path, const void *data, size_t len,
               const struct hutch_file_write_options *options, struct arena *arena,
               struct hutch_file_written *ret, struct hutch_error *err);

int work_edit(const struct work *work, const char *path, const char *old_text, const char *new_text,
              const struct hutch_file_edit_options *options, struct arena *arena,
              struct hutch_file_edited *ret, struct hutch_error *err);

int work_delete(const struct work *work, const char *path,
                const struct hutch_file_delete_options *options, struct hutch_error *err);

/* ---- Searching ---- */

int work_glob(const struct work *work, const char *path, const char *pattern,
              const struct hutch_file_glob_options *options, struct arena *arena,
              struct hutch_file_entries *ret, struct hutch_error *err);

int work_grep(const struct work *work, const char *path, const char *pattern,
              const struct hutch_file_grep_options *options, struct arena *arena,
              struct hutch_file_matches *ret, struct hutch_error *err);
