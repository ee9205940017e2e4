/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* The calls of hutch.h about files, with a directory in place of a sandbox. */
#include <hutch.h>

#include "../work/inside.h"
#include "api/sandbox.h"

/* Never looked into: what stands in for api/sandbox.c below does not. */
static struct hutch_sandbox *const box = (void *)&work;
static bool gone;
static char told[256]; /* the files that were written: "/ws/file 4;" */

int __wrap_sandbox_work(struct hutch_sandbox *sandbox, struct work *ret, struct hutch_error *error);

int __wrap_sandbox_work(struct hutch_sandbox *sandbox, struct work *ret, struct hutch_error *error)
{
    assert_ptr_equal(sandbox, box);
    if (gone) {
        *error = (struct hutch_error){.code = HUTCH_ESTATE, .msg = "gone"};
        return HUTCH_ESTATE;
    }
    *ret = work;
    return 0;
}

int __wrap_sandbox_check_watched(const struct hutch_sandbox *sandbox, const char *path,
                                 struct arena *room, struct hutch_error *error);

int __wrap_sandbox_check_watched(const struct hutch_sandbox *sandbox, const char *path,
                                 struct arena *room, struct hutch_error *error)
{
    assert_ptr_equal(sandbox, box);
    return 0;
}

void __wrap_sandbox_file_written(const struct hutch_sandbox *sandbox, const char *path,
                                 uint64_t size);

void __wrap_sandbox_file_written(const struct hutch_sandbox *sandbox, const char *path,
                                 uint64_t size)
{
    size_t len = strlen(told);

    assert_ptr_equal(sandbox, box);
    snprintf(told + len, sizeof told - len, "%s %" PRIu64 ";", path, size);
}

/* What was told since this was asked last. */
static void assert_told(const char *want)
{
    assert_string_equal(told, want);
    told[0] = '\0';
}

static int setup(void **state)
{
    gone = false;
    told[0] = '\0';
    return inside_setup(state);
}

/* A call that must fail with this word, and say whom to blame. */
static void refused(int got, const char *word, const char *where)
{
    if (got >= 0 || got != err.code || !str_eq(hutch_error_word(&err), word) ||
        !str_eq(err.where, where))
        fail_msg("%d: %s at '%s' (%s), not %s at '%s'", got,
                 got < 0 ? hutch_error_word(&err) : "worked", err.where, err.msg, word, where);
}

static void done(int got)
{
    if (got != 0)
        fail_msg("%d: %s at '%s'", got, err.msg, err.where);
}

static void null_arguments(void **state)
{
    static const struct hutch_file_source files[1] = {{.path = "a", .data = "", .len = 0}};
    static const char *const paths[1] = {"a"};
    struct hutch_file_entry *entry = NULL;
    struct hutch_file_entries *entries = NULL;
    struct hutch_file_content *content = NULL;
    struct hutch_file_matches *matches = NULL;
    struct hutch_file_transfers *transfers = NULL;

    refused(hutch_file_stat(NULL, "a", NULL, &entry, &err), "invalid", "sandbox");
    refused(hutch_file_stat(box, NULL, NULL, &entry, &err), "invalid", "path");
    refused(hutch_file_stat(box, "a", NULL, NULL, &err), "invalid", "ret");
    refused(hutch_file_list(NULL, "a", NULL, &entries, &err), "invalid", "sandbox");
    refused(hutch_file_list(box, "a", NULL, NULL, &err), "invalid", "ret");
    refused(hutch_file_read(NULL, "a", NULL, &content, &err), "invalid", "sandbox");
    refused(hutch_file_read(box, NULL, NULL, &content, &err), "invalid", "path");
    refused(hutch_file_read(box, "a", NULL, NULL, &err), "invalid", "ret");
    refused(hutch_file_write(NULL, "a", "", 0, NULL, NULL, &err), "invalid", "sandbox");
    refused(hutch_file_write(box, NULL, "", 0, NULL, NULL, &err), "invalid", "path");
    refused(hutch_file_write(box, "a", NULL, 1, NULL, NULL, &err), "invalid", "data");
    refused(hutch_file_edit(NULL, "a", "b", "c", NULL, NULL, &err), "invalid", "sandbox");
    refused(hutch_file_edit(box, NULL, "b", "c", NULL, NULL, &err), "invalid", "path");
    refused(hutch_file_edit(box, "a", NULL, "c", NULL, NULL, &err), "invalid", "old");
    refused(hutch_file_edit(box, "a", "b", NULL, NULL, NULL, &err), "invalid", "new");
    refused(hutch_file_delete(NULL, "a", NULL, &err), "invalid", "sandbox");
    refused(hutch_file_delete(box, NULL, NULL, &err), "invalid", "path");
    refused(hutch_file_glob(NULL, "a", "*", NULL, &entries, &err), "invalid", "sandbox");
    refused(hutch_file_glob(box, "a", NULL, NULL, &entries, &err), "invalid", "pattern");
    refused(hutch_file_glob(box, "a", "*", NULL, NULL, &err), "invalid", "ret");
    refused(hutch_file_grep(NULL, "a", "x", NULL, &matches, &err), "invalid", "sandbox");
    refused(hutch_file_grep(box, "a", NULL, NULL, &matches, &err), "invalid", "pattern");
    refused(hutch_file_grep(box, "a", "x", NULL, NULL, &err), "invalid", "ret");
    refused(hutch_file_upload(NULL, files, 1, &transfers, &err), "invalid", "sandbox");
    refused(hutch_file_upload(box, NULL, 1, &transfers, &err), "invalid", "files");
    refused(hutch_file_upload(box, files, 1, NULL, &err), "invalid", "ret");
    refused(hutch_file_download(NULL, paths, 1, NULL, &transfers, &err), "invalid", "sandbox");
    refused(hutch_file_download(box, NULL, 1, NULL, &transfers, &err), "invalid", "paths");
    refused(hutch_file_download(box, paths, 1, NULL, NULL, &err), "invalid", "ret");
    assert_null(entry);
    assert_null(entries);
    assert_null(content);
    assert_null(matches);
    assert_null(transfers);
    hutch_file_free(NULL);
    /* An error need not be wanted. */
    assert_int_equal(hutch_file_read(box, "missing", NULL, &content, NULL), HUTCH_ENOTFOUND);
    assert_false(is_there("a"));
}

static void a_sandbox_that_is_gone(void **state)
{
    static const struct hutch_file_source files[1] = {{.path = "a", .data = "", .len = 0}};
    static const char *const paths[1] = {"a"};
    struct hutch_file_entry *entry = NULL;
    struct hutch_file_entries *entries = NULL;
    struct hutch_file_content *content = NULL;
    struct hutch_file_matches *matches = NULL;
    struct hutch_file_transfers *transfers = NULL;

    gone = true;
    refused(hutch_file_stat(box, "a", NULL, &entry, &err), "state", "");
    refused(hutch_file_list(box, "a", NULL, &entries, &err), "state", "");
    refused(hutch_file_read(box, "a", NULL, &content, &err), "state", "");
    refused(hutch_file_write(box, "a", "", 0, NULL, NULL, &err), "state", "");
    refused(hutch_file_edit(box, "a", "b", "c", NULL, NULL, &err), "state", "");
    refused(hutch_file_delete(box, "a", NULL, &err), "state", "");
    refused(hutch_file_glob(box, "a", "*", NULL, &entries, &err), "state", "");
    refused(hutch_file_grep(box, "a", "x", NULL, &matches, &err), "state", "");
    refused(hutch_file_upload(box, files, 1, &transfers, &err), "state", "");
    refused(hutch_file_download(box, paths, 1, NULL, &transfers, &err), "state", "");
}

/* Of a program that was built with another version of the header. */
static void options_of_other_sizes(void **state)
{
    struct {
        struct hutch_file_read_options known;
        char unknown[64];
    } newer = {.known = HUTCH_FILE_READ_INIT};
    struct hutch_file_read_options options = {.limit = 1};
    struct hutch_file_content *content = NULL;

    put("file", "1\n2\n3\n");
    refused(hutch_file_read(box, "file", &options, &content, &err), "invalid", "options");
    options.size = sizeof options.size;
    refused(hutch_file_read(box, "file", &options, &content, &err), "invalid", "options");

    /* Older: it knows `offset` and nothing else. */
    options = (struct hutch_file_read_options){
        .size = offsetof(struct hutch_file_read_options, limit), .offset = 1};
    done(hutch_file_read(box, "file", &options, &content, &err));
    assert_string_equal(content->data, "2\n3\n");
    hutch_file_free(content);

    newer.known.size = sizeof newer;
    newer.known.limit = 1;
    memset(newer.unknown, 0xff, sizeof newer.unknown);
    done(hutch_file_read(box, "file", &newer.known, &content, &err));
    assert_string_equal(content->data, "1\n");
    hutch_file_free(content);
}

static void stats(void **state)
{
    struct hutch_file_stat_options options = HUTCH_FILE_STAT_INIT;
    struct hutch_file_entry *entry = NULL;

    put("file", "12345");
    make_link("file", "link");
    done(hutch_file_stat(box, "link", NULL, &entry, &err));
    assert_int_equal(entry->type, HUTCH_FILE_SYMLINK);
    assert_string_equal(entry->name, "link");
    assert_string_equal(entry->path, "/ws/link");
    hutch_file_free(entry);

    options.follow = true;
    done(hutch_file_stat(box, "link", &options, &entry, &err));
    assert_int_equal(entry->type, HUTCH_FILE_REGULAR);
    assert_int_equal(entry->size, 5);
    assert_int_equal(entry->mode, 0644);
    assert_true(entry->modified_ns > 0);
    hutch_file_free(entry);
}

static void lists(void **state)
{
    struct hutch_file_list_options options = HUTCH_FILE_LIST_INIT;
    struct hutch_file_entries *entries = NULL;

    put("b", "");
    put(".a", "");
    make_dir("c");
    make_link("c", "d");
    done(hutch_file_list(box, NULL, NULL, &entries, &err));
    assert_int_equal(entries->count, 4);
    assert_false(entries->truncated);
    assert_string_equal(entries->items[0].name, ".a");
    assert_string_equal(entries->items[2].path, "/ws/c");
    assert_int_equal(entries->items[2].type, HUTCH_FILE_DIRECTORY);
    assert_int_equal(entries->items[3].type, HUTCH_FILE_SYMLINK);
    hutch_file_free(entries);

    options.follow = true;
    done(hutch_file_list(box, "/ws/", &options, &entries, &err));
    assert_int_equal(entries->items[3].type, HUTCH_FILE_DIRECTORY);
    hutch_file_free(entries);

    options.limit = 3;
    done(hutch_file_list(box, ".", &options, &entries, &err));
    assert_int_equal(entries->count, 3);
    assert_true(entries->truncated);
    hutch_file_free(entries);

    options = (struct hutch_file_list_options)HUTCH_FILE_LIST_INIT;
    options.budget_ms = 0;
    done(hutch_file_list(box, ".", &options, &entries, &err));
    assert_true(entries->truncated);
    hutch_file_free(entries);
}

static void reads(void **state)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    struct hutch_file_content *content = NULL;

    put("file", "one\ntwo\nthree\n");
    done(hutch_file_read(box, "file", NULL, &content, &err));
    assert_string_equal(content->data, "one\ntwo\nthree\n");
    assert_int_equal(content->size, 14);
    assert_true(content->utf8 && content->total_known && !content->more && !content->binary);
    assert_int_equal(content->total_lines, 3);
    hutch_file_free(content);

    options.offset = 1;
    options.limit = 1;
    done(hutch_file_read(box, "file", &options, &content, &err));
    assert_string_equal(content->data, "two\n");
    assert_int_equal(content->start_line, 2);
    assert_int_equal(content->end_line, 2);
    assert_true(content->more);
    assert_int_equal(content->next_offset, 2);
    hutch_file_free(content);

    options.limit = 10;
    options.max_bytes = 5;
    done(hutch_file_read(box, "file", &options, &content, &err));
    assert_string_equal(content->data, "two\n");
    assert_true(content->truncated);
    hutch_file_free(content);

    options.bytes = true;
    options.offset = 2;
    done(hutch_file_read(box, "file", &options, &content, &err));
    assert_string_equal(content->data, "e\ntwo");
    assert_int_equal(content->next_offset, 7);
    hutch_file_free(content);

    put_bytes("binary", "\0\1\377", 3);
    done(hutch_file_read(box, "binary", NULL, &content, &err));
    assert_int_equal(content->len, 3);
    assert_true(content->binary && !content->utf8);
    assert_int_equal(content->start_line, 0);
    hutch_file_free(content);
}

static void writes(void **state)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;
    struct hutch_file_written *written = NULL;

    options.mode = 0700;
    done(hutch_file_write(box, "new/file", "text", 4, &options, &written, &err));
    assert_string_equal(written->path, "/ws/new/file");
    assert_int_equal(written->size, 4);
    assert_true(written->created && !written->in_place);
    assert_int_equal(mode_of("new/file"), 0700);
    hutch_file_free(written);

    /* Without a result, and without data. */
    done(hutch_file_write(box, "new/file", NULL, 0, NULL, NULL, &err));
    assert_string_equal(get("new/file"), "");
    assert_int_equal(mode_of("new/file"), 0700);
    assert_told("/ws/new/file 4;/ws/new/file 0;");

    options.exclusive = true;
    refused(hutch_file_write(box, "new/file", "x", 1, &options, NULL, &err), "exists",
            "/ws/new/file");
    options.mode = 04755;
    refused(hutch_file_write(box, "other", "x", 1, &options, NULL, &err), "invalid", "mode");
    assert_false(is_there("other"));
    assert_told("");
}

static void edits(void **state)
{
    struct hutch_file_edit_options options = HUTCH_FILE_EDIT_INIT;
    struct hutch_file_edited *edited = NULL;

    put("file", "a b a\n");
    done(hutch_file_edit(box, "file", "b", "c", NULL, &edited, &err));
    assert_string_equal(edited->path, "/ws/file");
    assert_int_equal(edited->occurrences, 1);
    assert_int_equal(edited->size, 6);
    hutch_file_free(edited);
    assert_told("/ws/file 6;");

    refused(hutch_file_edit(box, "file", "a", "x", NULL, NULL, &err), "invalid", "old");
    assert_int_equal(err.sys_errno, ENOTUNIQ);
    refused(hutch_file_edit(box, "file", "z", "x", NULL, NULL, &err), "invalid", "old");
    assert_int_equal(err.sys_errno, ENOMSG);

    options.all = true;
    assert_told("");
    done(hutch_file_edit(box, "file", "a", "xy", &options, NULL, &err));
    assert_string_equal(get("file"), "xy c xy\n");
    assert_told("/ws/file 8;");
    options.max_bytes = 2;
    refused(hutch_file_edit(box, "file", "x", "y", &options, NULL, &err), "too_large", "/ws/file");
}

static void deletes(void **state)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;

    make_dir("dir");
    put("dir/file", "");
    refused(hutch_file_delete(box, "dir", NULL, &err), "is_directory", "/ws/dir");
    options.recursive = true;
    options.budget_ms = 0;
    refused(hutch_file_delete(box, "dir", &options, &err), "state", "/ws/dir");
    options.budget_ms = 10000;
    done(hutch_file_delete(box, "dir", &options, &err));
    assert_false(is_there("dir"));
}

static void globs(void **state)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;
    struct hutch_file_entries *entries = NULL;
    static const struct {
        bool directories, hidden, anchored;
        size_t count;
    } cases[] = {
        {false, false, false, 2}, /* a, d/b */
        {true, false, false, 3},  /* and d */
        {false, true, false, 3},  /* and .c */
        {false, false, true, 1},  /* a */
    };

    put("a", "");
    make_dir("d");
    put("d/b", "");
    put(".c", "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        options.directories = cases[i].directories;
        options.hidden = cases[i].hidden;
        options.anchored = cases[i].anchored;
        done(hutch_file_glob(box, NULL, "*", &options, &entries, &err));
        assert_int_equal(entries->count, cases[i].count);
        assert_false(entries->truncated);
        hutch_file_free(entries);
    }
    done(hutch_file_glob(box, "/", "ws/d/*", NULL, &entries, &err));
    assert_int_equal(entries->count, 1);
    assert_string_equal(entries->items[0].path, "/ws/d/b");
    assert_string_equal(entries->items[0].name, "ws/d/b");
    hutch_file_free(entries);

    options = (struct hutch_file_glob_options)HUTCH_FILE_GLOB_INIT;
    options.limit = 1;
    done(hutch_file_glob(box, NULL, "*", &options, &entries, &err));
    assert_int_equal(entries->count, 1);
    assert_true(entries->truncated);
    hutch_file_free(entries);
    options.budget_ms = 0;
    done(hutch_file_glob(box, NULL, "*", &options, &entries, &err));
    assert_true(entries->truncated);
    hutch_file_free(entries);
    refused(hutch_file_glob(box, NULL, "../*", NULL, &entries, &err), "invalid", "pattern");
}

static void greps(void **state)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;
    struct hutch_file_matches *matches = NULL;

    put("a.c", "one\nTwo.\nthree\n");
    put("b.h", "two.\ntwo+\n");
    done(hutch_file_grep(box, NULL, "two.", NULL, &matches, &err));
    assert_int_equal(matches->count, 1);
    assert_string_equal(matches->items[0].path, "/ws/b.h");
    assert_int_equal(matches->items[0].line, 1);
    assert_string_equal(matches->items[0].text, "two.");
    assert_int_equal(matches->items[0].before_count, 0);
    hutch_file_free(matches);

    options.regex = options.ignore_case = true;
    options.context = 1;
    done(hutch_file_grep(box, NULL, "^TWO.$", &options, &matches, &err));
    assert_int_equal(matches->count, 3);
    assert_string_equal(matches->items[0].before[0], "one");
    assert_string_equal(matches->items[0].after[0], "three");
    hutch_file_free(matches);

    options.glob = "*.c";
    done(hutch_file_grep(box, NULL, "^TWO.$", &options, &matches, &err));
    assert_int_equal(matches->count, 1);
    hutch_file_free(matches);

    options.glob = NULL;
    options.limit = 2;
    done(hutch_file_grep(box, ".", "^TWO.$", &options, &matches, &err));
    assert_int_equal(matches->count, 2);
    assert_true(matches->truncated);
    hutch_file_free(matches);

    options.context = 101;
    refused(hutch_file_grep(box, NULL, "x", &options, &matches, &err), "invalid", "context");
    options.context = 0;
    refused(hutch_file_grep(box, NULL, "(", &options, &matches, &err), "invalid", "pattern");
    options.glob = "../x";
    refused(hutch_file_grep(box, NULL, "x", &options, &matches, &err), "invalid", "glob");
}

static void uploads(void **state)
{
    const struct hutch_file_source files[] = {
        {.path = "new/a", .data = "a\0b", .len = 3, .mode = 0600},
        {.path = "dir", .data = "", .len = 0},
        {.path = NULL, .data = "", .len = 0},
        {.path = "no data", .data = NULL, .len = 1},
        {.path = "a/file/below", .data = "", .len = 0},
        {.path = "empty", .data = NULL, .len = 0},
    };
    static const char *const words[] = {NULL,      "is_directory",  "invalid",
                                        "invalid", "not_directory", NULL};
    struct hutch_file_transfers *got = NULL;

    make_dir("dir");
    make_dir("a");
    put("a/file", "");
    done(hutch_file_upload(box, files, ARRAY_LEN(files), &got, &err));
    assert_int_equal(got->count, ARRAY_LEN(files));
    for (size_t i = 0; i < got->count; i++) {
        const char *word = hutch_error_word(&got->items[i].error);

        if (!words[i] != !word || (word && !str_eq(word, words[i])))
            fail_msg("%zu: %s (%s)", i, word, got->items[i].error.msg);
        assert_true(files[i].path ? str_eq(got->items[i].path, files[i].path)
                                  : !got->items[i].path);
        assert_null(got->items[i].data);
    }
    assert_int_equal(mode_of("new/a"), 0600);
    assert_string_equal(get("empty"), "");
    assert_told("/ws/new/a 3;/ws/empty 0;");
    hutch_file_free(got);
    done(hutch_file_upload(box, NULL, 0, &got, &err));
    assert_int_equal(got->count, 0);
    hutch_file_free(got);
    refused(hutch_file_upload(box, files, SIZE_MAX / 8, &got, &err), "system", "");
}

static void downloads(void **state)
{
    static const char *const paths[] = {"a", "missing", NULL, ".", "large", "a", "fifo", "empty"};
    static const char *const words[] = {NULL,        "not_found", "invalid", "is_directory",
                                        "too_large", NULL,        "invalid", NULL};
    struct hutch_file_download_options options = HUTCH_FILE_DOWNLOAD_INIT;
    struct hutch_file_transfers *got = NULL;

    put_bytes("a", "\0\377\n", 3);
    put("large", "123456");
    put("empty", "");
    assert_int_equal(mkfifo(host("fifo"), 0600), 0);
    options.max_bytes = 5;
    done(hutch_file_download(box, paths, ARRAY_LEN(paths), &options, &got, &err));
    assert_int_equal(got->count, ARRAY_LEN(paths));
    for (size_t i = 0; i < got->count; i++) {
        const char *word = hutch_error_word(&got->items[i].error);

        if (!words[i] != !word || (word && !str_eq(word, words[i])))
            fail_msg("%zu: %s (%s)", i, word, got->items[i].error.msg);
        assert_true(!got->items[i].data == !!words[i]);
    }
    assert_memory_equal(got->items[5].data, "\0\377\n", 4);
    assert_int_equal(got->items[5].len, 3);
    hutch_file_free(got);

    /* What does not fit any more says nothing about what comes after it. */
    options.max_bytes = 100;
    options.total_bytes = 8;
    done(hutch_file_download(box, (const char *const[]){"a", "large", "a", "empty"}, 4, &options,
                             &got, &err));
    assert_null(hutch_error_word(&got->items[0].error));
    assert_string_equal(hutch_error_word(&got->items[1].error), "too_large");
    assert_null(hutch_error_word(&got->items[2].error));
    assert_null(hutch_error_word(&got->items[3].error));
    hutch_file_free(got);
}

/* 10 MiB there and back, with a result that outlives what it was made of. */
static void a_large_file(void **state)
{
    const size_t len = (size_t)10 << 20;
    char *data = malloc(len);
    const struct hutch_file_source file = {.path = "large", .data = data, .len = len};
    struct hutch_file_transfers *sent = NULL, *got = NULL;

    assert_non_null(data);
    for (size_t i = 0; i < len; i++)
        data[i] = (char)(i * 31 >> 3);
    done(hutch_file_upload(box, &file, 1, &sent, &err));
    done(hutch_file_download(box, (const char *const[]){"large"}, 1, NULL, &got, &err));
    assert_int_equal(unlink(host("large")), 0);
    assert_int_equal(got->items[0].len, len);
    assert_memory_equal(got->items[0].data, data, len);
    hutch_file_free(sent);
    hutch_file_free(got);
    free(data);
}

static void words_for_errors(void **state)
{
    static const struct {
        int code, sys_errno;
        const char *word;
    } cases[] = {
        {HUTCH_EINVALID, 0, "invalid"},
        {HUTCH_EINVALID, EINVAL, "invalid"},
        {HUTCH_EINVALID, EEXIST, "exists"},
        {HUTCH_EINVALID, EISDIR, "is_directory"},
        {HUTCH_EINVALID, ENOTEMPTY, "is_directory"},
        {HUTCH_EINVALID, ENOTDIR, "not_directory"},
        {HUTCH_EINVALID, EFBIG, "too_large"},
        {HUTCH_EPOLICY, ENOENT, "invalid"},
        {HUTCH_EUNSUPPORTED, ENOSYS, "unsupported"},
        {HUTCH_EDENIED, EROFS, "denied"},
        {HUTCH_ESYSTEM, EISDIR, "system"},
        {HUTCH_ENOMEM, ENOMEM, "system"},
        {HUTCH_EBUSY, ETIMEDOUT, "state"},
        {HUTCH_ENOTFOUND, ENOENT, "not_found"},
        {HUTCH_ESTATE, 0, "state"},
        {HUTCH_EINTERNAL, 0, "system"},
        {-99, 0, "system"},
    };
    const struct hutch_error none = {0};

    assert_null(hutch_error_word(NULL));
    assert_null(hutch_error_word(&none));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error error = {.code = cases[i].code, .sys_errno = cases[i].sys_errno};

        assert_string_equal(hutch_error_word(&error), cases[i].word);
    }
}

static void words_for_types(void **state)
{
    assert_string_equal(hutch_file_type_name(HUTCH_FILE_REGULAR), "file");
    assert_string_equal(hutch_file_type_name(HUTCH_FILE_DIRECTORY), "directory");
    assert_string_equal(hutch_file_type_name(HUTCH_FILE_SYMLINK), "symlink");
    assert_string_equal(hutch_file_type_name(HUTCH_FILE_OTHER), "other");
    assert_string_equal(hutch_file_type_name((enum hutch_file_type)17), "unknown");
}

#define FILES(test) cmocka_unit_test_setup_teardown(test, setup, inside_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES(null_arguments),
        FILES(a_sandbox_that_is_gone),
        FILES(options_of_other_sizes),
        FILES(stats),
        FILES(lists),
        FILES(reads),
        FILES(writes),
        FILES(edits),
        FILES(deletes),
        FILES(globs),
        FILES(greps),
        FILES(uploads),
        FILES(downloads),
        FILES(a_large_file),
        cmocka_unit_test(words_for_errors),
        cmocka_unit_test(words_for_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
