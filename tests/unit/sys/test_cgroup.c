/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/cgroup.h"

#include <errno.h>

#include "../scratch.h"
#include "sys/path.h"
#include "sys/procfs.h"

#define V1                                                                                         \
    "12:pids:/user.slice\n"                                                                        \
    "4:memory:/a/b\n"                                                                              \
    "3:cpu,cpuacct:/c:d/e,f\n"                                                                     \
    "2:freezer:/\n"                                                                                \
    "1:name=systemd:/user.slice/memory\n"
#define V2 "0::/user.slice/user-1000.slice/a:b c.scope\n"
#define HYBRID V1 "0::/x\n"

static void places(void **state)
{
    static const struct {
        const char *text;
        const char *controller;
        int r;
        const char *want;
    } cases[] = {
        {V1, "memory", 0, "memory/a/b"},
        {V1, "pids", 0, "pids/user.slice"},
        {V1, "cpu", 0, "cpu,cpuacct/c:d/e,f"},
        {V1, "cpuacct", 0, "cpu,cpuacct/c:d/e,f"},
        {V1, "freezer", 0, "freezer"},
        {V1, "name=systemd", 0, "name=systemd/user.slice/memory"},
        {V1, "blkio", -ENOENT, NULL},
        /* Part of a name, more than a name, more than one. */
        {V1, "mem", -ENOENT, NULL},
        {V1, "memoryx", -ENOENT, NULL},
        {V1, "cpu,cpuacct", -ENOENT, NULL},
        {V1, "", -ENOENT, NULL},
        {V2, "", 0, "user.slice/user-1000.slice/a:b c.scope"},
        {V2, "memory", -ENOENT, NULL},
        {"0::/\n", "", 0, ""},
        {HYBRID, "", 0, "x"},
        {HYBRID, "memory", 0, "memory/a/b"},
        {"", "", -ENOENT, NULL},
        /* The group is gone: its name says so, and does not exist. */
        {"0::/a (deleted)\n", "", 0, "a (deleted)"},
        /* Outside of the cgroup namespace; and names that only begin so. */
        {"0::/..\n", "", -ENOENT, NULL},
        {"4:memory:/../x\n", "memory", -ENOENT, NULL},
        {"0::/..x\n", "", 0, "..x"},
        {"0::/...\n", "", 0, "..."},
        /* Cut off, so that nobody knows what it would have been. */
        {"0::/user.sl", "", -ENOENT, NULL},
        {V1 "0::/x", "", -ENOENT, NULL},
        /* Nothing that the kernel writes. */
        {"\n\n0\n0:\n:\n::\n", "", -ENOENT, NULL},
        {"0::x\n", "", -ENOENT, NULL},
        {"no colon\n0::/x\n", "", 0, "x"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[64] = "untouched";
        int r = sys_cgroup_place(cases[i].text, cases[i].controller, out, sizeof(out));
        if (r != cases[i].r || !str_eq(out, cases[i].want ? cases[i].want : "untouched"))
            fail_msg("'%s' of %s: %d '%s'", cases[i].controller, cases[i].text, r, out);
    }
}

static void a_place_fits_or_is_refused(void **state)
{
    char out[11];

    assert_int_equal(sys_cgroup_place(V1, "memory", out, 11), 0);
    assert_string_equal(out, "memory/a/b");
    assert_int_equal(sys_cgroup_place(V1, "memory", out, 10), -ENAMETOOLONG);
    assert_int_equal(sys_cgroup_place("0::/\n", "", out, 1), 0);
    assert_int_equal(sys_cgroup_place("0::/\n", "", out, 0), -ENAMETOOLONG);
}

static void numbers(void **state)
{
    static const struct {
        const char *text;
        int r;
        uint64_t want;
    } cases[] = {
        {"0\n", 0, 0},
        {"4096\n", 0, 4096},
        {"4096", 0, 4096},
        {"max\n", 0, UINT64_MAX},
        {"18446744073709551615\n", 0, UINT64_MAX},
        {"18446744073709551616\n", -EINVAL, 7},
        {"99999999999999999999999\n", -EINVAL, 7},
        {"", -EINVAL, 7},
        {"\n", -EINVAL, 7},
        {"-1\n", -EINVAL, 7},
        {"12 34\n", -EINVAL, 7},
        {"maximum\n", -EINVAL, 7},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t got = 7;
        if (sys_cgroup_number(cases[i].text, &got) != cases[i].r || got != cases[i].want)
            fail_msg("'%s': %llu", cases[i].text, (unsigned long long)got);
    }
}

static void keys(void **state)
{
    static const char events[] = "low 0\nmax 3\noom 2\noom_kill 5\noom_group_kill 1\n";
    static const struct {
        const char *text;
        const char *key;
        int r;
        uint64_t want;
    } cases[] = {
        {events, "low", 0, 0},
        {events, "oom", 0, 2},
        {events, "oom_kill", 0, 5},
        {events, "oom_group_kill", 0, 1},
        {events, "kill", -EINVAL, 7},
        {events, "", -EINVAL, 7},
        {"oom_kill_disable 0\nunder_oom 0\noom_kill 4\n", "oom_kill", 0, 4},
        {"max 9", "max", 0, 9},
        {"max\n", "max", -EINVAL, 7},
        {"max x\n", "max", -EINVAL, 7},
        {"max 1x\n", "max", -EINVAL, 7},
        {"", "max", -EINVAL, 7},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t got = 7;
        if (sys_cgroup_key(cases[i].text, cases[i].key, &got) != cases[i].r || got != cases[i].want)
            fail_msg("'%s' of '%s': %llu", cases[i].key, cases[i].text, (unsigned long long)got);
    }
}

static void sums(void **state)
{
    static const char io[] = "8:16 rbytes=1459200 wbytes=314773504 rios=192 dbytes=0\n"
                             "8:0 rbytes=1 wbytes=2 rios=3\n259:0 \n";
    static const struct {
        const char *text;
        const char *key;
        int r;
        uint64_t want;
    } cases[] = {
        {io, "rbytes", 0, 1459201},
        {io, "wbytes", 0, 314773506},
        {io, "bytes", 0, 0},
        {"", "rbytes", 0, 0},
        {"8:0 rbytes=x\n", "rbytes", -EINVAL, 7},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t got = 7;
        if (sys_cgroup_sum(cases[i].text, cases[i].key, &got) != cases[i].r || got != cases[i].want)
            fail_msg("'%s' of '%s': %llu", cases[i].key, cases[i].text, (unsigned long long)got);
    }
}

/* ---- Searching, in directories that look like groups ---- */

static const char *const names[] = {"memory", "pids", "cpu", NULL};

static void put(const char *dir, const char *file, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s%s%s", scratch, dir, dir[0] ? "/" : "", file);
    fd_auto int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        fail_msg("cannot write '%s'", path);
}

/* A group with controllers that it has, and gives; the root of all has no type. */
static void put_group(const char *dir, const char *has, const char *gives, const char *procs)
{
    put(dir, "cgroup.controllers", has);
    put(dir, "cgroup.subtree_control", gives);
    put(dir, "cgroup.procs", procs);
    if (dir[0])
        put(dir, "cgroup.type", "domain\n");
}

static void tell(const char *own, char *out, size_t size)
{
    unsigned have = 0;
    struct stat got = {0};
    struct stat want = {0};
    fd_auto int root = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    fd_auto int fd = sys_cgroup_search(root, own, names, &have);

    snprintf(out, size, "%d", fd);
    if (fd < 0)
        return;
    assert_int_equal(fstat(fd, &got), 0);
    static const char *const dirs[] = {".", "slice", "slice/own"};
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", scratch, dirs[i]);
        assert_int_equal(stat(path, &want), 0);
        if (want.st_ino == got.st_ino)
            snprintf(out, size, "%s %u", dirs[i], have);
    }
}

static void the_nearest_with_all_that_is_wanted(void **state)
{
    static const char *const tree[] = {"slice/", "slice/own/", NULL};
    static const char all[] = "cpuset cpu io memory pids\n";
    struct row {
        const char *has;
        const char *gives;
        const char *procs;
    };
    static const struct {
        struct row root, slice, own;
        const char *want;
    } cases[] = {
        /* Already given, where processes are too (a kernel that had it so). */
        {{all, all, "1\n"}, {all, all, ""}, {all, all, "9\n"}, "slice/own 7"},
        /* Our own group holds us: one above it. */
        {{all, all, "1\n"}, {all, all, ""}, {all, "", "9\n"}, "slice 7"},
        /* It could be told to give them. */
        {{all, all, "1\n"}, {all, "", ""}, {all, "", "9\n"}, "slice 7"},
        {{all, all, "1\n"}, {all, "cpu\n", ""}, {all, "", "9\n"}, "slice 7"},
        {{all, all, "1\n"}, {all, all, ""}, {all, "", ""}, "slice/own 7"},
        /* Not where processes are, but at the root of all. */
        {{all, "", "1\n"}, {all, "", "5\n"}, {all, "", "9\n"}, ". 7"},
        /* Not everything anywhere: the most of it, and of two equals the nearest. */
        {{"memory pids\n", "memory pids\n", ""},
         {"memory pids\n", "memory pids\n", ""},
         {"memory pids\n", "", "9\n"},
         "slice 3"},
        {{all, all, "1\n"}, {all, "memory pids\n", "5\n"}, {all, "", "9\n"}, ". 7"},
        {{"cpu pids\n", "cpu pids\n", ""},
         {"memory\n", "memory\n", ""},
         {"", "", "9\n"},
         "slice 1"},
        {{"pids\n", "pids\n", ""}, {"cpu\n", "cpu\n", ""}, {"", "", "9\n"}, ". 2"},
        /* Nothing at all: a group can still count CPU time. */
        {{"hugetlb\n", "", ""}, {"", "", ""}, {"", "", "9\n"}, "slice/own 0"},
        /* Parts of names. */
        {{"memoryx xpids\n", "memoryx xpids\n", ""}, {"", "", ""}, {"", "", ""}, "slice/own 0"},
    };
    char got[64];
    int before = open_fds();

    scratch_make(tree);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put_group("", cases[i].root.has, cases[i].root.gives, cases[i].root.procs);
        put_group("slice", cases[i].slice.has, cases[i].slice.gives, cases[i].slice.procs);
        put_group("slice/own", cases[i].own.has, cases[i].own.gives, cases[i].own.procs);
        tell("slice/own", got, sizeof(got));
        if (!str_eq(got, cases[i].want))
            fail_msg("case %zu: %s, not %s", i, got, cases[i].want);
    }
    assert_int_equal(open_fds(), before);
}

static int search_as_nobody(void)
{
    char got[64];

    /* Only what is ours; then also with a file that is not, which moving a process would need. */
    tell("slice/own", got, sizeof(got));
    return str_eq(got, "slice 7") ? 0 : 1;
}

static int search_without_procs(void)
{
    char got[64];

    tell("slice/own", got, sizeof(got));
    return strtol(got, NULL, 10) == -EACCES ? 0 : 1;
}

static void only_where_one_may_write(void **state)
{
    static const char *const tree[] = {"slice/", "slice/own/", NULL};
    static const char all[] = "cpu memory pids\n";

    scratch_make(tree);
    put_group("", all, all, "");
    put_group("slice", all, all, "");
    put_group("slice/own", all, all, "9\n");
    if (geteuid() != 0)
        SKIP("only root can give files away");
    assert_int_equal(chown(at("@/slice"), 23456, 23456), 0);
    assert_int_equal(chown(at("@/slice/cgroup.procs"), 23456, 23456), 0);
    assert_int_equal(as_nobody(search_as_nobody), 0);
    assert_int_equal(chown(at("@/slice/cgroup.procs"), 0, 0), 0);
    assert_int_equal(as_nobody(search_without_procs), 0);
}

static void what_is_not_there_is_passed_over(void **state)
{
    static const char *const tree[] = {"slice/", "slice/own/", "link -> slice", NULL};
    char got[64];
    char longest[PATH_MAX + 1];
    unsigned have = 0;

    scratch_make(tree);
    put_group("", "memory pids cpu\n", "", "");
    tell("slice/own", got, sizeof(got)); /* no cgroup.procs in it */
    assert_string_equal(got, ". 7");
    tell("gone/own (deleted)", got, sizeof(got));
    assert_string_equal(got, ". 7");
    put_group("slice", "memory pids cpu\n", "", "");
    tell("link", got, sizeof(got)); /* links are not followed */
    assert_string_equal(got, ". 7");
    memset(longest, 'x', sizeof(longest));
    longest[PATH_MAX] = '\0';
    assert_int_equal(unlink(at("@/cgroup.procs")), 0);
    tell("gone/own (deleted)", got, sizeof(got)); /* nowhere: what is in the way there */
    assert_int_equal(strtol(got, NULL, 10), -ENOENT);
    assert_int_equal(sys_cgroup_search(-1, longest, names, &have), -ENAMETOOLONG);
    assert_int_equal(sys_cgroup_search(-1, "a/b", names, &have), -EBADF); /* not "there is none" */
}

static void absence(void **state)
{
    static const int absent[] = {ENOENT, ENOTDIR, ELOOP, EACCES, EPERM, EROFS, EOPNOTSUPP, ENOSYS};
    static const int unknown[] = {ENOMEM, EMFILE, ENFILE, EIO, EBADF, EINTR};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        assert_true(sys_cgroup_is_absent(-absent[i]));
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        assert_false(sys_cgroup_is_absent(-unknown[i]));
    assert_false(sys_cgroup_is_absent(0));
}

static void enabling(void **state)
{
    static const char *const tree[] = {"cgroup.subtree_control", NULL};
    char text[16] = "";

    scratch_make(tree);
    fd_auto int dir = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(sys_cgroup_enable(dir, "memory"), 0);
    fd_auto int fd = open(at("@/cgroup.subtree_control"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(sys_cgroup_read(fd, text, sizeof(text)), 7);
    assert_string_equal(text, "+memory");
    assert_int_equal(sys_cgroup_read(fd, text, 4), 3);
    assert_string_equal(text, "+me");
}

/* ---- A group of this host ---- */

/* Where the test may make a v1 group; -1: nowhere. */
static int own_group(const char *controller)
{
    char text[8192];
    char place[4096];
    fd_auto int root = sys_cgroup_root();

    if (root < 0 || sys_cgroup_version(root) != 1 ||
        sys_proc_read(getpid(), "cgroup", text, sizeof(text)) < 0 ||
        sys_cgroup_place(text, controller, place, sizeof(place)) < 0)
        return -1;
    fd_auto int dir = sys_open_beneath(root, place, O_PATH | O_DIRECTORY, 0);
    return dir >= 0 && sys_cgroup_may_make(dir) == 0 ? fd_take(&dir) : -1;
}

static int child_joins(int tasks)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (sys_cgroup_join(tasks) < 0)
            _exit(2);
        _exit(fork() < 0 ? 0 : 1); /* one process is all that is allowed */
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

static void a_group_lives_and_dies(void **state)
{
    char name[64];
    char text[64];
    uint64_t refused = 0;
    int before = open_fds();
    fd_auto int parent = own_group("pids");
    if (parent < 0)
        SKIP("no v1 pids group that this user may write to");

    snprintf(name, sizeof(name), "hutch-unit-sys-%d", getpid());
    assert_int_equal(sys_cgroup_make(parent, name), 0);
    assert_int_equal(sys_cgroup_make(parent, name), -EEXIST);
    fd_auto int dir = sys_cgroup_open(parent, name);
    fd_auto int other = sys_cgroup_open(parent, name);
    assert_true(dir >= 0 && other >= 0);
    assert_int_equal(sys_cgroup_lock(dir), 0);
    assert_int_equal(sys_cgroup_lock(dir), 0); /* ours already */
    assert_int_equal(sys_cgroup_lock(other), -EWOULDBLOCK);
    fd_close(&dir);
    assert_int_equal(sys_cgroup_lock(other), 0);

    assert_int_equal(sys_cgroup_write_number(other, "pids.max", 1), 0);
    assert_int_equal(sys_cgroup_write(other, "pids.max", "some"), -EINVAL);
    assert_int_equal(sys_cgroup_write(other, "pids.none", "1"), -ENOENT);
    fd_auto int max = openat(other, "pids.max", O_RDONLY | O_CLOEXEC);
    assert_int_equal(sys_cgroup_read(max, text, sizeof(text)), 2);
    assert_string_equal(text, "1\n");
    fd_auto int tasks = openat(other, "tasks", O_WRONLY | O_CLOEXEC);
    assert_int_equal(child_joins(tasks), 0);
    fd_auto int events = openat(other, "pids.events", O_RDONLY | O_CLOEXEC);
    assert_true(sys_cgroup_read(events, text, sizeof(text)) > 0);
    assert_int_equal(sys_cgroup_key(text, "max", &refused), 0);
    assert_true(refused >= 1);

    assert_int_equal(sys_cgroup_remove(parent, name), 0);
    assert_int_equal(sys_cgroup_remove(parent, name), -ENOENT);
    /* What is gone says so. */
    assert_int_equal(sys_cgroup_read(max, text, sizeof(text)), -ENODEV);
    assert_int_equal(sys_cgroup_join(tasks), -ENODEV);
    assert_true(sys_cgroup_write(other, "pids.max", "1") < 0);
    fd_close(&other);
    fd_close(&max);
    fd_close(&tasks);
    fd_close(&events);
    fd_close(&parent);
    assert_int_equal(open_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(a_place_fits_or_is_refused),
        cmocka_unit_test(absence),
        cmocka_unit_test(numbers),
        cmocka_unit_test(keys),
        cmocka_unit_test(sums),
        cmocka_unit_test_teardown(the_nearest_with_all_that_is_wanted, scratch_remove),
        cmocka_unit_test_teardown(only_where_one_may_write, scratch_remove),
        cmocka_unit_test_teardown(what_is_not_there_is_passed_over, scratch_remove),
        cmocka_unit_test_teardown(enabling, scratch_remove),
        cmocka_unit_test(a_group_lives_and_dies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
