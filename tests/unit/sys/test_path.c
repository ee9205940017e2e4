/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/path.h"

#include <errno.h>

#include "../scratch.h"

/* How many calls from now on fail with EAGAIN, as they do while others rename. */
static long failing;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d);

long __wrap_syscall(long number, long a, long b, long c, long d)
{
    if (failing > 0) {
        failing--;
        errno = EAGAIN;
        return -1;
    }
    return __real_syscall(number, a, b, c, d);
}

static int setup(void **state)
{
    static const char *const tree[] = {
        "outside",
        "root/",
        "root/dir/",
        "root/dir/file",
        "root/link -> dir",
        "root/abs -> @/root/dir",
        "root/up -> ..",
        "root/dir/back -> ../dir",
        "root/dir/leaf -> file",
        "root/inner -> /dir/file",
        "root/passwd -> /etc/passwd",
        "root/loop -> loop",
        NULL,
    };

    scratch_make(tree);
    return 0;
}

static void only_what_is_beneath_without_links(void **state)
{
    static const struct {
        const char *path;
        int flags, want; /* 0, or -errno */
    } cases[] = {
        {"", O_PATH, 0},
        {".", O_PATH, 0},
        {"dir", O_PATH, 0},
        {"dir/", O_PATH, 0},
        {"dir/./file", O_RDONLY, 0},
        {"dir/../dir/file", O_RDONLY, 0}, /* never above the root */
        {"dir/file", O_RDONLY | O_DIRECTORY, -ENOTDIR},
        {"dir/none", O_RDONLY, -ENOENT},
        {"dir/new", O_WRONLY | O_CREAT | O_EXCL, 0},
        {"dir/file", O_WRONLY | O_CREAT | O_EXCL, -EEXIST},
        {"..", O_PATH, -EXDEV},
        {"../outside", O_RDONLY, -EXDEV},
        {"dir/../..", O_PATH, -EXDEV},
        {"/", O_PATH, -EXDEV},
        {"/etc/passwd", O_RDONLY, -EXDEV},
        {"link", O_PATH, -ELOOP},
        {"link/file", O_RDONLY, -ELOOP},
        {"abs/file", O_RDONLY, -ELOOP},
        {"up/outside", O_RDONLY, -ELOOP},
        {"dir/back/file", O_RDONLY, -ELOOP},
        {"dir/leaf", O_RDONLY, -ELOOP},
        {"link/new", O_WRONLY | O_CREAT, -ELOOP},
        {"link", O_PATH | O_NOFOLLOW, 0}, /* the link itself */
        {"link/file", O_PATH | O_NOFOLLOW, -ELOOP},
    };
    fd_auto int root = open(at("@/root"), O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_true(root >= 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fd_auto int fd = sys_open_beneath(root, cases[i].path, (uint64_t)cases[i].flags,
                                          cases[i].flags & O_CREAT ? 0600 : 0);

        if (fd == -ENOSYS) {
            SKIP("this kernel has no openat2");
        }
        if ((fd < 0 ? fd : 0) != cases[i].want)
            fail_msg("'%s': %d", cases[i].path, fd);
        if (fd >= 0)
            assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    }
    struct stat st;
    assert_int_equal(stat(at("@/root/dir/new"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

/* A root inside which absolute links are absolute, and out of which nothing leads. */
static void inside_a_root_links_are_followed(void **state)
{
    static const struct {
        const char *path;
        int flags, want;  /* 0, or -errno */
        const char *same; /* as this file; NULL: not known */
    } cases[] = {
        {"/", O_PATH, 0, "@/root"},
        {"/dir/file", O_RDONLY, 0, "@/root/dir/file"},
        {"/link/file", O_RDONLY, 0, "@/root/dir/file"},
        {"/dir/leaf", O_RDONLY, 0, "@/root/dir/file"},
        {"/dir/back/leaf", O_RDONLY, 0, "@/root/dir/file"},
        {"/inner", O_RDONLY, 0, "@/root/dir/file"},
        {"/inner", O_PATH | O_NOFOLLOW, 0, NULL},
        {"/../../dir/file", O_RDONLY, 0, "@/root/dir/file"},
        {"/up/dir/file", O_RDONLY, 0, "@/root/dir/file"},
        {"/up", O_PATH, 0, "@/root"},
        {"/..", O_PATH, 0, "@/root"},
        {"/outside", O_RDONLY, -ENOENT, NULL},
        {"/../outside", O_RDONLY, -ENOENT, NULL},
        {"/up/outside", O_RDONLY, -ENOENT, NULL},
        {"/abs/file", O_RDONLY, -ENOENT, NULL},
        {"/etc/passwd", O_RDONLY, -ENOENT, NULL},
        {"/passwd", O_RDONLY, -ENOENT, NULL},
        {"/loop", O_RDONLY, -ELOOP, NULL},
        {"/dir/file/x", O_RDONLY, -ENOTDIR, NULL},
        {"/dir/none", O_RDONLY, -ENOENT, NULL},
        /* from there, with our own root: as a process in that directory would */
        {"", O_PATH, 0, "@/root"},
        {".", O_PATH, 0, "@/root"},
        {"dir/file", O_RDONLY, 0, "@/root/dir/file"},
        {"link/file", O_RDONLY, 0, "@/root/dir/file"},
        {"abs/file", O_RDONLY, 0, "@/root/dir/file"},
        {"../outside", O_RDONLY, 0, "@/outside"},
        {"up/outside", O_RDONLY, 0, "@/outside"},
        {"loop", O_RDONLY, -ELOOP, NULL},
        {"none", O_RDONLY, -ENOENT, NULL},
    };
    fd_auto int root = open(at("@/root"), O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_true(root >= 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fd_auto int fd = sys_open_inside(root, cases[i].path, (uint64_t)cases[i].flags);
        struct stat found;
        struct stat same;

        if (fd == -ENOSYS)
            SKIP("this kernel has no openat2");
        if ((fd < 0 ? fd : 0) != cases[i].want)
            fail_msg("'%s': %d", cases[i].path, fd);
        if (fd < 0)
            continue;
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fstat(fd, &found), 0);
        if (cases[i].same && (stat(at(cases[i].same), &same) < 0 || found.st_ino != same.st_ino ||
                              found.st_dev != same.st_dev))
            fail_msg("'%s' is not '%s'", cases[i].path, cases[i].same);
    }
}

/* Those of /proc lead anywhere, whatever the root is. */
static void magic_links_are_not_followed(void **state)
{
    static const struct {
        const char *path;
        int want;
    } cases[] = {
        {"/proc/self/status", 0},   {"/proc/self/exe", -ELOOP},     {"/proc/self/root/etc", -ELOOP},
        {"/proc/self/cwd", -ELOOP}, {"proc/self/root/etc", -ELOOP}, {"proc/self/fd/0", -ELOOP},
    };
    fd_auto int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fd_auto int fd = sys_open_inside(root, cases[i].path, O_PATH);

        if (fd == -ENOSYS)
            SKIP("this kernel has no openat2");
        if ((fd < 0 ? fd : 0) != cases[i].want)
            fail_msg("'%s': %d", cases[i].path, fd);
    }
    assert_int_equal(sys_open_inside(1 << 20, "x", O_PATH), -EBADF);
}

static void renames_do_not_hold_us_up_for_ever(void **state)
{
    fd_auto int root = open(at("@/root"), O_PATH | O_DIRECTORY | O_CLOEXEC);

    failing = 20;
    fd_auto int fd = sys_open_inside(root, "/dir/file", O_PATH);
    if (fd == -ENOSYS)
        SKIP("this kernel has no openat2");
    assert_true(fd >= 0);
    failing = LONG_MAX;
    assert_int_equal(sys_open_inside(root, "/dir/file", O_PATH), -EAGAIN);
    assert_int_equal(sys_open_beneath(root, "dir", O_PATH, 0), -EAGAIN);
    failing = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_is_beneath_without_links, setup, scratch_remove),
        cmocka_unit_test_setup_teardown(inside_a_root_links_are_followed, setup, scratch_remove),
        cmocka_unit_test(magic_links_are_not_followed),
        cmocka_unit_test_setup_teardown(renames_do_not_hold_us_up_for_ever, setup, scratch_remove),
    };

    umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
