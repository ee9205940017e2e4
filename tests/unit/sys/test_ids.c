/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/ids.h"

#include <errno.h>
#include <sched.h>

#include "../scratch.h"
#include "sys/clone.h"
#include "sys/process.h"

/*
 * A child in a new user namespace that waits for a byte, then ends with what fn says. Negative when
 * this host gives none.
 */
static int start(int (*fn)(void), int *ret_go, int *ret_pidfd)
{
    int go[2];

    if (pipe2(go, O_CLOEXEC) < 0)
        return -errno;
    int pid = sys_clone_namespaces(CLONE_NEWUSER, ret_pidfd);
    if (pid == 0) {
        char byte;
        close(go[1]);
        if (read(go[0], &byte, 1) != 1)
            _exit(99);
        _exit(fn());
    }
    close(go[0]);
    *ret_go = go[1];
    if (pid < 0)
        fd_close(ret_go);
    return pid;
}

/* Let it go; its exit status. */
static int end(int go, int pidfd)
{
    struct sys_exit ended = {.code = -1};
    bool told = write(go, "x", 1) == 1;

    close(go);
    int r = sys_pidfd_wait(pidfd, true, &ended);
    close(pidfd);
    return told && r == 0 ? ended.code : -1;
}

static int look_at_ids(void)
{
    if (getuid() != 1234 || getgid() != 5678)
        return 1;
    if (sys_ids_become(1234, 5678, false) < 0 || geteuid() != 1234 || getegid() != 5678)
        return 2;
    /* No other id exists here. */
    return sys_ids_become(0, 5678, false) == -EINVAL ? 0 : 3;
}

static void ids_are_mapped(void **state)
{
    const struct sys_idmap map = {
        .uid_inside = 1234, .uid_outside = geteuid(), .gid_inside = 5678, .gid_outside = getegid()};
    int go = -1;
    int pidfd = -1;
    int before = open_fds();

    int pid = start(look_at_ids, &go, &pidfd);
    if (pid < 0)
        SKIP("this host gives no user namespaces (%s)", strerror(-pid));
    int r = sys_ids_map(pid, &map, true);
    if (r == -EPERM || r == -EACCES) {
        end(go, pidfd);
        SKIP("this host lets nobody map ids (%s)", strerror(-r));
    }
    assert_int_equal(r, 0);
    assert_int_equal(sys_ids_map(pid, &map, true), -EPERM); /* once and for all */
    assert_int_equal(end(go, pidfd), 0);
    assert_int_equal(open_fds(), before);
}

static int look_unmapped(void)
{
    return getuid() == 65534 ? 0 : 1;
}

static int map_somebody_else(void)
{
    const struct sys_idmap map = {
        .uid_inside = 1, .uid_outside = 4242, .gid_inside = 1, .gid_outside = getegid()};
    int go = -1;
    int pidfd = -1;
    int pid = start(look_unmapped, &go, &pidfd);

    if (pid < 0)
        return 77;
    int r = sys_ids_map(pid, &map, true);
    return end(go, pidfd) == 0 && (r == -EPERM || r == -EACCES) ? 0 : 1;
}

static void an_id_of_somebody_else_is_refused(void **state)
{
    int r = as_nobody(map_somebody_else);

    if (r == 77)
        SKIP("this host gives no user namespaces to a user");
    assert_int_equal(r, 0);
}

static void a_process_that_is_not_there(void **state)
{
    const struct sys_idmap map = {0};

    assert_int_equal(sys_ids_map(0x3fffffff, &map, false), -ENOENT);
}

static void a_namespace_as_a_descriptor(void **state)
{
    const struct sys_idmap map = {
        .uid_inside = 0, .uid_outside = 0x70000001, .gid_inside = 0, .gid_outside = 0x70000001};
    struct stat ours;
    struct stat made;
    int before = open_fds();

    struct sys_ids_holder holder = {0};
    int ns = sys_ids_namespace(&map, &holder);
    sys_ids_release(&holder);
    if (ns == -EPERM || ns == -EACCES || ns == -ENOSPC) {
        assert_int_equal(open_fds(), before);
        SKIP("only root can do this (%s)", strerror(-ns));
    }
    assert_true(ns >= 0);
    assert_int_equal(stat("/proc/self/ns/user", &ours), 0);
    assert_int_equal(fstat(ns, &made), 0);
    assert_int_not_equal(ours.st_ino, made.st_ino);
    assert_int_equal(fcntl(ns, F_GETFD), FD_CLOEXEC);
    close(ns);
    assert_int_equal(open_fds(), before);
    /* Nobody is left behind. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_mapped),
        cmocka_unit_test(an_id_of_somebody_else_is_refused),
        cmocka_unit_test(a_process_that_is_not_there),
        cmocka_unit_test(a_namespace_as_a_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
