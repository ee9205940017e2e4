/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/unix_diag.h"

#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include "../scratch.h"
#include "sys/clone.h"
#include "sys/process.h"

static int setup(void **state)
{
    static const char *const tree[] = {"file", "dir/", NULL};

    scratch_make(tree);
    return 0;
}

static int bound_socket(const char *path, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", at(path));
    if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
        fd_close(&sock);
    return sock;
}

/* 1, 0 or -errno for the file at `path`, asked by a new socket. */
static int has(const char *path)
{
    struct stat st;
    fd_auto int diag = sys_unix_diag_open();

    if (diag < 0)
        return diag;
    if (lstat(at(path), &st) < 0)
        return -errno;
    return sys_unix_diag_has(diag, st.st_dev, st.st_ino);
}

/*
 * Of a btrfs, and of some overlays, the kernel tells another device number than stat() does. Nothing
 * is found there then, which must not be so anywhere else.
 */
static bool has_own_numbers(void)
{
    struct statfs fs;
    fd_auto int sock = bound_socket("@/probe", SOCK_STREAM);

    return sock >= 0 && has("@/probe") == 0 && statfs(scratch, &fs) == 0 &&
           (fs.f_type == 0x9123683E || fs.f_type == 0x794c7630);
}

static bool not_here(int r)
{
    return r == -EPROTONOSUPPORT || r == -EAFNOSUPPORT || r == -EIO;
}

static void sockets_are_found_by_their_file(void **state)
{
    static const struct {
        const char *path;
        int type;
        bool listens;
    } cases[] = {
        {"@/stream", SOCK_STREAM, true},
        {"@/seqpacket", SOCK_SEQPACKET, true},
        {"@/datagram", SOCK_DGRAM, false},
        {"@/silent", SOCK_STREAM, false},
    };
    int before = open_fds();

    int r = has("@/file");
    if (not_here(r))
        SKIP("this kernel does not tell about sockets (%s)", strerror(-r));
    assert_int_equal(r, 0);
    assert_int_equal(has("@/dir"), 0);
    if (has_own_numbers())
        SKIP("the file system of %s has device numbers of its own", scratch);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fd_auto int sock = bound_socket(cases[i].path, cases[i].type);

        assert_true(sock >= 0);
        if (cases[i].listens)
            assert_int_equal(listen(sock, 1), 0);
        if (has(cases[i].path) != 1)
            fail_msg("%s is not found", cases[i].path);
        assert_int_equal(has("@/file"), 0);
        /* By its file, not by its name. */
        assert_int_equal(rename(at(cases[i].path), at("@/moved")), 0);
        assert_int_equal(has("@/moved"), 1);
        fd_close(&sock);
        /* The file is left, and nobody is behind it. */
        assert_int_equal(has("@/moved"), 0);
    }
    assert_int_equal(open_fds(), before);
}

static void one_socket_can_ask_again(void **state)
{
    fd_auto int diag = sys_unix_diag_open();
    fd_auto int sock = bound_socket("@/sock", SOCK_STREAM);
    struct stat st;

    assert_true(sock >= 0);
    if (diag < 0)
        SKIP("this kernel does not tell about sockets (%s)", strerror(-diag));
    assert_int_equal(fcntl(diag, F_GETFD), FD_CLOEXEC);
    assert_int_equal(stat(at("@/sock"), &st), 0);
    int r = sys_unix_diag_has(diag, st.st_dev, st.st_ino);
    if (not_here(r))
        SKIP("this kernel does not tell about sockets (%s)", strerror(-r));
    if (has_own_numbers())
        SKIP("the file system of %s has device numbers of its own", scratch);
    assert_int_equal(r, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sys_unix_diag_has(diag, st.st_dev, st.st_ino), 1);
        assert_int_equal(sys_unix_diag_has(diag, st.st_dev + 1, st.st_ino), 0);
        assert_int_equal(sys_unix_diag_has(diag, st.st_dev, st.st_ino + 100000), 0);
    }
    /* Many more than one answer holds. */
    enum { MANY = 300 };
    int others[MANY];
    for (int i = 0; i < MANY; i++) {
        char path[32];

        snprintf(path, sizeof(path), "@/dir/%d", i);
        others[i] = bound_socket(path, SOCK_STREAM);
        assert_true(others[i] >= 0);
    }
    assert_int_equal(sys_unix_diag_has(diag, st.st_dev, st.st_ino), 1);
    for (int i = 0; i < MANY; i += MANY / 3) {
        char path[32];

        snprintf(path, sizeof(path), "@/dir/%d", i);
        assert_int_equal(stat(at(path), &st), 0);
        assert_int_equal(sys_unix_diag_has(diag, st.st_dev, st.st_ino), 1);
    }
    for (int i = 0; i < MANY; i++)
        close(others[i]);
    assert_int_equal(sys_unix_diag_has(diag, st.st_dev, st.st_ino), 0);
}

/* Exit status: 0 when it sees its own and not ours. */
static int ask_in_new_network(void)
{
    fd_auto int own = bound_socket("@/own", SOCK_STREAM);

    if (own < 0)
        return 78;
    return has("@/host") != 0 ? 1 : has("@/own") != 1 ? 2 : 0;
}

static void other_networks_are_not_seen(void **state)
{
    struct sys_exit ended;
    fd_auto int pidfd = -1;
    fd_auto int sock = bound_socket("@/host", SOCK_STREAM);

    assert_true(sock >= 0);
    assert_int_equal(chmod(scratch, 0777), 0);
    int r = has("@/host");
    if (not_here(r))
        SKIP("this kernel does not tell about sockets (%s)", strerror(-r));
    if (has_own_numbers())
        SKIP("the file system of %s has device numbers of its own", scratch);
    assert_int_equal(r, 1);
    int pid = sys_clone_namespaces(CLONE_NEWUSER | CLONE_NEWNET, &pidfd);
    if (pid == 0)
        _exit(ask_in_new_network());
    if (pid < 0)
        SKIP("this host gives no namespaces (%s)", strerror(-pid));
    assert_int_equal(sys_pidfd_wait(pidfd, true, &ended), 0);
    if (ended.code == 78)
        SKIP("nobody may make a socket file in a new user namespace here");
    assert_int_equal(ended.code, 0);
    /* Nor is theirs from here, although the file is. */
    assert_int_equal(access(at("@/own"), F_OK), 0);
    assert_int_equal(has("@/own"), 0);
}

static void bad_descriptors(void **state)
{
    int pipes[2];

    assert_int_equal(sys_unix_diag_has(1 << 20, 1, 1), -EBADF);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(sys_unix_diag_has(pipes[1], 1, 1), -ENOTSOCK);
    close(pipes[0]);
    close(pipes[1]);
}

#define DIAG_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIAG_TEST(sockets_are_found_by_their_file),
        DIAG_TEST(one_socket_can_ask_again),
        DIAG_TEST(other_networks_are_not_seen),
        DIAG_TEST(bad_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
