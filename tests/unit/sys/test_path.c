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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_is_beneath_without_links, setup, scratch_remove),
    };

    umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
