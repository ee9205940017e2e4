/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/work.h"

#include <sys/resource.h>

#define INSIDE_IN_MEMORY
#include "inside.h"

static int delete_with(const char *path, bool recursive)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;

    options.recursive = recursive;
    return work_delete(&work, path, &options, &err);
}

static void deletes(void **state)
{
    static const struct {
        const char *path;
        bool recursive;
        int want, error;
    } cases[] = {
        {"file", false, 0, 0},
        {"file", false, HUTCH_ENOTFOUND, ENOENT},
        {"link", true, 0, 0},
        {"gone", false, 0, 0},
        {"dirlink/", true, 0, 0}, /* the link, not what it leads to */
        {"empty", false, 0, 0},
        {"full", false, HUTCH_EINVALID, ENOTEMPTY},
        {"full", true, 0, 0},
        {"fifo", false, 0, 0},
        {"new\nline\xff", false, 0, 0},
        {"kept/x/y", true, HUTCH_EINVALID, ENOTDIR},
        {"/", true, HUTCH_EBUSY, EBUSY},
        {"..", true, HUTCH_EBUSY, EBUSY},
        {"dir/..", true, HUTCH_EBUSY, EBUSY},
        {"", true, HUTCH_ENOTFOUND, ENOENT},
        {"loop/x", true, HUTCH_EINVALID, ELOOP},
        {"viadir/x", true, 0, 0}, /* links on the way are followed */
    };

    put("file", "x");
    make_dir("dir");
    make_dir("dir/x");
    make_dir("kept");
    put("kept/x", "x");
    make_link("kept", "link");
    make_link("kept", "dirlink");
    make_link("none", "gone");
    make_link("loop", "loop");
    make_link("dir", "viadir");
    make_dir("empty");
    make_dir("full");
    make_dir("full/sub");
    make_dir("full/sub/sub");
    put("full/sub/file", "x");
    make_link("/ws/kept", "full/sub/link");
    make_link("../../kept", "full/sub/sub/link");
    assert_int_equal(mkfifo(host("full/fifo"), 0600), 0);
    assert_int_equal(mkfifo(host("fifo"), 0600), 0);
    put("new\nline\xff", "x");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        expect(cases[i].path, delete_with(cases[i].path, cases[i].recursive), cases[i].want,
               cases[i].error);
        if (cases[i].want == 0) {
            char path[64];

            snprintf(path, sizeof path, "%s", cases[i].path);
            path[strcspn(path, "/")] = cases[i].path[0] == 'v' ? '/' : '\0';
            assert_false(is_there(path));
        }
    }
    assert_string_equal(get("kept/x"), "x");
    assert_true(is_there("dir"));
}

/* A chain of directories that no path can name, made the only way there is. */
static void make_deep(const char *top, int depth)
{
    fd_auto int fd = open(host(top), O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(fd, "directory", 0755), 0);
        int next = openat(fd, "directory", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(fd);
        fd = next;
        if (i % 64 == 0)
            close(openat(fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    }
}

static void depth_does_not_matter(void **state)
{
    struct rlimit before, few;

    make_dir("deep");
    make_deep("deep", 5000);
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = 16;
    setrlimit(RLIMIT_NOFILE, &few);
    int r = delete_with("deep", true);
    setrlimit(RLIMIT_NOFILE, &before);
    expect("deep", r, 0, 0);
    assert_false(is_there("deep"));
}

static void width_does_not_matter(void **state)
{
    make_dir("wide");
    for (int i = 0; i < 3000; i++) {
        char path[64];

        snprintf(path, sizeof path, "wide/d%d", i);
        if (i % 3 == 0) {
            make_dir(path);
            snprintf(path, sizeof path, "wide/d%d/file", i);
        }
        put(path, "");
    }
    expect("wide", delete_with("wide", true), 0, 0);
    assert_false(is_there("wide"));
}

static void stops_when_its_time_is_over(void **state)
{
    struct hutch_file_delete_options options = {.recursive = true, .budget_ms = 0};

    make_dir("full");
    put("full/file", "x");
    expect("no time", work_delete(&work, "full", &options, &err), HUTCH_EBUSY, ETIMEDOUT);
}

static void rights_decide(void **state)
{
    if (geteuid() == 0) {
        SKIP("root may delete everything");
    }
    make_dir("top");
    make_dir("top/shut");
    put("top/shut/file", "x");
    chmod(host("top/shut"), 0555);
    expect("shut", delete_with("top", true), HUTCH_EDENIED, EACCES);
    assert_true(is_there("top/shut/file"));
    chmod(host("top/shut"), 0);
    expect("shut", delete_with("top", true), HUTCH_EDENIED, EACCES);
    chmod(host("top/shut"), 0755);
    expect("open", delete_with("top", true), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(deletes, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(depth_does_not_matter, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(width_does_not_matter, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(stops_when_its_time_is_over, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(rights_decide, inside_setup, inside_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
