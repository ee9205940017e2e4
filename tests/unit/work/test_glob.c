/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/work.h"

#include "inside.h"

static struct hutch_file_entries got;

static int glob_with(const char *path, const char *pattern, struct hutch_file_glob_options options)
{
    return work_glob(&work, path, pattern, &options, &arena, &got, &err);
}

/* The matches' names, with a space after each. */
static const char *names(void)
{
    static char text[4096];
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < got.count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s ", got.items[i].name);
    return text;
}

enum { DIRECTORIES = 1, HIDDEN = 2, ANCHORED = 4 };

static struct hutch_file_glob_options flags(int bits)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;

    options.directories = bits & DIRECTORIES;
    options.hidden = bits & HIDDEN;
    options.anchored = bits & ANCHORED;
    return options;
}

static void make_tree(void)
{
    static const char *const dirs[] = {"src",  "src/lib",  "src/lib/deep",
                                       ".git", ".git/sub", "docs"};
    static const char *const files[] = {"a.py",
                                        "b.txt",
                                        ".env",
                                        "src/main.py",
                                        "src/main.c",
                                        "src/lib/x.py",
                                        "src/lib/x.h",
                                        "src/.hidden.py",
                                        ".git/config",
                                        ".git/hook.py",
                                        "src/lib/deep/y.py",
                                        "docs/[1].txt",
                                        "docs/new\nline.py"};

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        make_dir(dirs[i]);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        put(files[i], "x");
    make_link("src/main.py", "link.py");
    make_link("none", "gone.py");
    make_link("/etc/passwd", "escape.py");
    make_link("src", "linkdir");
    assert_int_equal(mkfifo(host("fifo.py"), 0600), 0);
}

static void globs(void **state)
{
    static const struct {
        const char *path, *pattern;
        int bits;
        const char *want;
    } cases[] = {
        {NULL, "*.py", 0,
         ".git/hook.py a.py docs/new\nline.py link.py src/lib/deep/y.py src/lib/x.py src/main.py "},
        {NULL, "*.py", ANCHORED, "a.py link.py "},
        {NULL, "/*.py", 0, "a.py link.py "},
        {NULL, "**/*.py", 0,
         "a.py docs/new\nline.py link.py src/lib/deep/y.py src/lib/x.py src/main.py "},
        {NULL, "src/**/*.py", 0, "src/lib/deep/y.py src/lib/x.py src/main.py "},
        {NULL, "src/**/*.py", HIDDEN, "src/.hidden.py src/lib/deep/y.py src/lib/x.py src/main.py "},
        {NULL, "src/*.{c,py}", 0, "src/main.c src/main.py "},
        {NULL, "{src/*,src/**}", 0,
         "src/lib/deep/y.py src/lib/x.h src/lib/x.py src/main.c src/main.py "}, /* each once */
        {NULL, "{a,b}*", ANCHORED, "a.py b.txt "},
        {NULL, "src/[lm]*", DIRECTORIES, "src/lib src/main.c src/main.py "},
        {NULL, "src/[!l]*", DIRECTORIES, "src/main.c src/main.py "},
        {NULL, "*/", ANCHORED, "docs linkdir src "},
        {NULL, "lib/", 0, "src/lib "},
        {NULL, ".*", ANCHORED, ".env "},
        {NULL, ".git/*", 0, ".git/config .git/hook.py "},
        {NULL, "**", DIRECTORIES,
         "a.py b.txt docs docs/[1].txt docs/new\nline.py link.py linkdir src src/lib src/lib/deep "
         "src/lib/deep/y.py src/lib/x.h src/lib/x.py src/main.c src/main.py "},
        {NULL, "docs/\\[1\\].txt", 0, "docs/[1].txt "},
        {NULL, "docs/[[]1].txt", 0, "docs/[1].txt "},
        {NULL, "linkdir/*.c", 0, "linkdir/main.c "}, /* named in full: followed */
        {NULL, "l*/*.c", 0, ""},                     /* found by a wildcard: not */
        {NULL, "none/*.c", 0, ""},
        {NULL, "a.py/*", 0, ""},
        {NULL, "nothing*", 0, ""},
        {NULL, "src/main.c", 0, "src/main.c "},
        {"src", "*.py", ANCHORED, "main.py "},
        {"src/", "lib/*.h", 0, "lib/x.h "},
        {"linkdir", "*.c", 0, "main.c "},
        {"/", "ws/*.txt", 0, "ws/b.txt "},
        {"/", "*.txt", 0, "ws/b.txt ws/docs/[1].txt "},
    };

    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        expect(cases[i].pattern, glob_with(cases[i].path, cases[i].pattern, flags(cases[i].bits)),
               0, 0);
        if (strcmp(names(), cases[i].want) != 0)
            fail_msg("'%s': '%s'", cases[i].pattern, names());
        assert_false(got.truncated);
    }
}

static void what_a_match_says(void **state)
{
    make_tree();
    put("src/main.py", "12345");
    expect("glob", glob_with(NULL, "{link.py,src/lib}", flags(DIRECTORIES | ANCHORED)), 0, 0);
    assert_int_equal(got.count, 2);
    assert_string_equal(got.items[0].path, "/ws/link.py");
    assert_int_equal(got.items[0].type, HUTCH_FILE_REGULAR);
    assert_int_equal(got.items[0].size, 5);
    assert_true(got.items[0].modified_ns > 0);
    assert_int_equal(got.items[1].type, HUTCH_FILE_DIRECTORY);
    expect("glob", glob_with("/ws/src/..", "a.py", flags(ANCHORED)), 0, 0);
    assert_string_equal(got.items[0].path, "/ws/src/../a.py");
    assert_string_equal(got.items[0].name, "a.py");
}

static void limits(void **state)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;

    for (int i = 0; i < 20; i++) {
        char path[16];

        snprintf(path, sizeof path, "f%d", i);
        put(path, "");
    }
    options.limit = 20;
    expect("20", glob_with(NULL, "f*", options), 0, 0);
    assert_int_equal(got.count, 20);
    assert_false(got.truncated);
    options.limit = 19;
    expect("19", glob_with(NULL, "f*", options), 0, 0);
    assert_int_equal(got.count, 19);
    assert_true(got.truncated);
    options = (struct hutch_file_glob_options){.limit = 100, .budget_ms = UINT64_MAX};
    expect("all time", glob_with(NULL, "f*", options), 0, 0);
    assert_int_equal(got.count, 20);
    options = (struct hutch_file_glob_options){.limit = 100};
    expect("no time", glob_with(NULL, "f*", options), 0, 0);
    assert_int_equal(got.count, 0);
    assert_true(got.truncated);
}

static void what_cannot_be_searched(void **state)
{
    put("file", "");
    expect("none", glob_with("none", "*", flags(0)), HUTCH_ENOTFOUND, ENOENT);
    expect("none", glob_with("none", "a/*", flags(0)), HUTCH_ENOTFOUND, ENOENT);
    expect("file", glob_with("file", "*", flags(0)), HUTCH_EINVALID, ENOTDIR);
    expect("..", glob_with(NULL, "../*", flags(0)), HUTCH_EINVALID, 0);
    assert_string_equal(err.where, "pattern");
    expect("", glob_with(NULL, "", flags(0)), HUTCH_EINVALID, 0);
}

static void passes_over_what_it_may_not_see(void **state)
{
    if (geteuid() == 0) {
        SKIP("root may see everything");
    }
    make_dir("shut");
    make_dir("open");
    put("shut/x.py", "");
    put("open/x.py", "");
    chmod(host("shut"), 0);
    expect("shut", glob_with(NULL, "*.py", flags(0)), 0, 0);
    chmod(host("shut"), 0755);
    assert_string_equal(names(), "open/x.py ");
}

static void leaves_out_the_kernels_own(void **state)
{
    struct work host_root = WORK_INIT;
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;

    host_root.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = work_glob(&host_root, "/", "*/version", &options, &arena, &got, &err);
    expect("/", r, 0, 0);
    for (size_t i = 0; i < got.count; i++)
        assert_false(str_starts(got.items[i].path, "/proc/"));
    r = work_glob(&host_root, "/proc", "/versio?", &options, &arena, &got, &err);
    fd_close(&host_root.root);
    expect("/proc", r, 0, 0);
    assert_int_equal(got.count, 1);
}

static void leaves_the_system_out_of_the_root(void **state)
{
    static const char *const system[] = {"/usr", "/etc/ssl", NULL};
    static const struct {
        const char *path, *pattern, *want;
    } cases[] = {
        {"/", "**/*.py", "etc/own.py usr2/u.py ws/usr/w.py "},
        {"/ws/..", "**/*.py", "etc/own.py usr2/u.py ws/usr/w.py "},
        {"/", "*/*.py", "etc/own.py usr2/u.py "},
        {"/", "usr/**/*.py", "usr/lib/l.py usr/s.py "},
        {"/", "us[r]/*.py", ""},
        {"/usr", "**/*.py", "lib/l.py s.py "},
        {"/usr/lib", "*.py", "l.py "},
        {"/ws", "**/*.py", "usr/w.py "},
    };
    static const char *const dirs[] = {"/usr", "/usr/lib", "/usr2", "/etc", "/etc/ssl", "/ws/usr"};
    static const char *const files[] = {"/usr/s.py",     "/usr/lib/l.py", "/usr2/u.py",
                                        "/etc/ssl/c.py", "/etc/own.py",   "/ws/usr/w.py"};

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        make_dir(dirs[i]);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        put(files[i], "x");
    work.system_dirs = system;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        expect(cases[i].pattern, glob_with(cases[i].path, cases[i].pattern, flags(0)), 0, 0);
        if (!str_eq(names(), cases[i].want))
            fail_msg("%s from %s: %s", cases[i].pattern, cases[i].path, names());
    }
    expect("/usr itself", glob_with("/", "/usr", flags(DIRECTORIES)), 0, 0);
    assert_string_equal(names(), "usr ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(globs, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(what_a_match_says, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(limits, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_searched, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(passes_over_what_it_may_not_see, inside_setup,
                                        inside_teardown),
        cmocka_unit_test_setup_teardown(leaves_out_the_kernels_own, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(leaves_the_system_out_of_the_root, inside_setup,
                                        inside_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
