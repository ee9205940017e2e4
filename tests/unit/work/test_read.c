/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/work.h"

#include "inside.h"

static struct hutch_file_content got;

static int read_with(const char *path, uint64_t offset, uint64_t limit, size_t max)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;

    options.offset = offset;
    options.limit = limit;
    options.max_bytes = max;
    return work_read(&work, path, &options, &arena, &got, &err);
}

static void lines(void **state)
{
    static const struct {
        const char *file;
        uint64_t offset, limit;
        size_t max;
        const char *want;
        uint64_t start, end, total, next; /* next 0: none */
        bool truncated;
    } cases[] = {
        {"", 0, 10, 100, "", 0, 0, 0, 0, false},
        {"a", 0, 10, 100, "a", 1, 1, 1, 0, false},
        {"a\n", 0, 10, 100, "a\n", 1, 1, 1, 0, false},
        {"\n", 0, 10, 100, "\n", 1, 1, 1, 0, false},
        {"a\nb", 0, 10, 100, "a\nb", 1, 2, 2, 0, false},
        {"a\nb\nc\n", 0, 2, 100, "a\nb\n", 1, 2, 3, 2, false},
        {"a\nb\nc\n", 1, 1, 100, "b\n", 2, 2, 3, 2, false},
        {"a\nb\nc\n", 2, 5, 100, "c\n", 3, 3, 3, 0, false},
        {"a\nb\nc\n", 3, 5, 100, "", 0, 0, 3, 0, false},
        {"a\nb\nc\n", 99, 5, 100, "", 0, 0, 3, 0, false},
        {"a\nb\nc\n", UINT64_MAX, UINT64_MAX, 100, "", 0, 0, 3, 0, false},
        {"a\nb\nc\n", 0, UINT64_MAX, 100, "a\nb\nc\n", 1, 3, 3, 0, false},
        {"a\nb\nc\n", 0, 0, 100, "", 0, 0, 3, 0, false},
        {"a\r\nb\r\n", 1, 1, 100, "b\r\n", 2, 2, 2, 0, false},
        /* bytes run out: whole lines only ... */
        {"aaa\nbbb\nccc\n", 0, 10, 8, "aaa\nbbb\n", 1, 2, 3, 2, true},
        {"aaa\nbbb\nccc\n", 0, 10, 9, "aaa\nbbb\n", 1, 2, 3, 2, true},
        {"aaa\nbbb\nccc\n", 0, 10, 11, "aaa\nbbb\n", 1, 2, 3, 2, true},
        {"aaa\nbbb\nccc\n", 0, 10, 12, "aaa\nbbb\nccc\n", 1, 3, 3, 0, false},
        {"aaa\nbbb\nccc", 0, 10, 10, "aaa\nbbb\n", 1, 2, 3, 2, true},
        /* ... but for a first one that is too long */
        {"aaaaaa\nb\n", 0, 10, 4, "aaaa", 1, 1, 2, 1, true},
        {"x\naaaaaa\nb\n", 1, 10, 4, "aaaa", 2, 2, 3, 2, true},
        {"aäääää\nb\n", 0, 10, 4, "aä", 1, 1, 2, 1, true},
        {"aaaaaa", 0, 10, 0, "", 1, 1, 1, 0, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put("file", cases[i].file);
        expect(cases[i].file, read_with("file", cases[i].offset, cases[i].limit, cases[i].max), 0,
               0);
        if (strcmp(got.data, cases[i].want) != 0 || got.start_line != cases[i].start ||
            got.end_line != cases[i].end || got.total_lines != cases[i].total ||
            got.truncated != cases[i].truncated || got.next_offset != cases[i].next ||
            (cases[i].limit > 0 && got.more != (cases[i].next != 0)))
            fail_msg("row %zu: '%s' %d-%d of %d, next %d, %d", i, got.data, (int)got.start_line,
                     (int)got.end_line, (int)got.total_lines, (int)got.next_offset, got.truncated);
        assert_int_equal(got.len, strlen(cases[i].want));
        assert_int_equal(got.size, strlen(cases[i].file));
        assert_true(got.total_known);
        assert_true(got.utf8);
        assert_false(got.binary);
    }
}

static void pages_add_up_to_the_file(void **state)
{
    static char file[300000], all[300001];
    size_t len = 0, have = 0;

    for (unsigned i = 0; len < sizeof file - 100; i++) {
        for (unsigned k = 0; k < i * 7919 % 97; k++)
            file[len++] = (char)('a' + k % 26);
        file[len++] = '\n';
    }
    put_bytes("file", file, len);
    uint64_t offset = 0;
    do {
        expect("page", read_with("file", offset, 333, 9000), 0, 0);
        memcpy(all + have, got.data, got.len);
        have += got.len;
        assert_true(got.more == (got.end_line < got.total_lines));
        offset = got.next_offset;
    } while (got.more);
    assert_int_equal(have, len);
    assert_memory_equal(all, file, len);
}

static void binary_or_not(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        bool binary, utf8;
    } cases[] = {
        {"text\n", 5, false, true},
        {"a\0b\nc\n", 6, true, true}, /* a NUL is a character, but not of a text */
        {"caf\xe9\n", 5, true, false},
        {"caf\xc3", 4, true, false},
        {"caf\xc3\xa9", 5, false, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put_bytes("file", cases[i].data, cases[i].len);
        expect("read", read_with("file", 1, 1, 100), 0, 0);
        assert_int_equal(got.binary, cases[i].binary);
        if (!cases[i].binary)
            continue;
        assert_int_equal(got.len, cases[i].len);
        assert_memory_equal(got.data, cases[i].data, cases[i].len);
        assert_int_equal(got.utf8, cases[i].utf8);
        assert_false(got.more);
        assert_int_equal(got.start_line, 0);
    }
    put_bytes("file", "\0abcdef", 7);
    expect("cut", read_with("file", 0, 1, 4), 0, 0);
    assert_true(got.truncated);
    assert_int_equal(got.len, 4);
    assert_int_equal(got.size, 7);
}

static void text_that_turns_bad_later(void **state)
{
    static char data[20000];

    memset(data, 'a', sizeof data);
    for (size_t i = 99; i < sizeof data; i += 100)
        data[i] = '\n';
    data[15000] = '\xff';
    put_bytes("file", data, sizeof data);
    expect("read", read_with("file", 0, 10, 100000), 0, 0);
    assert_true(got.utf8);
    expect("read", read_with("file", 150, 10, 100000), 0, 0);
    assert_false(got.binary);
    assert_false(got.utf8);
    assert_int_equal(got.len, 1000);
}

static void bytes(void **state)
{
    static const struct {
        uint64_t offset, limit;
        size_t max;
        const char *want;
        bool more, truncated;
    } cases[] = {
        {0, 100, 100, "0123456789", false, false},
        {0, 10, 100, "0123456789", false, false},
        {0, 4, 100, "0123", true, false},
        {0, 100, 4, "0123", true, true},
        {8, 4, 100, "89", false, false},
        {10, 4, 100, "", false, false},
        {99, 4, 100, "", false, false},
        {0, 0, 100, "", true, false},
        {0, UINT64_MAX, 9, "012345678", true, true},
    };
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;

    put("file", "0123456789");
    options.bytes = true;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        options.offset = cases[i].offset;
        options.limit = cases[i].limit;
        options.max_bytes = cases[i].max;
        expect("bytes", work_read(&work, "file", &options, &arena, &got, &err), 0, 0);
        assert_string_equal(got.data, cases[i].want);
        assert_int_equal(got.more, cases[i].more);
        assert_int_equal(got.truncated, cases[i].truncated);
        assert_true(got.next_offset == (got.more ? cases[i].offset + got.len : 0));
    }
    options.offset = UINT64_MAX;
    expect("far", work_read(&work, "file", &options, &arena, &got, &err), HUTCH_EINVALID, EFBIG);
}

static void large_files_come_back_whole(void **state)
{
    enum { LEN = 11 << 20 };
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    char *data = malloc(LEN);

    assert_non_null(data);
    for (size_t i = 0; i < LEN; i++)
        data[i] = (char)(i * 2654435761U >> 24);
    put_bytes("file", data, LEN);
    options.bytes = true;
    options.limit = options.max_bytes = LEN;
    expect("large", work_read(&work, "file", &options, &arena, &got, &err), 0, 0);
    assert_int_equal(got.len, LEN);
    assert_memory_equal(got.data, data, LEN);
    assert_false(got.more);
    free(data);
}

static void looks_no_farther_than_told(void **state)
{
    static char data[1 << 20];
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;

    memset(data, '\n', sizeof data);
    put_bytes("file", data, sizeof data);
    options.scan_bytes = 200000;
    options.limit = 10;
    expect("near", work_read(&work, "file", &options, &arena, &got, &err), 0, 0);
    assert_false(got.total_known);
    assert_int_equal(got.end_line, 10);
    assert_int_equal(got.next_offset, 10);
    options.offset = 500000;
    expect("far", work_read(&work, "file", &options, &arena, &got, &err), HUTCH_EINVALID, EFBIG);
    /* Stopped among the wanted lines: what was seen is given, the rest is for the next call. */
    options.offset = 196600;
    options.limit = 100000;
    expect("edge", work_read(&work, "file", &options, &arena, &got, &err), 0, 0);
    assert_true(got.more);
    assert_true(got.end_line >= 196608 && got.end_line < 300000);
    assert_int_equal(got.len, got.end_line - 196600);
}

static void files_whose_size_lies(void **state)
{
    struct work host_root = WORK_INIT;
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;

    host_root.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = work_read(&host_root, "/proc/version", &options, &arena, &got, &err);
    fd_close(&host_root.root);
    expect("/proc/version", r, 0, 0);
    assert_true(got.len > 10);
    assert_int_equal(got.size, 0);
    assert_int_equal(got.total_lines, 1);
}

static void what_cannot_be_read(void **state)
{
    make_dir("dir");
    make_link("file", "link");
    make_link("loop", "loop");
    expect("none", read_with("none", 0, 1, 1), HUTCH_ENOTFOUND, ENOENT);
    expect("dir", read_with("dir", 0, 1, 1), HUTCH_EINVALID, EISDIR);
    expect("/", read_with("/", 0, 1, 1), HUTCH_EINVALID, EISDIR);
    expect("gone", read_with("link", 0, 1, 1), HUTCH_ENOTFOUND, ENOENT);
    expect("loop", read_with("loop", 0, 1, 1), HUTCH_EINVALID, ELOOP);
    put("file", "x");
    expect("link", read_with("link", 0, 1, 1), 0, 0);
    expect("below", read_with("file/x", 0, 1, 1), HUTCH_EINVALID, ENOTDIR);
    if (geteuid() != 0) {
        assert_int_equal(chmod(host("file"), 0), 0);
        expect("shut", read_with("file", 0, 1, 1), HUTCH_EDENIED, EACCES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(pages_add_up_to_the_file, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(binary_or_not, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(text_that_turns_bad_later, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(bytes, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(large_files_come_back_whole, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(looks_no_farther_than_told, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(files_whose_size_lies, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_read, inside_setup, inside_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
