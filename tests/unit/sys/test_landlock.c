/* SPDX-License-Identifier: Apache-2.0 */
/* Each test runs in a child, which it leaves confined; nothing may be asserted there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/landlock.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../scratch.h"
#include "sys/privilege.h"

static int setup(void **state)
{
    static const char *const tree[] = {"read/",       "read/file",  "read/sub/",  "read/sub/file",
                                       "write/",      "write/file", "write/sub/", "device/",
                                       "device/file", "other/",     "other/file", "one",
                                       "beside",      NULL};
    static const char *const programs[] = {"@/read/file", "@/write/file", "@/device/file",
                                           "@/other/file"};

    scratch_make(tree);
    /* For everybody, and as programs: what a call says is then Landlock's word, not a mode's. */
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (chmod(at(programs[i]), 0777) < 0)
            return -1;
    return chmod(at("@/one"), 0666);
}

/* What fn says in a child; its argument is the version to ask for. */
static int in_child(int (*fn)(int abi), int abi)
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(fn(abi));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int allow(int ruleset, int abi, const char *path, enum sys_landlock_access access)
{
    struct stat st;
    fd_auto int fd = open(at(path), O_PATH | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    return sys_landlock_allow(ruleset, abi, fd, access, S_ISDIR(st.st_mode));
}

static int confine(int abi)
{
    fd_auto int ruleset = sys_landlock_create(abi, false);

    if (ruleset < 0 || fcntl(ruleset, F_GETFD) != FD_CLOEXEC)
        return 101;
    if (allow(ruleset, abi, "@/read", SYS_LANDLOCK_READ) < 0 ||
        allow(ruleset, abi, "@/write", SYS_LANDLOCK_WRITE) < 0 ||
        allow(ruleset, abi, "@/device", SYS_LANDLOCK_DEVICE) < 0 ||
        allow(ruleset, abi, "@/one", SYS_LANDLOCK_WRITE) < 0)
        return 102;
    if (sys_no_new_privs() < 0 || sys_landlock_restrict(ruleset) < 0)
        return 103;
    return 0;
}

/* 0, or the errno of opening so. */
static int try_open(const char *path, int flags)
{
    fd_auto int fd = open(at(path), flags | O_CLOEXEC, 0600);

    return fd < 0 ? errno : 0;
}

/* An empty program cannot run: ENOEXEC is what comes after leave. */
static int try_exec(const char *path)
{
    char *const argv[] = {(char *)"x", NULL};

    execv(at(path), argv);
    return errno;
}

static int failed(int r)
{
    return r < 0 ? errno : 0;
}

static int look_at_files(int abi)
{
    int r = confine(abi);

    if (r)
        return r;
    const struct {
        const char *path;
        int flags, want;
    } opens[] = {
        {"@/read/file", O_RDONLY, 0},
        {"@/read/sub/file", O_RDONLY, 0},
        {"@/read", O_RDONLY | O_DIRECTORY, 0},
        {"@/read/file", O_WRONLY, EACCES},
        {"@/read/sub/file", O_RDWR, EACCES},
        {"@/read/new", O_WRONLY | O_CREAT, EACCES},
        {"@/write/file", O_RDWR, 0},
        {"@/write/file", O_WRONLY | O_TRUNC, 0},
        {"@/write/new", O_WRONLY | O_CREAT | O_EXCL, 0},
        {"@/write", O_RDONLY | O_DIRECTORY, 0},
        {"@/device/file", O_RDWR, 0},
        {"@/device/file", O_WRONLY | O_TRUNC, 0},
        {"@/device", O_RDONLY | O_DIRECTORY, 0},
        {"@/device/new", O_WRONLY | O_CREAT, EACCES},
        {"@/one", O_RDWR, 0},
        {"@/beside", O_RDONLY, EACCES},
        {"@/beside", O_WRONLY, EACCES},
        {"@/other/file", O_RDONLY, EACCES},
        {"@/other", O_RDONLY | O_DIRECTORY, EACCES},
        {"@/other/new", O_WRONLY | O_CREAT, EACCES},
        {"@", O_RDONLY | O_DIRECTORY, EACCES},
        {"@/read/../other/file", O_RDONLY, EACCES},
    };
    for (size_t i = 0; i < ARRAY_LEN(opens); i++)
        if (try_open(opens[i].path, opens[i].flags) != opens[i].want)
            return 1 + (int)i;
    return 0;
}

static int look_at_directories(int abi)
{
    int r = confine(abi);

    if (r)
        return r;
    const int calls[][2] = {
        {failed(mkdir(at("@/write/dir"), 0700)), 0},
        {failed(symlink("x", at("@/write/link"))), 0},
        {failed(rename(at("@/write/link"), at("@/write/link-2"))), 0},
        {failed(unlink(at("@/write/link-2"))), 0},
        {failed(rmdir(at("@/write/dir"))), 0},
        {failed(mkdir(at("@/read/dir"), 0700)), EACCES},
        {failed(unlink(at("@/read/file"))), EACCES},
        {failed(rmdir(at("@/read/sub"))), EACCES},
        {failed(symlink("x", at("@/device/link"))), EACCES},
        {failed(mkfifo(at("@/device/fifo"), 0600)), EACCES},
        {failed(unlink(at("@/device/file"))), EACCES},
        {failed(unlink(at("@/one"))), EACCES},
        {failed(unlink(at("@/other/file"))), EACCES},
        {failed(rename(at("@/write/file"), at("@/device/file"))) ? EACCES : 0, EACCES},
        {failed(link(at("@/read/file"), at("@/write/hard"))) ? EACCES : 0, EACCES},
        {try_exec("@/read/file"), ENOEXEC},
        {try_exec("@/write/file"), ENOEXEC},
        {try_exec("@/device/file"), EACCES},
        {try_exec("@/other/file"), EACCES},
    };
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (calls[i][0] != calls[i][1])
            return 1 + (int)i;
    /* Moved to another directory: from version 2 on one can be allowed to, before nobody is. */
    if (failed(rename(at("@/write/file"), at("@/write/sub/file"))) != (abi >= 2 ? 0 : EXDEV))
        return 50;
    /* By name, without opening: before version 3 it cannot be refused. */
    if (failed(truncate(at("@/read/file"), 0)) != (abi >= 3 ? EACCES : 0))
        return 51;
    return failed(truncate(at("@/one"), 0)) ? 52 : 0;
}

static void each_version_keeps_its_word(void **state)
{
    int newest = sys_landlock_abi();

    if (newest < 0) {
        assert_true(newest == -ENOSYS || newest == -EOPNOTSUPP);
        SKIP("this kernel has no Landlock (%s)", strerror(-newest));
    }
    assert_true(newest > 0);
    for (int abi = 1; abi <= newest; abi++) {
        int r = in_child(look_at_files, abi);
        if (r)
            fail_msg("version %d, files: %d", abi, r);
        assert_int_equal(unlink(at("@/write/new")), 0);
        r = in_child(look_at_directories, abi);
        if (r)
            fail_msg("version %d, directories: %d", abi, r);
        if (abi >= 2)
            assert_int_equal(rename(at("@/write/sub/file"), at("@/write/file")), 0);
    }
}

/* A socket without a file, which this test and nobody else has. */
static struct sockaddr_un abstract_name(socklen_t *ret_len)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", scratch);

    *ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    return address;
}

static int look_outside(int abi)
{
    socklen_t len;
    struct sockaddr_un address = abstract_name(&len);
    fd_auto int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = confine(abi);

    if (r)
        return r;
    if (failed(kill(getppid(), 0)) != (abi >= 6 ? EPERM : 0))
        return 1;
    if (failed(connect(sock, (struct sockaddr *)&address, len)) != (abi >= 6 ? EPERM : 0))
        return 2;
    /* Its own are its own. */
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    if (kill(pid, SIGKILL) < 0 || waitpid(pid, NULL, 0) != pid)
        return 3;
    return 0;
}

static void outside_is_out_of_reach(void **state)
{
    socklen_t len;
    struct sockaddr_un address = abstract_name(&len);
    fd_auto int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int newest = sys_landlock_abi();

    if (newest < 6)
        SKIP("Landlock of this kernel knows nothing of signals and sockets (version %d)", newest);
    assert_int_equal(bind(sock, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(sock, 10), 0);
    assert_int_equal(in_child(look_outside, 5), 0);
    for (int abi = 6; abi <= newest; abi++)
        assert_int_equal(in_child(look_outside, abi), 0);
}

static int restrict_with_privileges(void)
{
    fd_auto int ruleset = sys_landlock_create(1, false);

    return ruleset < 0 ? 1 : sys_landlock_restrict(ruleset) == -EPERM ? 0 : 2;
}

static void what_is_refused(void **state)
{
    int abi = sys_landlock_abi();

    if (abi < 0)
        SKIP("this kernel has no Landlock (%s)", strerror(-abi));
    fd_auto int ruleset = sys_landlock_create(abi, false);
    fd_auto int file = open(at("@/one"), O_PATH | O_CLOEXEC);
    assert_true(ruleset >= 0 && file >= 0);
    assert_int_equal(sys_landlock_allow(ruleset, abi, 1 << 20, SYS_LANDLOCK_READ, true), -EBADF);
    assert_int_equal(sys_landlock_allow(1 << 20, abi, file, SYS_LANDLOCK_READ, false), -EBADF);
    /* The rights of a directory mean nothing for a file. */
    assert_int_equal(sys_landlock_allow(ruleset, abi, file, SYS_LANDLOCK_WRITE, true), -EINVAL);
    assert_int_equal(sys_landlock_allow(ruleset, abi, file, SYS_LANDLOCK_WRITE, false), 0);
    assert_true(sys_landlock_restrict(file) < 0);
    assert_int_equal(as_nobody(restrict_with_privileges), 0);
}

#define LANDLOCK_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LANDLOCK_TEST(each_version_keeps_its_word),
        LANDLOCK_TEST(outside_is_out_of_reach),
        LANDLOCK_TEST(what_is_refused),
    };

    umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
