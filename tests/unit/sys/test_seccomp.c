/* SPDX-License-Identifier: Apache-2.0 */
/* Each test runs in a child, which it leaves confined; nothing may be asserted there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include "../scratch.h"
#include "sys/privilege.h"

#ifndef SECCOMP_RET_USER_NOTIF
#define SECCOMP_RET_USER_NOTIF 0x7fc00000U
#endif

/* Answers `verdict` to getpriority, which nothing here needs, and allows all else. */
#define ABOUT_GETPRIORITY(verdict)                                                                 \
    {                                                                                              \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),                     \
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1),                            \
            BPF_STMT(BPF_RET | BPF_K, (verdict)), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),    \
    }

static const struct sock_filter refusing[] = ABOUT_GETPRIORITY(SECCOMP_RET_ERRNO | ENOTNAM);
static const struct sock_filter asking[] = ABOUT_GETPRIORITY(SECCOMP_RET_USER_NOTIF);

static int in_child(int (*fn)(void))
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(fn());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The result, or -errno. */
static int call(long a, long b)
{
    long r = syscall(SYS_getpriority, a, b);

    return r < 0 ? -errno : (int)r;
}

static int load_twice(void)
{
    static const struct sock_filter smallest[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    if (sys_no_new_privs() < 0 || sys_seccomp_load(smallest, ARRAY_LEN(smallest)) != 0)
        return 1;
    if (call(0, 0) < 0)
        return 2;
    if (sys_seccomp_load(refusing, ARRAY_LEN(refusing)) != 0)
        return 3;
    if (call(0, 0) != -ENOTNAM)
        return 4;
    /* What lies on top cannot allow it again. */
    if (sys_seccomp_load(smallest, ARRAY_LEN(smallest)) != 0 || call(0, 0) != -ENOTNAM)
        return 5;
    return getppid() > 0 ? 0 : 6;
}

static void a_filter_is_put_on(void **state)
{
    assert_int_equal(in_child(load_twice), 0);
}

static int load_with_privileges(void)
{
    if (sys_seccomp_load(refusing, ARRAY_LEN(refusing)) != -EACCES)
        return 1;
    if (sys_seccomp_load_listen(asking, ARRAY_LEN(asking)) != -EACCES)
        return 2;
    return call(0, 0) < 0 ? 3 : 0;
}

static int load_nonsense(void)
{
    static const struct sock_filter endless[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    int before = open_fds();

    if (sys_no_new_privs() < 0)
        return 1;
    if (sys_seccomp_load(endless, ARRAY_LEN(endless)) != -EINVAL ||
        sys_seccomp_load(refusing, 0) != -EINVAL)
        return 2;
    if (sys_seccomp_load_listen(endless, ARRAY_LEN(endless)) != -EINVAL)
        return 3;
    return open_fds() == before && call(0, 0) >= 0 ? 0 : 4;
}

static void filters_that_are_refused(void **state)
{
    assert_int_equal(as_nobody(load_with_privileges), 0);
    assert_int_equal(in_child(load_nonsense), 0);
}

static bool is_asked(int listener)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};

    return poll(&ready, 1, 10000) == 1 && (ready.revents & POLLIN);
}

/* A child that asks once and exits with 0 when it is answered so. */
static pid_t ask(long a, long b, int want)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(call(a, b) == want ? 0 : 1);
    return pid;
}

/* Its exit status, or -signal. */
static int ended(pid_t pid)
{
    int status = -1;

    if (waitpid(pid, &status, 0) != pid)
        return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int listen_to_children(void)
{
    static const int answers[] = {0, 1, 7, -EPERM, -ENOTNAM, -EACCES};
    struct sys_seccomp_call asked;

    if (sys_no_new_privs() < 0)
        return 1;
    int before = open_fds();
    int listener = sys_seccomp_load_listen(asking, ARRAY_LEN(asking));
    if (listener == -ENOSYS || listener == -EINVAL)
        return 77;
    if (listener < 0 || fcntl(listener, F_GETFD) != FD_CLOEXEC || open_fds() != before + 1)
        return 2;
    /* A second one is not to be had. */
    if (sys_seccomp_load_listen(asking, ARRAY_LEN(asking)) != -EBUSY)
        return 3;
    for (size_t i = 0; i < ARRAY_LEN(answers) * 2; i++) {
        int answer = answers[i % ARRAY_LEN(answers)];
        pid_t pid = ask(0x1234567890L, (long)i, answer);

        if (i == ARRAY_LEN(answers))
            sys_seccomp_quick(listener);
        memset(&asked, 0xff, sizeof(asked));
        if (!is_asked(listener) || sys_seccomp_receive(listener, &asked) != 0)
            return 4;
        if (asked.pid != (uint32_t)pid || asked.nr != SYS_getpriority ||
            asked.args[0] != 0x1234567890L || asked.args[1] != i)
            return 5;
        if (!sys_seccomp_waits(listener, asked.id) || sys_seccomp_waits(listener, asked.id + 1))
            return 6;
        if (sys_seccomp_answer(listener, asked.id, answer) != 0)
            return 7;
        /* Once. */
        if (sys_seccomp_answer(listener, asked.id, 0) >= 0 || ended(pid) != 0)
            return 8;
        if (sys_seccomp_waits(listener, asked.id))
            return 9;
    }
    return 0;
}

static void questions_are_answered(void **state)
{
    int r = in_child(listen_to_children);

    if (r == 77)
        SKIP("this kernel has no listeners");
    assert_int_equal(r, 0);
}

/* It finds what it is given at the number that it is told. */
static pid_t ask_for_descriptor(long cloexec)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    int fd = call(0, 0);
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFD);
    _exit(flags == (cloexec ? FD_CLOEXEC : 0) && write(fd, "x", 1) == 1 ? 0 : 1);
}

static int give_to_children(void)
{
    struct sys_seccomp_call asked;
    char byte = 0;
    int ends[2];

    if (sys_no_new_privs() < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return 1;
    int listener = sys_seccomp_load_listen(asking, ARRAY_LEN(asking));
    if (listener == -ENOSYS || listener == -EINVAL)
        return 77;
    for (int i = 0; i < 2; i++) {
        pid_t pid = ask_for_descriptor(i);

        if (!is_asked(listener) || sys_seccomp_receive(listener, &asked) != 0)
            return 2;
        if (sys_seccomp_give(listener, asked.id + 1, ends[1], i) != -ENOENT ||
            sys_seccomp_give(listener, asked.id, 1 << 20, i) != -EBADF)
            return 3;
        int fd = sys_seccomp_give(listener, asked.id, ends[1], i);
        if (fd < 0 || sys_seccomp_answer(listener, asked.id, fd) != 0)
            return 4;
        if (read(ends[0], &byte, 1) != 1 || byte != 'x' || ended(pid) != 0)
            return 5;
    }
    return 0;
}

static void descriptors_are_given(void **state)
{
    int r = in_child(give_to_children);

    if (r == 77)
        SKIP("this kernel has no listeners");
    assert_int_equal(r, 0);
    assert_int_equal(sys_seccomp_give(1 << 20, 1, 0, false), -EBADF);
}

/* Killed while they wait: one before its question was taken, one after. */
static int listen_to_the_dead(void)
{
    struct sys_seccomp_call asked;

    if (sys_no_new_privs() < 0)
        return 1;
    int listener = sys_seccomp_load_listen(asking, ARRAY_LEN(asking));
    if (listener == -ENOSYS || listener == -EINVAL)
        return 77;
    pid_t pid = ask(0, 0, 0);
    if (!is_asked(listener) || sys_seccomp_receive(listener, &asked) != 0 ||
        !sys_seccomp_waits(listener, asked.id))
        return 2;
    if (kill(pid, SIGKILL) < 0 || ended(pid) != -SIGKILL)
        return 3;
    if (sys_seccomp_waits(listener, asked.id) ||
        sys_seccomp_give(listener, asked.id, 0, false) != -ENOENT ||
        sys_seccomp_answer(listener, asked.id, 0) != -ENOENT)
        return 4;

    /* Two questions, of which the first is gone: the second is heard. */
    pid = ask(1, 0, 5);
    if (!is_asked(listener))
        return 5;
    if (kill(pid, SIGKILL) < 0 || ended(pid) != -SIGKILL)
        return 6;
    pid = ask(2, 0, 5);
    int r;
    do {
        r = is_asked(listener) ? sys_seccomp_receive(listener, &asked) : -ETIMEDOUT;
    } while (r == -ENOENT);
    if (r != 0 || asked.args[0] != 2 || sys_seccomp_answer(listener, asked.id, 5) != 0)
        return 7;
    return ended(pid) == 0 ? 0 : 8;
}

static void askers_may_die(void **state)
{
    int r = in_child(listen_to_the_dead);

    if (r == 77)
        SKIP("this kernel has no listeners");
    assert_int_equal(r, 0);
}

/* With the listener closed there is nobody to ask. */
static int ask_nobody(void)
{
    if (sys_no_new_privs() < 0)
        return 1;
    int listener = sys_seccomp_load_listen(asking, ARRAY_LEN(asking));
    if (listener == -ENOSYS || listener == -EINVAL)
        return 77;
    close(listener);
    return call(0, 0) == -ENOSYS ? 0 : 2;
}

static void nobody_to_ask(void **state)
{
    struct sys_seccomp_call asked = {.nr = 99};
    int r = in_child(ask_nobody);

    if (r == 77)
        SKIP("this kernel has no listeners");
    assert_int_equal(r, 0);
    assert_int_equal(sys_seccomp_receive(1 << 20, &asked), -EBADF);
    assert_int_equal(asked.nr, 99);
    assert_int_equal(sys_seccomp_answer(1 << 20, 1, 0), -EBADF);
    assert_false(sys_seccomp_waits(1 << 20, 1));
    sys_seccomp_quick(1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_is_put_on),     cmocka_unit_test(filters_that_are_refused),
        cmocka_unit_test(questions_are_answered), cmocka_unit_test(askers_may_die),
        cmocka_unit_test(nobody_to_ask),          cmocka_unit_test(descriptors_are_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
