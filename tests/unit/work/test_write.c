/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/work.h"

#include "inside.h"

static struct hutch_file_written got;

static int write_with(const char *path, const char *text, mode_t mode, bool exclusive)
{
    struct hutch_file_write_options options = {.mode = mode, .exclusive = exclusive};

    return work_write(&work, path, text, strlen(text), &options, &arena, &got, &err);
}

/* Nothing with a temporary name may stay. */
static void no_leftovers(const char *dir)
{
    struct hutch_file_list_options options = HUTCH_FILE_LIST_INIT;
    struct hutch_file_entries entries;

    assert_int_equal(work_list(&work, dir, &options, &arena, &entries, &err), 0);
    for (size_t i = 0; i < entries.count; i++)
        if (str_starts(entries.items[i].name, ".hutch-"))
            fail_msg("'%s' stayed", entries.items[i].path);
}

static void writes(void **state)
{
    static const struct {
        const char *path, *lands; /* where it must be found */
        bool created;
    } cases[] = {
        {"new", "new", true},
        {"old", "old", false},
        {"/ws/abs", "/ws/abs", true},
        {"a/b/c/new", "a/b/c/new", true},
        {"dir//./new", "dir/new", true},
        {"dir/../up", "up", true},
        {"/../../top", "/top", true},
        {"link", "target", false}, /* followed, as ">" would */
        {"dangling", "dir/made", true},
        {"chain", "target", false},
        {"abslink", "/ws/target", false},
        {"dirlink/x/y", "dir/x/y", true},
        {"new\nline\xff", "new\nline\xff", true},
        {"trailing/", "trailing", true},
        {"missing/../dir/../missing/../dirlink/made2", "dir/made2", true}, /* as "mkdir -p" */
        {"outlink", "/etc/x", true}, /* "/" is the root inside */
    };

    put("old", "old content that is longer");
    put("target", "t");
    make_dir("dir");
    make_dir("/etc");
    make_link("target", "link");
    make_link("dir/made", "dangling");
    make_link("link", "chain");
    make_link("/ws/target", "abslink");
    make_link("dir", "dirlink");
    make_link("../../../../../../etc/x", "outlink");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[32];

        snprintf(text, sizeof text, "content %zu", i);
        expect(cases[i].path, write_with(cases[i].path, text, 0, false), 0, 0);
        assert_string_equal(get(cases[i].lands), text);
        assert_int_equal(got.created, cases[i].created);
        assert_int_equal(got.size, strlen(text));
        assert_int_equal(got.path[0], '/');
        assert_false(got.in_place);
    }
    struct stat st;
    assert_int_equal(lstat(host("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    no_leftovers(NULL);
    no_leftovers("dir");
}

static void modes_whatever_the_umask(void **state)
{
    static const mode_t masks[] = {0, 022, 077, 0777};
    mode_t mask = umask(0);

    for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
        char path[32];

        umask(0);
        put("kept", "x");
        put("script", "x");
        chmod(host("kept"), 0604);
        chmod(host("script"), 04755);
        umask(masks[i]);
        snprintf(path, sizeof path, "d%zu/e/new", i);
        expect("new", write_with(path, "x", 0, false), 0, 0);
        assert_int_equal(mode_of(path), 0644);
        snprintf(path, sizeof path, "d%zu/e", i);
        assert_int_equal(mode_of(path), 0755);
        expect("kept", write_with("kept", "y", 0, false), 0, 0);
        assert_int_equal(mode_of("kept"), 0604);
        expect("given", write_with("kept", "y", 0751, false), 0, 0);
        assert_int_equal(mode_of("kept"), 0751);
        expect("script", write_with("script", "y", 0, false), 0, 0);
        assert_int_equal(mode_of("script"), 0755); /* as a write by others would */
        assert_int_equal(umask(mask), masks[i]);
    }
    expect("mode", write_with("kept", "y", 04755, false), HUTCH_EINVALID, 0);
    assert_string_equal(err.where, "mode");
}

static void only_where_nothing_is(void **state)
{
    put("old", "old");
    make_link("nowhere", "dangling");
    make_link("old", "link");
    expect("new", write_with("new", "x", 0, true), 0, 0);
    expect("old", write_with("old", "x", 0, true), HUTCH_EINVALID, EEXIST);
    expect("link", write_with("link", "x", 0, true), HUTCH_EINVALID, EEXIST);
    expect("dangling", write_with("dangling", "x", 0, true), 0, 0);
    assert_string_equal(get("nowhere"), "x");
    assert_string_equal(get("old"), "old");
}

static void what_cannot_be_written(void **state)
{
    static const struct {
        const char *path;
        int want, error;
    } cases[] = {
        {"dir", HUTCH_EINVALID, EISDIR},
        {"/", HUTCH_EINVALID, EISDIR},
        {"..", HUTCH_EINVALID, EISDIR},
        {"dir/..", HUTCH_EINVALID, EISDIR},
        {"dirlink", HUTCH_EINVALID, EISDIR},
        {"fifo", HUTCH_EINVALID, EINVAL},
        {"file/x", HUTCH_EINVALID, ENOTDIR},
        {"file/x/y", HUTCH_EINVALID, ENOTDIR},
        {"loop", HUTCH_EINVALID, ELOOP},
        {"loop/x", HUTCH_EINVALID, ELOOP},
        {"gone/x", HUTCH_EINVALID, ENOTDIR}, /* "mkdir -p" does not make a link's target either */
        {"deep", HUTCH_ENOTFOUND, ENOENT},
        /* a link into a directory that is not there */ {"", HUTCH_ENOTFOUND, ENOENT},
    };

    make_dir("dir");
    put("file", "kept");
    make_link("dir", "dirlink");
    make_link("loop", "loop");
    make_link("none", "gone");
    make_link("none/none", "deep");
    assert_int_equal(mkfifo(host("fifo"), 0600), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect(cases[i].path, write_with(cases[i].path, "x", 0, false), cases[i].want,
               cases[i].error);
    assert_string_equal(get("file"), "kept");
    static char path[400];
    memset(path, 'a', 300);
    expect("long name", write_with(path, "x", 0, false), HUTCH_EINVALID, ENAMETOOLONG);
    no_leftovers(NULL);
}

static void rights_decide(void **state)
{
    if (geteuid() == 0) {
        SKIP("root may write everything");
    }
    put("readonly", "kept");
    chmod(host("readonly"), 0444);
    expect("readonly", write_with("readonly", "x", 0, false), HUTCH_EDENIED, EACCES);
    assert_string_equal(get("readonly"), "kept");

    make_dir("shut");
    put("shut/open", "old content");
    chmod(host("shut"), 0555);
    expect("new in shut", write_with("shut/new", "x", 0, false), HUTCH_EDENIED, EACCES);
    /* A command could write to it, though nothing can be put beside it. */
    expect("open in shut", write_with("shut/open", "new", 0600, false), 0, 0);
    assert_true(got.in_place);
    assert_string_equal(get("shut/open"), "new");
    assert_int_equal(mode_of("shut/open"), 0600);
    chmod(host("shut"), 0755);
}

static void hard_links_keep_the_old_content(void **state)
{
    char outside[PATH_MAX];
    struct stat st;

    snprintf(outside, sizeof outside, "%s", at("@/outside/canary"));
    assert_int_equal(link(outside, host("hard")), 0);
    expect("hard", write_with("hard", "changed", 0, false), 0, 0);
    assert_string_equal(get("hard"), "changed");
    assert_int_equal(stat(outside, &st), 0);
    assert_int_equal(st.st_size, 0);
}

static void readers_see_old_or_new(void **state)
{
    static char old[100001], next[100001];
    int seen_new = 0;

    memset(old, 'o', sizeof old - 1);
    memset(next, 'n', sizeof next - 1);
    put("file", old);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 300; i++)
            if (write_with("file", i % 2 ? old : next, 0, false) < 0)
                _exit(1);
        _exit(0);
    }
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        static char data[200000];
        fd_auto int fd = open(host("file"), O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(read(fd, data, sizeof data), 100000);
        assert_int_equal(data[0], data[99999]);
        seen_new += data[0] == 'n';
    }
    assert_int_equal(status, 0);
    print_message("# the new content was seen %d times\n", seen_new);
}

static void empty_and_binary(void **state)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;

    assert_int_equal(work_write(&work, "empty", NULL, 0, &options, &arena, &got, &err), 0);
    assert_string_equal(get("empty"), "");
    assert_int_equal(work_write(&work, "nul", "a\0b", 3, &options, &arena, &got, &err), 0);
    struct stat st;
    assert_int_equal(stat(host("nul"), &st), 0);
    assert_int_equal(st.st_size, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(modes_whatever_the_umask, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(only_where_nothing_is, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_written, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(rights_decide, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(hard_links_keep_the_old_content, inside_setup,
                                        inside_teardown),
        cmocka_unit_test_setup_teardown(readers_see_old_or_new, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(empty_and_binary, inside_setup, inside_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
