/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/work.h"

#include "inside.h"

static struct hutch_file_edited got;

static int edit(const char *path, const char *from, const char *to, bool all)
{
    struct hutch_file_edit_options options = HUTCH_FILE_EDIT_INIT;

    options.all = all;
    return work_edit(&work, path, from, to, &options, &arena, &got, &err);
}

static void edits(void **state)
{
    static const struct {
        const char *file, *from, *to;
        bool all;
        int error; /* 0: worked */
        uint64_t occurrences;
        const char *want;
    } cases[] = {
        {"one two three", "two", "2", false, 0, 1, "one 2 three"},
        {"a b a", "a", "x", false, ENOTUNIQ, 0, NULL},
        {"a b a", "a", "x", true, 0, 2, "x b x"},
        {"a b a", "c", "x", false, ENOMSG, 0, NULL},
        {"a b a", "c", "x", true, ENOMSG, 0, NULL},
        {"aaa", "aa", "b", true, 0, 1, "ba"},
        {"aaa", "aa", "b", false, 0, 1, "ba"},
        {"abc", "abc", "", false, 0, 1, ""},
        {"abc", "b", "b", false, 0, 1, "abc"},
        {"a.c", ".", "\\1&", false, 0, 1, "a\\1&c"},
        {"", "", "first", false, 0, 1, "first"},
        {"x", "", "first", false, ENOTUNIQ, 0, NULL},
        {"x", "", "first", true, ENOTUNIQ, 0, NULL},
        {"a", "aa", "b", false, ENOMSG, 0, NULL},
        {"caf\xe9 x", "x", "y", false, 0, 1, "caf\xe9 y"},
        /* line ends */
        {"a\nb\nc\n", "a\nb", "x\ny\nz", false, 0, 1, "x\ny\nz\nc\n"},
        {"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, 0, 1, "x\r\ny\r\nz\r\nc\r\n"},
        {"a\r\nb\r\nc\r\n", "a\r\nb", "x\r\ny", false, 0, 1, "x\r\ny\r\nc\r\n"},
        {"a\nb\nc\n", "a\r\nb", "x\r\ny", false, 0, 1, "x\ny\nc\n"},
        {"a\r\nb\r\n", "b", "x\ny", false, 0, 1, "a\r\nx\r\ny\r\n"},
        {"a\r\nb\r\n", "b", "x\r\ny", false, 0, 1, "a\r\nx\r\ny\r\n"},
        {"a\r\nb\n", "b", "x\ny", false, 0, 1, "a\r\nx\ny\n"}, /* mixed: as sent */
        {"a\r\nb\r\na\r\nb\r\n", "a\nb", "c\n", true, 0, 2, "c\r\n\r\nc\r\n\r\n"},
        {"a\r\nb\r\na\r\nb\r\n", "a\nb", "c\n", false, ENOTUNIQ, 0, NULL},
        {"a\r\nb", "\n", "", false, 0, 1, "a\rb"}, /* found as sent */
        {"a\r\nb", "\r\n", "-", false, 0, 1, "a-b"},
        {"a\r\n", "b\n", "c", false, ENOMSG, 0, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put("file", cases[i].file);
        int r = edit("file", cases[i].from, cases[i].to, cases[i].all);
        expect(cases[i].file, r, cases[i].error ? HUTCH_EINVALID : 0, cases[i].error);
        if (strcmp(get("file"), cases[i].want ? cases[i].want : cases[i].file) != 0)
            fail_msg("row %zu: '%s'", i, get("file"));
        if (r < 0)
            assert_string_equal(err.where, "old");
        else
            assert_int_equal(got.occurrences, cases[i].occurrences);
    }
}

static void keeps_the_mode_and_the_link(void **state)
{
    struct stat st;

    put("file", "one");
    chmod(host("file"), 0750);
    make_link("file", "link");
    expect("link", edit("link", "one", "two", false), 0, 0);
    assert_string_equal(got.path, "/ws/link");
    assert_string_equal(get("file"), "two");
    assert_int_equal(mode_of("file"), 0750);
    assert_int_equal(lstat(host("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void what_cannot_be_edited(void **state)
{
    make_dir("dir");
    put_bytes("binary", "a\0b", 3);
    assert_int_equal(mkfifo(host("fifo"), 0600), 0);
    expect("none", edit("none", "a", "b", false), HUTCH_ENOTFOUND, ENOENT);
    assert_string_equal(err.where, "/ws/none");
    expect("dir", edit("dir", "a", "b", false), HUTCH_EINVALID, EISDIR);
    expect("fifo", edit("fifo", "a", "b", false), HUTCH_EINVALID, EINVAL);
    expect("binary", edit("binary", "a", "b", false), HUTCH_EINVALID, EILSEQ);
    if (geteuid() != 0) {
        put("readonly", "a");
        chmod(host("readonly"), 0444);
        expect("readonly", edit("readonly", "a", "b", false), HUTCH_EDENIED, EACCES);
        assert_string_equal(get("readonly"), "a");
    }
}

static void sizes_are_bounded(void **state)
{
    struct hutch_file_edit_options options = {.all = true, .max_bytes = 1000};
    char data[1001], to[101];

    memset(data, 'a', 1000);
    data[1000] = '\0';
    memset(to, 'b', 100);
    to[100] = '\0';
    put("file", data);
    expect("1000",
           work_edit(&work, "file", "aaaaaaaaaa", "bbbbbbbbbb", &options, &arena, &got, &err), 0,
           0);
    assert_int_equal(got.occurrences, 100);
    expect("grows", work_edit(&work, "file", "b", to, &options, &arena, &got, &err), HUTCH_EINVALID,
           EFBIG);
    options.max_bytes = 999;
    expect("999", work_edit(&work, "file", "b", "c", &options, &arena, &got, &err), HUTCH_EINVALID,
           EFBIG);
    put("empty", "");
    options.max_bytes = 10;
    expect("empty", work_edit(&work, "empty", "", to, &options, &arena, &got, &err), HUTCH_EINVALID,
           EFBIG);
    assert_int_equal(get("file")[0], 'b');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(edits, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(keeps_the_mode_and_the_link, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_edited, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(sizes_are_bounded, inside_setup, inside_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
