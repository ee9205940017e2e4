/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/procfs.h"

#include <errno.h>
#include <signal.h>

#include "../scratch.h"

static void files_of_a_process_are_read(void **state)
{
    char want[64];
    char text[4096];
    char small[5] = "....";
    int before = open_fds();
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            pause();
    int len = sys_proc_read(pid, "status", text, sizeof(text));
    assert_true(len > 100 && strlen(text) == (size_t)len);
    snprintf(want, sizeof(want), "\nPid:\t%d\n", pid);
    assert_non_null(strstr(text, want));
    snprintf(want, sizeof(want), "\nPPid:\t%d\n", getpid());
    assert_non_null(strstr(text, want));
    /* No more than fits, with its end. */
    assert_int_equal(sys_proc_read(pid, "status", small, sizeof(small)), 4);
    assert_string_equal(small, "Name");
    assert_int_equal(sys_proc_read(pid, "status", small, 1), 0);
    assert_string_equal(small, "");
    assert_true(sys_proc_read(getpid(), "comm", text, sizeof(text)) > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sys_proc_read(pid, "status", text, sizeof(text)), -ENOENT);
    assert_int_equal(open_fds(), before);
}

static void files_that_are_not_there(void **state)
{
    static const struct {
        const char *name;
        pid_t pid; /* 0: ours */
        int want;
    } cases[] = {
        {"none", 0, -ENOENT},
        {"fd", 0, -EISDIR},
        {"", 0, -EISDIR},
        {"status", 0x3fffffff, -ENOENT},
        {"status", -1, -ENOENT},
        {"status", INT_MIN, -ENOENT},
        {"1234567890123456789012345678901", 0, -ENOENT},
        /* longer than any that there is, and than its place */
        {"12345678901234567890123456789012", 0, -ENAMETOOLONG},
        {"1234567890123456789012345678901234567890123456789012345678901234567890", 0,
         -ENAMETOOLONG},
    };
    int before = open_fds();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[64] = "untouched";
        pid_t pid = cases[i].pid ? cases[i].pid : getpid();

        assert_int_equal(sys_proc_read(pid, cases[i].name, text, sizeof(text)), cases[i].want);
        assert_string_equal(text, "untouched");
    }
    assert_int_equal(open_fds(), before);
}

static void directories_of_a_process_are_opened(void **state)
{
    struct stat ours = {0};
    struct stat theirs = {0};

    assert_int_equal(chdir("/usr"), 0);
    fd_auto int cwd = sys_proc_open_dir(getpid(), "cwd");
    fd_auto int root = sys_proc_open_dir(getpid(), "root");
    assert_true(cwd >= 0 && root >= 0);
    assert_int_equal(fcntl(cwd, F_GETFD), FD_CLOEXEC);
    assert_true(stat("/usr", &ours) == 0 && fstat(cwd, &theirs) == 0);
    assert_true(ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
    assert_true(stat("/", &ours) == 0 && fstat(root, &theirs) == 0);
    assert_true(ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
    /* As a path only: it cannot be listed. */
    assert_true(fcntl(cwd, F_GETFL) & O_PATH);
    assert_int_equal(sys_proc_open_dir(getpid(), "status"), -ENOTDIR);
    assert_int_equal(sys_proc_open_dir(0x3fffffff, "cwd"), -ENOENT);
    assert_int_equal(chdir("/"), 0);
}

/* Whatever became of the name it was opened by. */
static void a_name_leads_to_the_file(void **state)
{
    static const char *const tree[] = {"file", NULL};
    static const int numbers[] = {0, 7, 10, 99, 1048576, INT_MAX};
    char name[SYS_PROC_NAME_MAX];
    char want[SYS_PROC_NAME_MAX];
    struct stat ours = {0};
    struct stat found = {0};

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        snprintf(want, sizeof(want), "/proc/self/fd/%d", numbers[i]);
        sys_proc_fd_name(numbers[i], name);
        assert_string_equal(name, want);
    }
    scratch_make(tree);
    fd_auto int fd = open(at("@/file"), O_PATH | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(rename(at("@/file"), at("@/other")), 0);
    sys_proc_fd_name(fd, name);
    assert_true(stat(name, &found) == 0 && stat(at("@/other"), &ours) == 0);
    assert_true(found.st_ino == ours.st_ino && found.st_dev == ours.st_dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_a_process_are_read),
        cmocka_unit_test(files_that_are_not_there),
        cmocka_unit_test(directories_of_a_process_are_opened),
        cmocka_unit_test_teardown(a_name_leads_to_the_file, scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
