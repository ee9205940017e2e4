/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "../scratch.h"

/* A child that does this and ends; nothing may be asserted in it. */
static pid_t child(void (*fn)(void))
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        fn();
        _exit(0);
    }
    return pid;
}

/* For tests that need a process of their own: the child's exit status. */
static int status_of(void (*fn)(void))
{
    int status = -1;
    pid_t pid = child(fn);

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void exit_3(void)
{
    _exit(3);
}

static void exit_255(void)
{
    _exit(255);
}

static void sleep_on(void)
{
    for (;;)
        pause();
}

static void die_of_abort(void)
{
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
}

static void burn(void)
{
    struct timespec now = {0};

    while (now.tv_sec == 0 && now.tv_nsec < 30000000)
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
}

static void children_are_waited_for(void **state)
{
    static const struct {
        void (*fn)(void);
        int kill; /* 0: ends by itself */
        int code, signal;
    } cases[] = {
        {exit_3, 0, 3, 0},
        {exit_255, 0, 255, 0},
        {die_of_abort, 0, -1, SIGABRT},
        {sleep_on, SIGKILL, -1, SIGKILL},
        {sleep_on, SIGTERM, -1, SIGTERM},
        {burn, 0, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sys_exit ended = {.code = 99, .signal = 99};
        pid_t pid = child(cases[i].fn);
        fd_auto int pidfd = sys_pidfd_open(pid);

        assert_true(pidfd >= 0);
        assert_int_equal(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
        if (cases[i].kill) {
            assert_int_equal(sys_pidfd_wait(pidfd, false, &ended), -EAGAIN);
            assert_int_equal(ended.code, 99);
            assert_int_equal(sys_pidfd_kill(pidfd, cases[i].kill), 0);
        }
        assert_int_equal(sys_pidfd_wait(pidfd, true, &ended), 0);
        assert_int_equal(ended.code, cases[i].code);
        assert_int_equal(ended.signal, cases[i].signal);
        if (cases[i].fn == burn) {
            long used = (ended.usage.ru_utime.tv_sec + ended.usage.ru_stime.tv_sec) * 1000000 +
                        ended.usage.ru_utime.tv_usec + ended.usage.ru_stime.tv_usec;
            assert_true(used >= 20000);
        }
        /* Gone, and known to be. */
        assert_int_equal(sys_pidfd_wait(pidfd, false, &ended), -ECHILD);
        assert_int_equal(sys_pidfd_kill(pidfd, SIGKILL), -ESRCH);
    }
}

static void a_pidfd_tells_of_the_end(void **state)
{
    struct sys_exit ended;
    fd_auto int pidfd = sys_pidfd_open(child(sleep_on));
    struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};

    assert_int_equal(poll(&poll_fd, 1, 0), 0);
    assert_int_equal(sys_pidfd_kill(pidfd, SIGKILL), 0);
    assert_int_equal(poll(&poll_fd, 1, 10000), 1);
    assert_int_equal(sys_pidfd_wait(pidfd, false, &ended), 0);
    assert_int_equal(ended.signal, SIGKILL);
}

static void bad_descriptors(void **state)
{
    struct sys_exit ended;

    assert_int_equal(sys_pidfd_open(0), -EINVAL);
    assert_int_equal(sys_pidfd_kill(1 << 20, SIGTERM), -EBADF);
    assert_true(sys_pidfd_wait(1 << 20, true, &ended) < 0);
}

/* In a process that has only the children this test gives it. */
static void wait_for_any(void)
{
    struct sys_exit ended;
    int pid;

    if (sys_wait_any(&ended) != -ECHILD)
        _exit(1);
    pid_t sleeper = fork();
    if (sleeper == 0)
        sleep_on();
    if (sys_wait_any(&ended) != 0)
        _exit(2);
    pid_t quick = fork();
    if (quick == 0)
        exit_3();
    while ((pid = sys_wait_any(&ended)) == 0)
        ;
    if (pid != quick || ended.code != 3 || ended.signal != 0)
        _exit(3);
    kill(sleeper, SIGKILL);
    while ((pid = sys_wait_any(&ended)) == 0)
        ;
    if (pid != sleeper || ended.code != -1 || ended.signal != SIGKILL)
        _exit(4);
    _exit(sys_wait_any(&ended) == -ECHILD ? 0 : 5);
}

static void any_child_is_reaped(void **state)
{
    assert_int_equal(status_of(wait_for_any), 0);
}

static void wipe(void)
{
    char text[4096];
    FILE *file;

    for (int wiped = 0; wiped < 2; wiped++) {
        size_t dirty = 0;
        file = fopen("/proc/self/cmdline", "re");
        size_t len = file ? fread(text, 1, sizeof(text), file) : 0;
        if (!file)
            _exit(1);
        fclose(file);
        for (size_t i = 0; i < len; i++)
            dirty += text[i] != '\0';
        if (!wiped && (dirty == 0 || sys_wipe_arguments() < 0))
            _exit(2);
        if (wiped && dirty > 0)
            _exit(3);
    }
    _exit(0);
}

static void arguments_are_wiped(void **state)
{
    assert_int_equal(status_of(wipe), 0);
}

static void close_all(void)
{
    int low = dup2(0, 100);
    int high = dup2(0, 200);

    if (low != 100 || high != 200 || sys_close_from(150) < 0)
        _exit(1);
    if (fcntl(100, F_GETFD) < 0 || fcntl(200, F_GETFD) >= 0)
        _exit(2);
    if (sys_close_from(3) < 0 || fcntl(100, F_GETFD) >= 0 || fcntl(2, F_GETFD) < 0)
        _exit(3);
    _exit(0);
}

static void descriptors_are_closed_from_a_number_on(void **state)
{
    assert_int_equal(status_of(close_all), 0);
}

static void on_signal(int number)
{
}

static void reset_signals(void)
{
    sigset_t all;
    sigset_t now;
    struct sigaction action;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGUSR1, on_signal);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGRTMAX, SIG_IGN);
    sys_signals_reset();
    sigprocmask(SIG_SETMASK, NULL, &now);
    for (int i = 1; i <= SIGRTMAX; i++) {
        if (sigismember(&now, i) == 1)
            _exit(1);
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            _exit(2);
    }
    _exit(0);
}

static void signals_are_reset(void **state)
{
    assert_int_equal(status_of(reset_signals), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_waited_for),
        cmocka_unit_test(a_pidfd_tells_of_the_end),
        cmocka_unit_test(bad_descriptors),
        cmocka_unit_test(any_child_is_reaped),
        cmocka_unit_test(arguments_are_wiped),
        cmocka_unit_test(descriptors_are_closed_from_a_number_on),
        cmocka_unit_test(signals_are_reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
