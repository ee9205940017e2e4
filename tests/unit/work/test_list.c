/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/work.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "inside.h"

static struct hutch_file_entry entry;
static struct hutch_file_entries entries;

static void stats(void **state)
{
    static const struct {
        const char *path;
        bool follow;
        int want, error;
        enum hutch_file_type type;
        const char *name, *shown;
    } cases[] = {
        {"file", false, 0, 0, HUTCH_FILE_REGULAR, "file", "/ws/file"},
        {"/ws/file", false, 0, 0, HUTCH_FILE_REGULAR, "file", "/ws/file"},
        {"//ws/.//file", false, 0, 0, HUTCH_FILE_REGULAR, "file", "/ws/file"},
        {"dir/", false, 0, 0, HUTCH_FILE_DIRECTORY, "dir", "/ws/dir"},
        {"dir/..", false, 0, 0, HUTCH_FILE_DIRECTORY, "..", "/ws/dir/.."},
        {"/", false, 0, 0, HUTCH_FILE_DIRECTORY, "/", "/"},
        {"/../../..", false, 0, 0, HUTCH_FILE_DIRECTORY, "..", "/../../.."},
        {".", false, 0, 0, HUTCH_FILE_DIRECTORY, "ws", "/ws"},
        {"link", false, 0, 0, HUTCH_FILE_SYMLINK, "link", "/ws/link"},
        {"link", true, 0, 0, HUTCH_FILE_REGULAR, "link", "/ws/link"},
        {"gone", false, 0, 0, HUTCH_FILE_SYMLINK, "gone", "/ws/gone"},
        {"gone", true, 0, 0, HUTCH_FILE_SYMLINK, "gone", "/ws/gone"},
        {"loop", true, 0, 0, HUTCH_FILE_SYMLINK, "loop", "/ws/loop"},
        {"out", true, 0, 0, HUTCH_FILE_SYMLINK, "out", "/ws/out"}, /* "/" is the root: not there */
        {"up/ws/file", false, 0, 0, HUTCH_FILE_REGULAR, "file", "/ws/up/ws/file"},
        {"abs/file", false, 0, 0, HUTCH_FILE_REGULAR, "file", "/ws/abs/file"},
        {"fifo", false, 0, 0, HUTCH_FILE_OTHER, "fifo", "/ws/fifo"},
        {"none", false, HUTCH_ENOTFOUND, ENOENT, 0, NULL, NULL},
        {"", false, HUTCH_ENOTFOUND, ENOENT, 0, NULL, NULL},
        {"file/x", false, HUTCH_EINVALID, ENOTDIR, 0, NULL, NULL},
        {"loop/x", false, HUTCH_EINVALID, ELOOP, 0, NULL, NULL},
    };

    put("file", "12345");
    make_dir("dir");
    make_link("file", "link");
    make_link("none", "gone");
    make_link("loop", "loop");
    make_link(at("@/outside/canary"), "out");
    make_link("../../../../..", "up");
    make_link("/ws", "abs");
    assert_int_equal(mkfifo(host("fifo"), 0600), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int r = work_stat(&work, cases[i].path, cases[i].follow, &arena, &entry, &err);

        expect(cases[i].path, r, cases[i].want, cases[i].error);
        if (r < 0)
            continue;
        assert_int_equal(entry.type, cases[i].type);
        assert_string_equal(entry.name, cases[i].name);
        assert_string_equal(entry.path, cases[i].shown);
    }
}

static void what_stat_says_of_a_file(void **state)
{
    struct timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1234567890, .tv_nsec = 5}};

    put("file", "12345");
    assert_int_equal(chmod(host("file"), 0640), 0);
    assert_int_equal(utimensat(AT_FDCWD, host("file"), times, 0), 0);
    assert_int_equal(work_stat(&work, "file", false, &arena, &entry, &err), 0);
    assert_int_equal(entry.size, 5);
    assert_int_equal(entry.mode, 0640);
    assert_true(entry.modified_ns == 1234567890000000005);
}

static void long_paths_are_refused(void **state)
{
    static char path[5000];

    memset(path, 'a', 4000);
    for (size_t i = 0; i < 4000; i += 100)
        path[i] = '/';
    expect("missing", work_stat(&work, path, false, &arena, &entry, &err), HUTCH_ENOTFOUND, ENOENT);
    memset(path, 'a', sizeof path - 1);
    expect("too long", work_stat(&work, path, false, &arena, &entry, &err), HUTCH_EINVALID,
           ENAMETOOLONG);
    path[300] = '\0';
    expect("one name", work_stat(&work, path, false, &arena, &entry, &err), HUTCH_EINVALID,
           ENAMETOOLONG);
}

static void lists(void **state)
{
    struct hutch_file_list_options options = HUTCH_FILE_LIST_INIT;

    put("b", "12");
    put("a\nb", "");
    put(".hidden", "");
    put("\xff\xfe", "");
    make_dir("dir");
    make_link("b", "link");
    make_link("none", "z-gone");
    assert_int_equal(work_list(&work, NULL, &options, &arena, &entries, &err), 0);
    static const char *const names[] = {".hidden", "a\nb",   "b",       "dir",
                                        "link",    "z-gone", "\xff\xfe"};
    assert_int_equal(entries.count, ARRAY_LEN(names));
    assert_false(entries.truncated);
    for (size_t i = 0; i < entries.count; i++) {
        assert_string_equal(entries.items[i].name, names[i]);
        assert_int_equal(memcmp(entries.items[i].path, "/ws/", 4), 0);
        assert_string_equal(entries.items[i].path + 4, names[i]);
    }
    assert_int_equal(entries.items[2].size, 2);
    assert_int_equal(entries.items[3].type, HUTCH_FILE_DIRECTORY);
    assert_int_equal(entries.items[4].type, HUTCH_FILE_SYMLINK);

    options.follow = true;
    assert_int_equal(work_list(&work, "/ws/", &options, &arena, &entries, &err), 0);
    assert_int_equal(entries.items[4].type, HUTCH_FILE_REGULAR);
    assert_int_equal(entries.items[4].size, 2);
    assert_int_equal(entries.items[5].type, HUTCH_FILE_SYMLINK);

    assert_int_equal(work_list(&work, "/", &options, &arena, &entries, &err), 0);
    assert_int_equal(entries.count, 1);
    assert_string_equal(entries.items[0].path, "/ws");

    options.limit = 3;
    assert_int_equal(work_list(&work, NULL, &options, &arena, &entries, &err), 0);
    assert_int_equal(entries.count, 3);
    assert_true(entries.truncated);
    options.limit = 7;
    assert_int_equal(work_list(&work, NULL, &options, &arena, &entries, &err), 0);
    assert_false(entries.truncated);
}

static void what_cannot_be_listed(void **state)
{
    struct hutch_file_list_options options = HUTCH_FILE_LIST_INIT;

    put("file", "");
    make_link("loop", "loop");
    make_link("/proc/self/root", "magic");
    expect("file", work_list(&work, "file", &options, &arena, &entries, &err), HUTCH_EINVALID,
           ENOTDIR);
    assert_string_equal(err.where, "/ws/file");
    expect("none", work_list(&work, "none", &options, &arena, &entries, &err), HUTCH_ENOTFOUND,
           ENOENT);
    expect("loop", work_list(&work, "loop", &options, &arena, &entries, &err), HUTCH_EINVALID,
           ELOOP);
    if (geteuid() != 0) {
        make_dir("shut");
        assert_int_equal(chmod(host("shut"), 0), 0);
        expect("shut", work_list(&work, "shut", &options, &arena, &entries, &err), HUTCH_EDENIED,
               EACCES);
    }
}

static void relative_to_where_it_is(void **state)
{
    make_dir("dir");
    put("dir/file", "x");
    make_link("/ws/dir", "/here");
    work.cwd = "/here";
    assert_int_equal(work_stat(&work, "file", false, &arena, &entry, &err), 0);
    assert_string_equal(entry.path, "/here/file");
    assert_int_equal(work_stat(&work, "../dir", false, &arena, &entry, &err), 0);
    work.cwd = NULL;
    assert_int_equal(work_stat(&work, "ws/dir/file", false, &arena, &entry, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stats, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(what_stat_says_of_a_file, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(long_paths_are_refused, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(lists, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_listed, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(relative_to_where_it_is, inside_setup, inside_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
