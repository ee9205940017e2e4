/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a sandbox, for the engine, while the untrusted change them.
 *
 * Paths are paths inside: absolute, or relative to `cwd`; the kernel resolves them below `root` and
 * follows links as it would for a command there, but for the magic ones of /proc. Slashes at the end
 * of a path say nothing. Names are bytes, not text.
 *
 * All calls return 0, or a negative HUTCH_* code with *err filled; then *ret is untouched. err->where
 * is the path, or the name of the argument that is to blame, and err->sys_errno tells apart what a code
 * does not: EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, ELOOP, EFBIG and so on. Everything a result points to
 * lives in `arena`. Nothing is kept between calls: any thread, also with the same struct work.
 *
 * Budgets bound what one call costs, whatever lies in the tree. Zero is no budget at all: start from
 * the _INIT of the options.
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
     * thread also has no supplementary group and no capability for the time of a call.
     */
    uid_t fsuid;
    gid_t fsgid;
};
#define WORK_INIT                                                                                  \
    {                                                                                              \
        .root = -1, .fsuid = (uid_t)-1, .fsgid = (gid_t)-1                                         \
    }

enum work_type { WORK_FILE, WORK_DIRECTORY, WORK_SYMLINK, WORK_OTHER };

struct work_entry {
    const char *name; /* in its directory; of a match: from where the search began */
    const char *path; /* absolute inside, as it was asked for: ".." and links are not resolved */
    enum work_type type;
    uint64_t size;
    int64_t modified_ns; /* since 1970 */
    mode_t mode;         /* permissions, 07777 */
};

struct work_entries {
    const struct work_entry *items; /* sorted by path, as bytes */
    size_t count;
    bool truncated; /* there is more */
};

/* ---- Looking ---- */

/* One entry. A link at the end is not followed, unless `follow` and it leads somewhere inside. */
int work_stat(const struct work *work, const char *path, bool follow, struct arena *arena,
              struct work_entry *ret, struct hutch_error *err);

struct work_list_options {
    size_t limit; /* entries; when there are more, any of them */
    bool follow;  /* say of a link what it leads to */
};
#define WORK_LIST_INIT                                                                             \
    {                                                                                              \
        .limit = 10000                                                                             \
    }

/* What is in a directory, hidden names too. `path` may be NULL for `cwd`. */
int work_list(const struct work *work, const char *path, const struct work_list_options *options,
              struct arena *arena, struct work_entries *ret, struct hutch_error *err);

/* ---- Reading ---- */

struct work_read_options {
    uint64_t offset;     /* the first line wanted, from 0; with `bytes` the first byte */
    uint64_t limit;      /* how many lines; with `bytes` how many bytes */
    size_t max_bytes;    /* most bytes of content */
    uint64_t scan_bytes; /* most bytes that are looked at to find and count lines */
    bool bytes;          /* the file as it is: no lines, nothing detected */
};
#define WORK_READ_INIT                                                                             \
    {                                                                                              \
        .limit = 2000, .max_bytes = (size_t)500 << 10, .scan_bytes = (uint64_t)256 << 20           \
    }

struct work_content {
    const char *content; /* bytes as in the file, with their line ends; a NUL behind them */
    size_t len;
    uint64_t size;       /* of the file when it was opened */
    int64_t modified_ns; /* since 1970 */
    bool binary;         /* its start has a NUL or is not UTF-8: content is from byte 0, no lines */
    bool utf8;           /* the content is valid UTF-8 */
    bool truncated;      /* max_bytes left out some of what was asked for */
    uint64_t start_line; /* from 1; 0 when there is no line in the content */
    uint64_t end_line;   /* the last one that is whole (a first line that is too long: cut) */
    bool more;           /* next_offset is where to go on */
    uint64_t next_offset; /* in the unit of `offset` */
    bool total_known;     /* total_lines was counted */
    uint64_t total_lines;
};

/*
 * A regular file, or some lines of it. A line ends with "\n"; the last one need not. An offset behind
 * the end is no error: there are no lines then, and total_lines says why. EFBIG: the offset is farther
 * away than scan_bytes.
 */
int work_read(const struct work *work, const char *path, const struct work_read_options *options,
              struct arena *arena, struct work_content *ret, struct hutch_error *err);

/* ---- Changing ---- */

struct work_write_options {
    mode_t mode;    /* 0: as the file has it, 0644 for a new one; at most 0777; no umask */
    bool exclusive; /* EEXIST when it exists */
};
#define WORK_WRITE_INIT                                                                            \
    {                                                                                              \
        0                                                                                          \
    }

struct work_written {
    const char *path;
    uint64_t size;
    bool created;
    bool in_place; /* not atomic: its directory does not allow to put a new file there */
};

/*
 * Write a whole file. Directories on the way are made (0755). The new content appears at once, under
 * a new inode, so that hard links keep the old one. Links at the end are followed.
 */
int work_write(const struct work *work, const char *path, const void *data, size_t len,
               const struct work_write_options *options, struct arena *arena,
               struct work_written *ret, struct hutch_error *err);

struct work_edit_options {
    bool all;         /* replace every occurrence; otherwise there must be exactly one */
    size_t max_bytes; /* of the file, before and after */
};
#define WORK_EDIT_INIT                                                                             \
    {                                                                                              \
        .max_bytes = (size_t)64 << 20                                                              \
    }

struct work_edited {
    const char *path;
    uint64_t occurrences; /* that were replaced */
};

/*
 * Replace `old_text` by `new_text`, literally. When `old_text` is not found as it is, once more with
 * "\n" as "\r\n" in both, then the other way round; text that goes into a file whose lines all end in
 * "\r\n" gets such ends too. An empty `old_text` is for an empty file only. Refused with where "old" and
 * sys_errno ENOMSG (not found) or ENOTUNIQ (more than one); EILSEQ: the file is binary.
 * Written as work_write() does; what others wrote meanwhile is lost.
 */
int work_edit(const struct work *work, const char *path, const char *old_text, const char *new_text,
              const struct work_edit_options *options, struct arena *arena, struct work_edited *ret,
              struct hutch_error *err);

struct work_delete_options {
    bool recursive;     /* also directories that are not empty */
    uint64_t budget_ms; /* ETIMEDOUT after this long */
};
#define WORK_DELETE_INIT                                                                           \
    {                                                                                              \
        .budget_ms = 30000                                                                         \
    }

/*
 * Remove a file, a link, or a directory. Links are never followed. Stops at the first thing that
 * cannot be removed: what is gone by then is gone. A mount point is EBUSY, with nothing removed.
 */
int work_delete(const struct work *work, const char *path,
                const struct work_delete_options *options, struct hutch_error *err);

/* ---- Searching ---- */

struct work_glob_options {
    bool directories; /* directories match too, not only files */
    bool hidden;   /* wildcards match a dot at the start of a name, "**" enters such directories */
    bool anchored; /* a pattern without a slash is for `path` itself, not for every directory */
    size_t limit;  /* matches */
    uint64_t budget_ms; /* time */
};
#define WORK_GLOB_INIT                                                                             \
    {                                                                                              \
        .limit = 10000, .budget_ms = 5000                                                          \
    }

/*
 * Files below `path` (NULL: `cwd`) that match: "*" and "?" within a name, "[a-z]", "[!a]", "[^a]",
 * "[[:alpha:]]", "\" before a character that means itself, "{a,b}", and "**" for any number of
 * directories. A slash at the start anchors like `anchored`; one at the end wants directories. Links
 * count as what they lead to, inside; a search goes through those in the part before the first
 * wildcard only. /proc, /sys and paths too long to open are left out. What a budget cuts off is
 * `truncated`, not an error.
 */
int work_glob(const struct work *work, const char *path, const char *pattern,
              const struct work_glob_options *options, struct arena *arena,
              struct work_entries *ret, struct hutch_error *err);

struct work_grep_options {
    bool regex;          /* POSIX extended and more: see rx.h. Otherwise literal */
    bool ignore_case;    /* of a literal: that of ASCII */
    size_t context;      /* lines before and after, at most 100 */
    const char *include; /* glob: only these files; without a slash it is for names. NULL: all */
    size_t limit;        /* matches in all */
    size_t line_bytes;   /* longer lines are cut to this in the result */
    size_t file_bytes;   /* only the start of longer files is searched */
    size_t total_bytes;  /* text in all */
    uint64_t budget_ms;  /* time */
};
#define WORK_GREP_INIT                                                                             \
    {                                                                                              \
        .limit = 1000, .line_bytes = (size_t)16 << 10, .file_bytes = (size_t)32 << 20,             \
        .total_bytes = (size_t)8 << 20, .budget_ms = 10000                                         \
    }

/* Lines are without their ends. They have no NUL, but need not be UTF-8. */
struct work_match {
    const char *path;
    uint64_t line; /* from 1 */
    const char *text;
    const char *const *before; /* the oldest first */
    const char *const *after;
    size_t before_count;
    size_t after_count;
};

struct work_matches {
    const struct work_match *items; /* by file; the files of a directory before those below it */
    size_t count;
    bool truncated; /* a budget left something out; matches that are exactly `limit` are not */
};

/*
 * Lines that match, in the file or below the directory `path` (NULL: `cwd`). Hidden files too;
 * links and other things than files are passed over, and so are binary files, those that may not be
 * read, and /proc and /sys (unless the search starts there).
 */
int work_grep(const struct work *work, const char *path, const char *pattern,
              const struct work_grep_options *options, struct arena *arena,
              struct work_matches *ret, struct hutch_error *err);
