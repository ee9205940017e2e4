/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Whatever fails in the middle: an error, nothing left open, nothing half done. */
#include "work/work.h"

#include <signal.h>
#include <sys/resource.h>

#include "inside.h"

/* Which allocation of this program fails, counted down; negative: none. See meson.build. */
static int fail_at = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

static bool fails(void)
{
    return fail_at >= 0 && fail_at-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

static union {
    struct hutch_file_content content;
    struct hutch_file_written written;
    struct hutch_file_edited edited;
    struct hutch_file_entry entry;
    struct hutch_file_entries entries;
    struct hutch_file_matches matches;
} got;

static int do_read(void)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    return work_read(&work, "dir/file", &options, &arena, &got.content, &err);
}

static int do_bytes(void)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    options.bytes = true;
    return work_read(&work, "dir/file", &options, &arena, &got.content, &err);
}

static int do_write(void)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;
    return work_write(&work, "dir/new/sub/file", "new", 3, &options, &arena, &got.written, &err);
}

static int do_overwrite(void)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;
    return work_write(&work, "link", "new", 3, &options, &arena, &got.written, &err);
}

static int do_edit(void)
{
    struct hutch_file_edit_options options = HUTCH_FILE_EDIT_INIT;
    options.all = true;
    return work_edit(&work, "crlf", "a\nb", "b\nc", &options, &arena, &got.edited, &err);
}

static int do_stat(void)
{
    return work_stat(&work, "dir/file", true, &arena, &got.entry, &err);
}

static int do_list(void)
{
    struct hutch_file_list_options options = HUTCH_FILE_LIST_INIT;
    return work_list(&work, "dir", &options, &arena, &got.entries, &err);
}

static int do_glob(void)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;
    return work_glob(&work, NULL, "{dir/**,**/f*}", &options, &arena, &got.entries, &err);
}

static int do_grep(void)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;
    options.glob = "f*";
    options.context = 2;
    options.ignore_case = true;
    return work_grep(&work, NULL, "LINE 1", &options, &arena, &got.matches, &err);
}

static int do_regex(void)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;
    options.regex = true;
    return work_grep(&work, NULL, "(l|L)in[a-f]{1} (1|2)+", &options, &arena, &got.matches, &err);
}

static int do_delete(void)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;
    options.recursive = true;
    return work_delete(&work, "dir", &options, &err);
}

static const struct {
    const char *name;
    int (*fn)(void);
} calls[] = {
    {"read", do_read}, {"bytes", do_bytes}, {"write", do_write},   {"overwrite", do_overwrite},
    {"edit", do_edit}, {"stat", do_stat},   {"list", do_list},     {"glob", do_glob},
    {"grep", do_grep}, {"regex", do_regex}, {"delete", do_delete},
};

static int setup(void **state)
{
    if (inside_setup(state) < 0)
        return -1;
    make_dir("dir");
    make_dir("dir/a");
    make_dir("dir/a/b");
    put("dir/a/b/file", "line 1\nline 2\n");
    put("dir/file", "line 1\nline 2\n");
    put("crlf", "a\r\nb\r\n");
    put("target", "old");
    make_link("target", "link");
    return 0;
}

/* Files are as before, or as after. Nothing temporary. */
static void check(const char *name)
{
    const char *text = get("target");

    if (!str_eq(text, "old") && !str_eq(text, "new"))
        fail_msg("%s: 'target' has '%s'", name, text);
    text = get("crlf");
    if (!str_eq(text, "a\r\nb\r\n") && !str_eq(text, "b\r\nc\r\n"))
        fail_msg("%s: 'crlf' has '%s'", name, text);
    DIR *dir = opendir(host("/ws"));
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (str_starts(e->d_name, ".hutch-"))
            fail_msg("%s: '%s' stayed", name, e->d_name);
    closedir(dir);
}

static void no_memory(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        int r = -1, n;

        for (n = 0; r != 0 && n < 1000; n++) {
            int before = open_fds();

            arena_clear(&arena);
            fail_at = n;
            r = calls[i].fn();
            fail_at = -1;
            if (r != 0 && (r != HUTCH_ENOMEM || err.code != HUTCH_ENOMEM))
                fail_msg("%s, allocation %d: %d %s", calls[i].name, n, r, err.msg);
            assert_int_equal(open_fds(), before);
            check(calls[i].name);
        }
        if (r != 0)
            fail_msg("%s never works", calls[i].name);
        print_message("# %s: %d allocations\n", calls[i].name, n - 1);
    }
}

static void no_descriptors(void **state)
{
    struct rlimit all, few;
    /* The lowest free one: from there on they are counted. */
    int next = dup(0);

    close(next);
    getrlimit(RLIMIT_NOFILE, &all);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        int r = -1, n;

        for (n = 0; r != 0 && n < 20; n++) {
            int before = open_fds();

            arena_clear(&arena);
            few = all;
            few.rlim_cur = (rlim_t)next + (rlim_t)n;
            setrlimit(RLIMIT_NOFILE, &few);
            r = calls[i].fn();
            setrlimit(RLIMIT_NOFILE, &all);
            if (r != 0 && (r != HUTCH_ESYSTEM || err.sys_errno != EMFILE))
                fail_msg("%s, %d descriptors: %d %s", calls[i].name, n, r, err.msg);
            assert_int_equal(open_fds(), before);
            check(calls[i].name);
        }
        if (r != 0)
            fail_msg("%s never works", calls[i].name);
        print_message("# %s: %d descriptors\n", calls[i].name, n - 1);
    }
}

static void no_room(void **state)
{
    struct rlimit all, none;
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;
    static char data[100000];

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &all);
    none = all;
    none.rlim_cur = 1000;
    setrlimit(RLIMIT_FSIZE, &none);
    int r = work_write(&work, "target", data, sizeof data, &options, &arena, &got.written, &err);
    setrlimit(RLIMIT_FSIZE, &all);
    expect("write", r, HUTCH_EINVALID, EFBIG);
    check("write");
    assert_string_equal(get("target"), "old");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_memory, setup, inside_teardown),
        cmocka_unit_test_setup_teardown(no_descriptors, setup, inside_teardown),
        cmocka_unit_test_setup_teardown(no_room, setup, inside_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
