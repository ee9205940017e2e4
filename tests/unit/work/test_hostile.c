/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Things that wait, act, lie, or never end. Every call on every one of them, with a clock. */
#include "work/work.h"

#include <linux/falloc.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>

#define INSIDE_IN_MEMORY
#include "inside.h"

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int call_read(const char *path)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    struct hutch_file_content got;

    return work_read(&work, path, &options, &arena, &got, &err);
}

static int call_write(const char *path)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;
    struct hutch_file_written got;

    return work_write(&work, path, "x", 1, &options, &arena, &got, &err);
}

static int call_edit(const char *path)
{
    struct hutch_file_edit_options options = HUTCH_FILE_EDIT_INIT;
    struct hutch_file_edited got;

    return work_edit(&work, path, "a", "b", &options, &arena, &got, &err);
}

static int call_grep(const char *path)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;
    struct hutch_file_matches got;

    return work_grep(&work, path, "text", &options, &arena, &got, &err);
}

static int call_list(const char *path)
{
    struct hutch_file_list_options options = HUTCH_FILE_LIST_INIT;
    struct hutch_file_entries got;

    return work_list(&work, path, &options, &arena, &got, &err);
}

static int call_glob(const char *path)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;
    struct hutch_file_entries got;

    return work_glob(&work, path, "**", &options, &arena, &got, &err);
}

static int call_delete(const char *path)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;

    return work_delete(&work, path, &options, &err);
}

static const struct {
    const char *name;
    int (*fn)(const char *path);
} calls[] = {
    {"read", call_read}, {"write", call_write}, {"edit", call_edit},     {"grep", call_grep},
    {"list", call_list}, {"glob", call_glob},   {"delete", call_delete},
};

static void things_that_are_no_files(void **state)
{
    static const char *const names[] = {"fifo", "socket", "device", "tty", "fd", "exe", "root"};
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (chdir(host("/ws")) < 0)
        fail_msg("chdir");
    assert_int_equal(mkfifo("fifo", 0666), 0);
    fd_auto int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "socket");
    assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof address), 0);
    /* Only root can make devices; elsewhere these names are not there. */
    if (mknod("device", S_IFCHR | 0666, makedev(1, 5)) == 0 &&
        mknod("tty", S_IFCHR | 0666, makedev(5, 0)) < 0)
        fail_msg("mknod");
    make_link("/proc/self/fd/0", "fd");
    make_link("/proc/self/exe", "exe");
    make_link("/proc/self/root", "root");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (size_t k = 0; is_there(names[i]) && k < ARRAY_LEN(calls); k++) {
            double start = now();
            int r = calls[k].fn(names[i]);

            if (now() - start > 1)
                fail_msg("%s %s took %.1f s", calls[k].name, names[i], now() - start);
            /* The links lead to what is not there inside, and a new file is made of no thing. */
            bool removed = str_eq(calls[k].name, "delete");
            if (r >= 0 && !removed)
                fail_msg("%s %s worked", calls[k].name, names[i]);
        }
}

/* With a /proc that is really there. */
static void magic_links(void **state)
{
    static const char *const paths[] = {
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/x",
        "/proc/self/exe",
        "/proc/self/fd/0",
        "/proc/thread-self/root/etc/passwd",
    };
    struct work inside = work;

    work.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        expect(paths[i], call_read(paths[i]), HUTCH_EINVALID, ELOOP);
        expect(paths[i], call_write(paths[i]), HUTCH_EINVALID, ELOOP);
        expect(paths[i], call_edit(paths[i]), HUTCH_EINVALID, ELOOP);
        expect(paths[i], call_grep(paths[i]), HUTCH_EINVALID, ELOOP);
    }
    close(work.root);
    work = inside;
}

static void a_file_of_an_exbibyte(void **state)
{
    static const char *const starts[] = {"", "text\n"};
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    struct hutch_file_content got;
    double start = now();

    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        off_t size = (off_t)1 << 60;
        static char text[20000];

        /* Enough text for the file to pass for one. */
        memset(text, 'a', sizeof text);
        put_bytes("huge", text, i ? sizeof text : 0);
        while (truncate(host("huge"), size) < 0 && size > 1 << 20)
            size /= 2; /* what this file system can do */
        print_message("# %lld bytes\n", (long long)size);
        expect("read", work_read(&work, "huge", &options, &arena, &got, &err), 0, 0);
        assert_int_equal(got.binary, i == 0);
        assert_true(got.size == (uint64_t)size);
        assert_true(got.truncated);
        assert_false(got.total_known);
        expect("edit", call_edit("huge"), HUTCH_EINVALID, i == 0 ? EILSEQ : EFBIG);
        expect("grep", call_grep("."), 0, 0);
        expect("grep", call_grep("huge"), 0, 0);
    }
    expect("write", call_write("huge"), 0, 0);
    if (now() - start > 5)
        fail_msg("%.1f s", now() - start);
}

static void a_file_that_grows(void **state)
{
    double start = now();

    put("log", "text\n");
    pid_t pid = fork();
    if (pid == 0) {
        static char block[65536];
        int fd = open(host("log"), O_WRONLY | O_APPEND | O_CLOEXEC);

        memset(block, 'a', sizeof block);
        for (double end = now() + 1; now() < end;)
            if (write(fd, block, sizeof block) < 0 || lseek(fd, 0, SEEK_END) > 400 << 20)
                _exit(0);
        _exit(0);
    }
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        call_read("log");
        call_grep("log");
        arena_clear(&arena);
    }
    if (now() - start > 10)
        fail_msg("%.1f s", now() - start);
}

/* Whoever holds a write lease can make others wait when they open the file. */
static void a_lease(void **state)
{
    int ready[2];
    char byte = 0;

    put("file", "a");
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(host("file"), O_RDWR | O_CLOEXEC);

        signal(SIGIO, SIG_IGN);
        byte = fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    double start = now();
    int r = call_read("file");
    double took = now() - start;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    if (!byte) {
        SKIP("no leases on this file system");
    }
    expect("lease", r, HUTCH_EBUSY, EBUSY);
    assert_true(took < 1);
}

static void names_of_all_kinds(void **state)
{
    static const char *const names[] = {"\n", "a\nb",  " ",  "-rf", "\xff\xfe\xfd", "\x1b[31m", "*",
                                        "[",  "{a,b}", "\\", "...", "..a",          ".hutch-0"};
    struct hutch_file_list_options options = HUTCH_FILE_LIST_INIT;
    struct hutch_file_entries got;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        expect(names[i], call_write(names[i]), 0, 0);
        expect(names[i], call_read(names[i]), 0, 0);
    }
    expect("list", work_list(&work, NULL, &options, &arena, &got, &err), 0, 0);
    assert_int_equal(got.count, ARRAY_LEN(names));
    for (size_t i = 0; i < got.count; i++)
        expect(got.items[i].path, call_delete(got.items[i].path), 0, 0);
    expect("none", call_read("\x1b[31m\xff"), HUTCH_ENOTFOUND, ENOENT);
    assert_null(strchr(err.msg, '\x1b'));
    assert_null(strchr(err.where, '\x1b'));
}

static void a_tree_deeper_than_any_path(void **state)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;
    struct hutch_file_delete_options all = HUTCH_FILE_DELETE_INIT;
    struct hutch_file_entries got;
    fd_auto int fd = open(host("/ws"), O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (int i = 0; i < 4096; i++) {
        close(openat(fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        int next = openat(fd, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    double start = now();
    expect("glob", work_glob(&work, NULL, "f", &options, &arena, &got, &err), 0, 0);
    assert_true(got.truncated);
    assert_true(got.count > 2000 && got.count < 2100);
    expect("grep", call_grep("."), 0, 0);
    all.recursive = true;
    expect("delete", work_delete(&work, "d", &all, &err), 0, 0);
    if (now() - start > 20)
        fail_msg("%.1f s", now() - start);
}

static void mazes_of_links(void **state)
{
    char name[16], target[16];

    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "l%d", i);
        snprintf(target, sizeof target, "l%d", i + 1);
        make_link(target, name);
    }
    make_link("ping", "pong");
    make_link("pong", "ping");
    make_link(".", "self");
    make_link("self/self/self/self/self/self/self/self", "selves");
    for (size_t k = 0; k < ARRAY_LEN(calls) - 1; k++) {
        expect("chain", calls[k].fn("l0"), HUTCH_EINVALID, ELOOP);
        expect("ring", calls[k].fn("ping"), HUTCH_EINVALID, ELOOP);
    }
    expect("self", call_write("selves/selves/file"), 0, 0);
    assert_string_equal(get("file"), "x");
    expect("all", call_glob("."), 0, 0);
}

/*
 * A link that leads to `end` through many others, with thousands of steps each. The kernel follows 40, and
 * counts those of a second try (which a rename makes it do) together with those of the first.
 */
static const char *make_maze(const char *end)
{
    static char name[16];
    char text[PATH_MAX];

    make_dir("d");
    for (int i = 0; i < 18; i++) {
        size_t len = 0;

        for (; len < PATH_MAX - 32; len += 5)
            memcpy(text + len, "d/../", 5);
        snprintf(text + len, sizeof text - len, "%s", i ? name : end);
        snprintf(name, sizeof name, "maze%d", i);
        make_link(text, name);
    }
    return name;
}

static void long_ways(void **state)
{
    struct hutch_file_glob_options globbing = HUTCH_FILE_GLOB_INIT;
    struct hutch_file_list_options listing = HUTCH_FILE_LIST_INIT;
    struct hutch_file_delete_options removing = HUTCH_FILE_DELETE_INIT;
    struct hutch_file_entries got;
    char path[PATH_MAX], name[16];
    const char *maze = make_maze("dir");
    size_t len = (size_t)snprintf(path, sizeof path, "%s", maze);

    make_dir("dir");
    double start = now();
    for (; len < PATH_MAX - 16; len += 2)
        memcpy(path + len, "/a", 3);
    expect("write", call_write(path), 0, 0);
    if (now() - start > 5)
        fail_msg("write took %.1f s", now() - start);

    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "link%d", i);
        make_link(maze, name);
    }
    start = now();
    listing.follow = true;
    listing.budget_ms = 500;
    expect("list", work_list(&work, NULL, &listing, &arena, &got, &err), 0, 0);
    globbing.budget_ms = 500;
    expect("glob", work_glob(&work, NULL, "/link*", &globbing, &arena, &got, &err), 0, 0);
    snprintf(path, sizeof path, "%s/{a,b,c,d,e,f,g,h}{a,b,c,d,e,f,g,h}{a,b,c,d,e,f,g,h}/*", maze);
    expect("braces", work_glob(&work, NULL, path, &globbing, &arena, &got, &err), 0, 0);
    assert_true(got.truncated);
    if (now() - start > 5)
        fail_msg("searches took %.1f s", now() - start);
    /* No path is long enough to name what is at its end. */
    removing.recursive = true;
    expect("delete", work_delete(&work, "dir", &removing, &err), 0, 0);
}

static void times_beyond_all_years(void **state)
{
    struct timespec times[2] = {{.tv_sec = INT64_MAX / 2}, {.tv_sec = INT64_MAX / 2}};
    struct hutch_file_entry got;

    put("file", "");
    utimensat(AT_FDCWD, host("file"), times, 0);
    expect("stat", work_stat(&work, "file", false, &arena, &got, &err), 0, 0);
    times[1].tv_sec = INT64_MIN / 2;
    utimensat(AT_FDCWD, host("file"), times, 0);
    expect("stat", work_stat(&work, "file", false, &arena, &got, &err), 0, 0);
}

#define HOSTILE(test) cmocka_unit_test_setup_teardown(test, inside_setup, inside_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOSTILE(things_that_are_no_files),
        HOSTILE(magic_links),
        HOSTILE(a_file_of_an_exbibyte),
        HOSTILE(a_file_that_grows),
        HOSTILE(a_lease),
        HOSTILE(names_of_all_kinds),
        HOSTILE(a_tree_deeper_than_any_path),
        HOSTILE(mazes_of_links),
        HOSTILE(long_ways),
        HOSTILE(times_beyond_all_years),
    };

    alarm(100); /* so that what hangs is seen */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
