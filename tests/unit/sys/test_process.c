/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/process.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "../scratch.h"
#include "base/str.h"
#include "sys/clone.h"

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

/* As on a kernel without CONFIG_CHECKPOINT_RESTORE. */
static void wipe_the_old_way(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_MM, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = ARRAY_LEN(code), .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        _exit(4);
    wipe();
}

static void arguments_are_wiped(void **state)
{
    assert_int_equal(status_of(wipe), 0);
    assert_int_equal(status_of(wipe_the_old_way), 0);
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

/* A child that waits, and that this test may look into. */
struct looked_at {
    pid_t pid;
    int pidfd;
};

static void look_at(struct looked_at *ret)
{
    ret->pid = child(sleep_on);
    ret->pidfd = sys_pidfd_open(ret->pid);
    assert_true(ret->pidfd >= 0);
}

static void look_away(struct looked_at *looked_at)
{
    struct sys_exit ended;

    assert_int_equal(sys_pidfd_kill(looked_at->pidfd, SIGKILL), 0);
    assert_int_equal(sys_pidfd_wait(looked_at->pidfd, true, &ended), 0);
    fd_close(&looked_at->pidfd);
}

static void descriptors_are_taken(void **state)
{
    static const char *const tree[] = {"file", NULL};
    struct looked_at other;
    struct stat ours = {0};
    struct stat theirs = {0};

    scratch_make(tree);
    int fd = open(at("@/file"), O_RDWR); /* inheritable, and at this number in the child too */
    assert_true(fd >= 0 && fstat(fd, &ours) == 0);
    look_at(&other);
    close(fd);
    int before = open_fds();
    fd_auto int taken = sys_pidfd_take(other.pidfd, fd);
    int none = sys_pidfd_take(other.pidfd, 1 << 20);
    bool gone = taken >= 0;
    if (taken >= 0) {
        assert_int_equal(open_fds(), before + 1);
        assert_int_equal(fcntl(taken, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fstat(taken, &theirs), 0);
        assert_true(ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
        assert_int_equal(write(taken, "x", 1), 1);
        assert_int_equal(stat(at("@/file"), &ours), 0);
        assert_int_equal(ours.st_size, 1);
        assert_int_equal(none, -EBADF);
    }
    struct sys_exit ended;
    assert_int_equal(sys_pidfd_kill(other.pidfd, SIGKILL), 0);
    assert_int_equal(sys_pidfd_wait(other.pidfd, true, &ended), 0);
    assert_int_equal(sys_pidfd_take(other.pidfd, fd), taken == -ENOSYS ? -ENOSYS : -ESRCH);
    fd_close(&other.pidfd);
    assert_int_equal(sys_pidfd_take(1 << 20, 0), taken == -ENOSYS ? -ENOSYS : -EBADF);
    if (!gone) {
        assert_true(taken == -EPERM || taken == -ENOSYS);
        SKIP("no process may look into another here (%s)", strerror(-taken));
    }
}

static void memory_is_read(void **state)
{
    static volatile char word[] = "parent";
    char data[sizeof(word)] = "";
    struct looked_at other;
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);

    assert_true(pages != MAP_FAILED);
    memset(pages, 'p', (size_t)page);
    assert_int_equal(munmap(pages + page, (size_t)page), 0);
    look_at(&other);
    memcpy((char *)word, "change", 6); /* here, not there */
    int r = sys_memory_read(other.pid, (uint64_t)(uintptr_t)word, data, sizeof(data));
    if (r < 0) {
        look_away(&other);
        assert_true(r == -EPERM || r == -ENOSYS);
        SKIP("no process may look into another here (%s)", strerror(-r));
    }
    assert_int_equal(r, 0);
    assert_string_equal(data, "parent");
    /* To the end of what is there, and over it: all or an error. */
    uint64_t end = (uint64_t)(uintptr_t)(pages + page);
    assert_int_equal(sys_memory_read(other.pid, end - 4, data, 4), 0);
    assert_memory_equal(data, "pppp", 4);
    assert_int_equal(sys_memory_read(other.pid, end - 2, data, 4), -EFAULT);
    assert_int_equal(sys_memory_read(other.pid, end, data, 1), -EFAULT);
    assert_int_equal(sys_memory_read(other.pid, 0, data, 1), -EFAULT);
    assert_int_equal(sys_memory_read(other.pid, UINT64_MAX - 1, data, 1), -EFAULT);
    assert_int_equal(sys_memory_read(other.pid, 0, data, 0), 0);
    look_away(&other);
    assert_int_equal(sys_memory_read(other.pid, end - 4, data, 4), -ESRCH);
    munmap(pages, (size_t)page);
}

static void memory_is_written(void **state)
{
    static volatile char word[] = "parent";
    char data[sizeof(word)] = "";
    struct looked_at other;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_READ), 0);
    look_at(&other);
    int r = sys_memory_write(other.pid, (uint64_t)(uintptr_t)word, "change", 6);
    if (r < 0) {
        look_away(&other);
        assert_true(r == -EPERM || r == -ENOSYS);
        SKIP("no process may look into another here (%s)", strerror(-r));
    }
    assert_string_equal((char *)word, "parent"); /* there, not here */
    assert_int_equal(sys_memory_read(other.pid, (uint64_t)(uintptr_t)word, data, sizeof(data)), 0);
    assert_string_equal(data, "change");
    /* All or an error, and not where that process could not write. */
    uint64_t end = (uint64_t)(uintptr_t)(pages + page);
    assert_int_equal(sys_memory_write(other.pid, end - 4, "four", 4), 0);
    assert_int_equal(sys_memory_write(other.pid, end - 2, "four", 4), -EFAULT);
    assert_int_equal(sys_memory_write(other.pid, end, "x", 1), -EFAULT);
    assert_int_equal(sys_memory_write(other.pid, 0, "x", 1), -EFAULT);
    assert_int_equal(sys_memory_write(other.pid, UINT64_MAX - 1, "x", 1), -EFAULT);
    look_away(&other);
    assert_int_equal(sys_memory_write(other.pid, end - 4, "four", 4), -ESRCH);
    munmap(pages, 2 * page);
}

static void descriptors_left_are_counted(void **state)
{
    struct rlimit before;
    struct stat st;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    unsigned open = (unsigned)open_fds();
    struct rlimit limit = {.rlim_cur = open + 4, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    bool some = sys_has_descriptors(getpid(), 1);
    bool many = sys_has_descriptors(getpid(), 64);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(some);
    assert_true(sys_has_descriptors(-1, 1)); /* not known */
    if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
        assert_false(many);
}

struct thread {
    pthread_t handle;
    int ready[2];
    int end[2];
    pid_t tid;
};

static void *wait_for_end(void *arg)
{
    struct thread *thread = arg;
    char byte;

    thread->tid = (pid_t)syscall(SYS_gettid);
    if (write(thread->ready[1], "x", 1) != 1 || read(thread->end[0], &byte, 1) < 0)
        return arg;
    return NULL;
}

/* Of a thread that is not the first of its process, too. */
static void threads_have_a_pidfd(void **state)
{
    struct thread thread;
    char byte;

    assert_int_equal(pipe2(thread.ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(thread.end, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&thread.handle, NULL, wait_for_end, &thread), 0);
    assert_int_equal(read(thread.ready[0], &byte, 1), 1);
    assert_true(thread.tid != getpid());

    fd_auto int first = sys_pidfd_open_thread(getpid());
    fd_auto int other = sys_pidfd_open_thread(thread.tid);
    assert_true(first >= 0 && other >= 0);
    assert_int_equal(fcntl(other, F_GETFD), FD_CLOEXEC);
    /* It is good for what is asked of it: a descriptor of that process. */
    int taken = sys_pidfd_take(other, thread.ready[0]);
    if (taken >= 0) {
        struct stat a = {0};
        struct stat b = {0};
        assert_true(fstat(taken, &a) == 0 && fstat(thread.ready[0], &b) == 0);
        assert_true(a.st_ino == b.st_ino);
        close(taken);
    } else {
        assert_true(taken == -EPERM || taken == -ENOSYS);
    }
    close(thread.end[1]);
    assert_int_equal(pthread_join(thread.handle, NULL), 0);
    assert_int_equal(sys_pidfd_open_thread(0x3fffffff), -ESRCH);
    close(thread.end[0]);
    close(thread.ready[0]);
    close(thread.ready[1]);
}

static void wait_for_all(void)
{
    for (int i = 0; i < 5; i++)
        if (fork() == 0)
            exit_3();
    sys_wait_all();
    _exit(waitpid(-1, NULL, 0) == -1 && errno == ECHILD ? 0 : 1);
}

static void all_children_are_waited_for(void **state)
{
    assert_int_equal(status_of(wait_for_all), 0);
}

/* In a child that shares the table of descriptors until it has one of its own. */
static int close_in_own_table(void *arg)
{
    int *fds = arg;

    close(fds[0]); /* for both */
    int r = sys_unshare_descriptors();
    if (r < 0 || fcntl(fds[1], F_GETFD) < 0)
        _exit(1);
    close(fds[1]); /* for this one */
    _exit(0);
}

static void a_table_of_descriptors_of_ones_own(void **state)
{
    enum { STACK = 64 << 10 };
    int fds[2] = {dup(0), dup(0)};
    int status = -1;
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(stack != MAP_FAILED && fds[0] >= 0 && fds[1] >= 0);
    pid_t tid = 0;
    int pid = sys_share_start(close_in_own_table, fds, stack, STACK, &tid);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(fcntl(fds[0], F_GETFD), -1);
    assert_true(fcntl(fds[1], F_GETFD) >= 0);
    close(fds[1]);
    munmap(stack, STACK);
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
        cmocka_unit_test_teardown(descriptors_are_taken, scratch_remove),
        cmocka_unit_test(memory_is_read),
        cmocka_unit_test(memory_is_written),
        cmocka_unit_test(descriptors_left_are_counted),
        cmocka_unit_test(threads_have_a_pidfd),
        cmocka_unit_test(all_children_are_waited_for),
        cmocka_unit_test(a_table_of_descriptors_of_ones_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
