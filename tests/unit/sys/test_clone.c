/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/clone.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "../scratch.h"
#include "sys/process.h"

static void the_child_is_in_new_namespaces(void **state)
{
    static const struct {
        const char *file;
        uint64_t flag;
    } kinds[] = {
        {"/proc/self/ns/user", CLONE_NEWUSER},     {"/proc/self/ns/pid", CLONE_NEWPID},
        {"/proc/self/ns/net", CLONE_NEWNET},       {"/proc/self/ns/ipc", CLONE_NEWIPC},
        {"/proc/self/ns/uts", CLONE_NEWUTS},       {"/proc/self/ns/mnt", CLONE_NEWNS},
        {"/proc/self/ns/cgroup", CLONE_NEWCGROUP},
    };
    ino_t ours[ARRAY_LEN(kinds)];
    uint64_t flags = 0;
    struct stat st;
    struct sys_exit ended;
    fd_auto int pidfd = -1;
    int before = open_fds();

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        assert_int_equal(stat(kinds[i].file, &st), 0);
        ours[i] = st.st_ino;
        flags |= kinds[i].flag;
    }
    int pid = sys_clone_namespaces(flags, &pidfd);
    if (pid == 0) {
        int same = getpid() == 1 ? 0 : 100;
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
            if (stat(kinds[i].file, &st) < 0 || st.st_ino == ours[i])
                same++;
        _exit(same);
    }
    if (pid == -EPERM || pid == -EACCES || pid == -ENOSPC || pid == -EINVAL) {
        SKIP("this host gives no namespaces (%s)", strerror(-pid));
    }
    assert_true(pid > 0);
    assert_int_equal(open_fds(), before + 1);
    assert_int_equal(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(sys_pidfd_wait(pidfd, true, &ended), 0);
    assert_int_equal(ended.code, 0);
}

static void on_signal(int number)
{
}

/* The child shares nothing that it could disturb: not even handlers. */
static void an_ordinary_child(void **state)
{
    volatile int mine = 1;
    struct sys_exit ended;
    fd_auto int pidfd = -1;

    signal(SIGUSR1, on_signal);
    int pid = sys_clone_namespaces(0, &pidfd);
    assert_true(pid >= 0);
    if (pid == 0) {
        mine = 2;
        _exit(mine == 2 ? 7 : 8);
    }
    assert_int_equal(sys_pidfd_wait(pidfd, true, &ended), 0);
    assert_int_equal(ended.code, 7);
    assert_int_equal(mine, 1);
    signal(SIGUSR1, SIG_DFL);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    signals++;
}

/* It is nobody's business but ours: the program around the library neither hears nor reaps it. */
static void the_end_is_not_the_callers(void **state)
{
    void (*const handlers[])(int) = {SIG_DFL, SIG_IGN, count_signal};

    for (size_t i = 0; i < ARRAY_LEN(handlers); i++) {
        struct sys_exit ended = {.code = -1};
        fd_auto int pidfd = -1;
        struct pollfd gone = {.events = POLLIN};

        signals = 0;
        signal(SIGCHLD, handlers[i]);
        int pid = sys_clone_namespaces(0, &pidfd);
        if (pid == 0)
            _exit(9);
        assert_true(pid > 0);
        gone.fd = pidfd;
        assert_int_equal(poll(&gone, 1, 10000), 1);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
        assert_int_equal(sys_pidfd_wait(pidfd, true, &ended), 0);
        assert_int_equal(ended.code, 9);
        assert_int_equal(signals, 0);
    }
    signal(SIGCHLD, SIG_DFL);
}

enum { STACK = 64 << 10 };

/* For a child that shares our memory; the caller unmaps it. */
static void *make_stack(void)
{
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(stack != MAP_FAILED);
    return stack;
}

struct shared {
    int fd;
    int started;
    int go;
    pid_t tid;
};

static int close_and_exit(void *arg)
{
    struct shared *shared = arg;

    close(shared->fd);
    umask(0123);
    sys_word_set(&shared->started);
    sys_word_wait(&shared->go);
    _exit(6);
}

/* Memory, descriptors and the mask of modes are the parent's own, and it goes on beside the child. */
static void a_started_child_shares_all(void **state)
{
    int status = 0;
    struct shared shared = {.fd = dup(0)};
    void *stack = make_stack();
    mode_t mask = umask(0);

    assert_true(shared.fd >= 0);
    int pid = sys_share_start(close_and_exit, &shared, stack, STACK, &shared.tid);
    assert_true(pid > 0);
    sys_word_wait_for(&shared.started, &shared.tid);
    assert_int_equal(shared.started, 1);
    assert_int_equal(shared.tid, pid);
    assert_int_equal(fcntl(shared.fd, F_GETFD), -1);
    assert_int_equal(umask(mask), 0123);
    assert_false(sys_share_stopped(pid));
    assert_false(sys_share_wait(&shared.tid, 1));
    sys_word_set(&shared.go);
    while (!sys_share_wait(&shared.tid, 1000))
        ;
    assert_int_equal(shared.tid, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 6);
    munmap(stack, STACK);
}

static int just_exit(void *arg)
{
    _exit(7);
}

/* A word that nobody will set any more. */
static void a_child_that_ends_is_not_waited_for(void **state)
{
    int never = 0;
    pid_t tid = 0;
    void *stack = make_stack();

    int pid = sys_share_start(just_exit, NULL, stack, STACK, &tid);
    assert_true(pid > 0);
    sys_word_wait_for(&never, &tid);
    assert_int_equal(tid, 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    munmap(stack, STACK);
}

struct locked {
    int lock;
    int has_it;
    long count;
    pid_t tid;
};

enum { COUNTS = 20000 };

static int count_and_exit(void *arg)
{
    struct locked *locked = arg;

    sys_word_set(&locked->has_it);
    for (int i = 0; i < COUNTS; i++) {
        sys_lock(&locked->lock, NULL);
        locked->count++;
        sys_unlock(&locked->lock);
    }
    _exit(0);
}

static void a_lock_is_held_by_one(void **state)
{
    struct locked locked = {0};
    void *stack = make_stack();

    int pid = sys_share_start(count_and_exit, &locked, stack, STACK, &locked.tid);
    assert_true(pid > 0);
    sys_word_wait_for(&locked.has_it, &locked.tid);
    for (int i = 0; i < COUNTS; i++) {
        sys_lock(&locked.lock, &locked.tid);
        locked.count++;
        sys_unlock(&locked.lock);
    }
    while (!sys_share_wait(&locked.tid, 1000))
        ;
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(locked.count, 2 * COUNTS);
    munmap(stack, STACK);
}

static int keep_and_wait(void *arg)
{
    struct locked *locked = arg;

    sys_lock(&locked->lock, NULL);
    sys_word_set(&locked->has_it);
    while (pause() < 0)
        ;
    return 0;
}

static void a_lock_of_a_dead_child_is_taken(void **state)
{
    struct locked locked = {0};
    void *stack = make_stack();

    int pid = sys_share_start(keep_and_wait, &locked, stack, STACK, &locked.tid);
    assert_true(pid > 0);
    sys_word_wait_for(&locked.has_it, &locked.tid);
    kill(pid, SIGKILL);
    sys_lock(&locked.lock, &locked.tid);
    assert_int_equal(locked.tid, 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    munmap(stack, STACK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_child_is_in_new_namespaces),
        cmocka_unit_test(an_ordinary_child),
        cmocka_unit_test(the_end_is_not_the_callers),
        cmocka_unit_test(a_started_child_shares_all),
        cmocka_unit_test(a_child_that_ends_is_not_waited_for),
        cmocka_unit_test(a_lock_is_held_by_one),
        cmocka_unit_test(a_lock_of_a_dead_child_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
