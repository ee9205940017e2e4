/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped filters in this kernel. Each test runs in a child, which it leaves confined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "filter/filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"

/* A number for what went wrong in the child; 0 is success. */
typedef int child_fn(const void *arg);

static int in_child(child_fn *fn, const void *arg)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(fn(arg));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The listener, 0 without one, or -errno. */
static int load(const char *name, unsigned flags)
{
    const struct filter *filter = filter_shipped(name);
    struct sock_fprog program = {filter->len, (struct sock_filter *)filter->code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    return r < 0 ? -errno : (int)r;
}

static bool fails_with(long r, int error)
{
    return r == -1 && errno == error;
}

/* ---- Programs ---- */

struct program {
    const char *filter;
    const char *const *argv;
};

static int run_program(const void *arg)
{
    const struct program *program = arg;

    if (load(program->filter, 0) < 0)
        return 100;
    execvp(program->argv[0], (char *const *)program->argv);
    return errno == ENOENT ? 77 : 101;
}

static void programs_run(void **state)
{
    static const char *const filters[] = {"default", "strict", "init", "floor"};
    static const char *const commands[][4] = {
        {"/bin/true"},
        {"sh", "-c", "x=$(echo a | cat) && [ $x = a ] && (exit 3); [ $? = 3 ]"},
        {"sh", "-c", "d=$(mktemp -d) && mkdir $d/a && touch $d/a/b && chmod 700 $d/a && rm -r $d"},
        {"python3", "-c",
         "import threading, subprocess, socket, os\n"
         "t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
         "subprocess.run(['true'], check=True)\n"
         "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n"
         "socket.socket(socket.AF_INET).bind(('127.0.0.1', 0))\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(filters) * ARRAY_LEN(commands); i++) {
        struct program program = {filters[i % ARRAY_LEN(filters)],
                                  commands[i / ARRAY_LEN(filters)]};
        int r = in_child(run_program, &program);

        if (r != 0 && r != 77)
            fail_msg("%s under %s: %d", program.argv[0], program.filter, r);
    }
}

/* ---- Calls ---- */

static int calls_under_default(const void *arg)
{
    if (load("default", 0) < 0)
        return 1;
    /* Notified calls fail when nobody listens. */
    if (!fails_with(mount("none", "/", "tmpfs", 0, NULL), ENOSYS))
        return 2;
    if (!fails_with(syscall(SYS_unshare, 0x10000000), ENOSYS))
        return 3;
    if (!fails_with(ioctl(0, 0x5412, "x"), ENOSYS))
        return 4;
    if (!fails_with(socket(AF_UNIX, SOCK_DGRAM, 0), ENOSYS))
        return 5;
    if (!fails_with(socket(40, SOCK_STREAM, 0), ENOSYS))
        return 6;
    if (!fails_with(syscall(SYS_clone3, NULL, 0), ENOSYS))
        return 7;
    if (!fails_with(syscall(425, 8, NULL), EPERM)) /* io_uring_setup */
        return 8;
    if (!fails_with(mkdir("/tmp/never", 02755), EPERM))
        return 9;
    if (!fails_with(socket(AF_INET, SOCK_STREAM, 262), EPROTONOSUPPORT))
        return 10;
    if (!fails_with(syscall(5000), ENOSYS))
        return 11;
    int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return sock < 0 ? 12 : 0;
}

static void refused_calls_fail(void **state)
{
    assert_int_equal(in_child(calls_under_default, NULL), 0);
}

#if defined(__x86_64__)
static int call_i386(const void *arg)
{
    long r = 20; /* getpid there */

    if (load(arg, 0) < 0)
        return 1;
    __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
    return (int)r == -ENOSYS ? 0 : 2;
}

static int call_x32(const void *arg)
{
    if (load(arg, 0) < 0)
        return 1;
    return fails_with(syscall(0x40000000 | SYS_getpid), ENOSYS) ? 0 : 2;
}

static void foreign_abis_fail(void **state)
{
    static const char *const filters[] = {"default", "strict", "init", "floor"};

    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        assert_int_equal(in_child(call_i386, filters[i]), 0);
        assert_int_equal(in_child(call_x32, filters[i]), 0);
    }
}
#endif

/* ---- Stacks, as filter.h draws them ---- */

struct stack {
    const char *listening;
    const char *below;
};

static int try_mount(void)
{
    return mount("none", "/", "tmpfs", 0, NULL) == 0 ? 0 : errno;
}

/* Answer one notification with `error`; 0 when it was about mount. */
static int answer(int listener, int error)
{
    struct seccomp_notif notice = {0};
    struct pollfd ready = {.fd = listener, .events = POLLIN};

    if (poll(&ready, 1, 10000) != 1 || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) < 0)
        return 1;
    struct seccomp_notif_resp response = {.id = notice.id, .error = -error};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0)
        return 2;
    return notice.data.nr == SYS_mount ? 0 : 3;
}

static int listen_to_child(const void *arg)
{
    const struct stack *stack = arg;
    int status = 0;

    if (load(stack->below, 0) < 0)
        return 10;
    if (try_mount() != ENOSYS)
        return 11;
    int listener = load(stack->listening, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (listener < 0)
        return 12;
    /* A second one is not to be had from inside. */
    if (load("default", SECCOMP_FILTER_FLAG_NEW_LISTENER) != -EBUSY)
        return 13;
    pid_t pid = fork();
    if (pid == 0)
        _exit(try_mount());
    int r = answer(listener, EACCES);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 14;
    if (r != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != EACCES)
        return 20 + r;
    close(listener);
    return try_mount() == ENOSYS ? 0 : 15;
}

static void the_listener_above_init_hears(void **state)
{
    static const struct stack stacks[] = {
        {"default", "init"}, {"strict", "init"}, {"floor", "init"}};

    for (size_t i = 0; i < ARRAY_LEN(stacks); i++)
        assert_int_equal(in_child(listen_to_child, &stacks[i]), 0);
}

static int no_unix_sockets(const void *arg)
{
    int pair[2];

    if (load("default", 0) < 0 || load("no-unix", 0) < 0)
        return 1;
    if (!fails_with(socket(AF_UNIX, SOCK_STREAM, 0), EPERM))
        return 2;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return 3;
    return socket(AF_INET, SOCK_STREAM, 0) < 0 ? 4 : 0;
}

static void unix_sockets_can_be_taken_away(void **state)
{
    assert_int_equal(in_child(no_unix_sockets, NULL), 0);
}

/* ---- What it costs ---- */

static int time_load(const void *arg)
{
    struct timespec begin, end;

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int r = load(arg, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    long us = (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000;
    return r < 0 ? 255 : (int)(us < 254 ? us : 254);
}

static void what_loading_costs(void **state)
{
    static const char *const filters[] = {"default", "strict", "init", "floor"};

    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        int best = 255;

        for (int n = 0; n < 50; n++) {
            int us = in_child(time_load, filters[i]);

            best = us < best ? us : best;
        }
        print_message("# %s: %u instructions, loaded in %d us\n", filters[i],
                      filter_shipped(filters[i])->len, best);
        assert_true(best < 255);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_run),
        cmocka_unit_test(refused_calls_fail),
#if defined(__x86_64__)
        cmocka_unit_test(foreign_abis_fail),
#endif
        cmocka_unit_test(the_listener_above_init_hears),
        cmocka_unit_test(unix_sockets_can_be_taken_away),
        cmocka_unit_test(what_loading_costs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
