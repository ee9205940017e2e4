/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/work.h"

#include "inside.h"

static struct hutch_file_matches got;

static int grep_with(const char *path, const char *pattern, struct hutch_file_grep_options options)
{
    return work_grep(&work, path, pattern, &options, &arena, &got, &err);
}

/* "path:line:text" of each match, with "|" after each. */
static const char *shown(void)
{
    static char text[8192];
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < got.count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s:%d:%s|", got.items[i].path,
                                (int)got.items[i].line, got.items[i].text);
    return text;
}

enum { REGEX = 1, IGNORE_CASE = 2 };

static void greps(void **state)
{
    static const struct {
        const char *path, *pattern;
        int bits;
        const char *include, *want;
    } cases[] = {
        {NULL, "needle", 0, NULL,
         "/ws/a.txt:1:a needle|/ws/a.txt:3:needle needle|/ws/.dot/h.txt:1:needle|"
         "/ws/sub/b.c:2:\tneedle;|"},
        {NULL, "needle", 0, "*.c", "/ws/sub/b.c:2:\tneedle;|"},
        {NULL, "needle", 0, "*.{c,h}", "/ws/sub/b.c:2:\tneedle;|"},
        {NULL, "needle", 0, "sub/**", "/ws/sub/b.c:2:\tneedle;|"},
        {NULL, "needle", 0, "/*.txt", "/ws/a.txt:1:a needle|/ws/a.txt:3:needle needle|"},
        {NULL, "needle", 0, "h.*", "/ws/.dot/h.txt:1:needle|"},
        {NULL, "needle", 0, "*.none", ""},
        {NULL, "n.*e", 0, NULL, ""},
        {NULL, "^n.*e$", REGEX, NULL, "/ws/a.txt:3:needle needle|/ws/.dot/h.txt:1:needle|"},
        {NULL, "NEEDLE;", IGNORE_CASE, NULL, "/ws/sub/b.c:2:\tneedle;|"},
        {NULL, "NEEDLE;", 0, NULL, ""},
        {NULL, "N[A-F]{2}DLE;", REGEX | IGNORE_CASE, NULL, "/ws/sub/b.c:2:\tneedle;|"},
        {"sub", "needle", 0, NULL, "/ws/sub/b.c:2:\tneedle;|"},
        {"a.txt", "hay", 0, NULL, "/ws/a.txt:2:hay|"},
        {"link", "hay", 0, "*.c", "/ws/link:2:hay|"}, /* a file is searched whatever its name */
        {"/ws/crlf", "two", 0, NULL, "/ws/crlf:2:two|"},
        {"/ws/crlf", "two$", REGEX, NULL, "/ws/crlf:2:two|"},
        {"/ws/crlf", "three", 0, NULL, "/ws/crlf:3:three|"},
        {"/ws/crlf", "^$", REGEX, NULL, ""},
        {NULL, "nothing", 0, NULL, ""},
        {"latin", "caf", 0, NULL, "/ws/latin:1:caf\xe9|"},
        {"latin", "caf.$", REGEX, NULL, "/ws/latin:1:caf\xe9|"},
        {"empty", "x", 0, NULL, ""},
    };

    make_dir("sub");
    make_dir(".dot");
    put("a.txt", "a needle\nhay\nneedle needle\n");
    put("sub/b.c", "int\n\tneedle;\n");
    put(".dot/h.txt", "needle");
    put_bytes("bin", "needle\0", 7);
    put("crlf", "one\r\ntwo\r\nthree");
    put("latin", "caf\xe9\n");
    put("empty", "");
    make_link("a.txt", "link");
    make_link("sub", "linkdir");
    assert_int_equal(mkfifo(host("fifo"), 0600), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;

        options.regex = cases[i].bits & REGEX;
        options.ignore_case = cases[i].bits & IGNORE_CASE;
        options.glob = cases[i].include;
        expect(cases[i].pattern, grep_with(cases[i].path, cases[i].pattern, options), 0, 0);
        if (strcmp(shown(), cases[i].want) != 0)
            fail_msg("row %zu '%s': '%s'", i, cases[i].pattern, shown());
        assert_false(got.truncated);
    }
}

static void context(void **state)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;

    put("file", "1\n2\n3 x\n4\n5 x\n6");
    options.context = 2;
    expect("context", grep_with(NULL, "x", options), 0, 0);
    assert_int_equal(got.count, 2);
    const struct hutch_file_match *match = &got.items[0];
    assert_int_equal(match->line, 3);
    assert_int_equal(match->before_count, 2);
    assert_string_equal(match->before[0], "1");
    assert_string_equal(match->before[1], "2");
    assert_int_equal(match->after_count, 2);
    assert_string_equal(match->after[0], "4");
    assert_string_equal(match->after[1], "5 x");
    match = &got.items[1];
    assert_int_equal(match->before_count, 2);
    assert_string_equal(match->before[0], "3 x");
    assert_int_equal(match->after_count, 1);
    assert_string_equal(match->after[0], "6");
    put("file", "x\n");
    expect("alone", grep_with(NULL, "x", options), 0, 0);
    assert_int_equal(got.items[0].before_count, 0);
    assert_int_equal(got.items[0].after_count, 0);
    options.context = 101;
    expect("too much", grep_with(NULL, "x", options), HUTCH_EINVALID, 0);
    options.context = 100;
    put("file", "\n\n\n\n");
    options.regex = true;
    expect("empty lines", grep_with("file", "^$", options), 0, 0);
    assert_int_equal(got.count, 4);
    assert_int_equal(got.items[3].before_count, 3);
}

static void limits(void **state)
{
    static char data[100000];
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;

    put("a", "x\nx\nx\n");
    put("b", "x\nx\n");
    options.limit = 5;
    expect("5", grep_with(NULL, "x", options), 0, 0);
    assert_int_equal(got.count, 5);
    assert_false(got.truncated);
    options.limit = 4;
    expect("4", grep_with(NULL, "x", options), 0, 0);
    assert_int_equal(got.count, 4);
    assert_true(got.truncated);
    options.limit = 3;
    options.glob = "a";
    expect("3", grep_with(NULL, "x", options), 0, 0);
    assert_false(got.truncated);

    options = (struct hutch_file_grep_options)HUTCH_FILE_GREP_INIT;
    memset(data, 'y', sizeof data);
    data[50000] = 'x';
    put_bytes("long", data, sizeof data);
    options.line_bytes = 10;
    expect("line", grep_with("long", "x", options), 0, 0);
    assert_string_equal(got.items[0].text, "yyyyyyyyyy");
    options.file_bytes = 40000;
    expect("file", grep_with("long", "x", options), 0, 0);
    assert_int_equal(got.count, 0);
    assert_true(got.truncated);
    options.total_bytes = 2;
    options.file_bytes = 1 << 20;
    expect("total", grep_with(NULL, "x", options), 0, 0);
    assert_int_equal(got.count, 3);
    assert_true(got.truncated);
    options.budget_ms = 0;
    expect("time", grep_with(NULL, "x", options), 0, 0);
    assert_true(got.truncated);
}

static void a_nul_far_away_ends_the_text(void **state)
{
    static char data[50000];
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;

    memset(data, 'y', sizeof data);
    for (size_t i = 99; i < sizeof data; i += 100)
        data[i] = '\n';
    data[50] = data[45000] = 'x';
    data[40000] = '\0';
    put_bytes("file", data, sizeof data);
    expect("nul", grep_with(NULL, "x", options), 0, 0);
    assert_int_equal(got.count, 1);
    options.ignore_case = true;
    expect("nul", grep_with(NULL, "X", options), 0, 0);
    assert_int_equal(got.count, 1);
}

static void refuses(void **state)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;

    expect("none", grep_with("none", "x", options), HUTCH_ENOTFOUND, ENOENT);
    expect("", grep_with(NULL, "", options), HUTCH_EINVALID, 0);
    expect("lines", grep_with(NULL, "a\nb", options), HUTCH_EINVALID, 0);
    options.glob = "../*";
    expect("include", grep_with(NULL, "x", options), HUTCH_EINVALID, 0);
    assert_string_equal(err.where, "glob");
    options.glob = NULL;
    options.regex = true;
    expect("regex", grep_with(NULL, "(", options), HUTCH_EINVALID, 0);
    assert_string_equal(err.where, "pattern");
    assert_int_equal(mkfifo(host("fifo"), 0600), 0);
    expect("fifo", grep_with("fifo", "x", options), HUTCH_EINVALID, EINVAL);
}

static void passes_over_what_it_may_not_read(void **state)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;

    if (geteuid() == 0) {
        SKIP("root may read everything");
    }
    put("open", "x");
    put("shut", "x");
    chmod(host("shut"), 0);
    expect("shut", grep_with(NULL, "x", options), 0, 0);
    assert_string_equal(shown(), "/ws/open:1:x|");
    expect("shut itself", grep_with("shut", "x", options), HUTCH_EDENIED, EACCES);
}

static void leaves_the_system_out_of_the_root(void **state)
{
    static const char *const system[] = {"/usr", NULL};
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;

    make_dir("/usr");
    put("/usr/s", "x\n");
    put("/ws/w", "x\n");
    work.system_dirs = system;
    expect("/", grep_with("/", "x", options), 0, 0);
    assert_string_equal(shown(), "/ws/w:1:x|");
    expect("/usr", grep_with("/usr", "x", options), 0, 0);
    assert_string_equal(shown(), "/usr/s:1:x|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(greps, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(context, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(limits, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(a_nul_far_away_ends_the_text, inside_setup,
                                        inside_teardown),
        cmocka_unit_test_setup_teardown(refuses, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(passes_over_what_it_may_not_read, inside_setup,
                                        inside_teardown),
        cmocka_unit_test_setup_teardown(leaves_the_system_out_of_the_root, inside_setup,
                                        inside_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
