/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/native/account.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "sys/procstat.h"

#include "../pidns.h"
#include "../scratch.h"

#define MIB (1024ULL * 1024)
#define MS 1000ULL /* in microseconds */
#define TICK (10 * MS)

static struct account *account;
static int before;

static pid_t spare;

static void start(uint64_t confirm_above)
{
    const struct account_args args = {
        .proc = pidns_proc,
        .tmpfs = pidns_tmpfs,
        .spare = &spare,
        .confirm_above_bytes = confirm_above,
        .processes = 256,
    };

    assert_int_equal(account_new(&args, &account), 0);
}

static int setup(void **state)
{
    before = open_fds();
    return 0;
}

/* Nothing is left: no process, no descriptor. */
static int teardown(void **state)
{
    account_free(account);
    account = NULL;
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ;
    return open_fds() == before ? 0 : -1;
}

static struct sandbox_usage measure(void)
{
    struct sandbox_usage usage;

    assert_int_equal(account_measure(account, &usage), 0);
    return usage;
}

static uint64_t cpu_us(const struct sandbox_usage *usage)
{
    return usage->user_us + usage->system_us;
}

/* ---- What children do. Nothing may be asserted in them. ---- */

static void burn(unsigned ms)
{
    struct timespec now = {0};
    unsigned long until = ms * 1000000UL;

    while ((unsigned long)now.tv_sec * 1000000000UL + (unsigned long)now.tv_nsec < until)
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
}

static void *take(size_t len, int flags)
{
    char *data = mmap(NULL, len, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (data == MAP_FAILED)
        _exit(1);
    memset(data, 1, len);
    return data;
}

static int ready[2];

static void say(void)
{
    if (write(ready[1], "x", 1) != 1)
        _exit(1);
}

static void hear(int count)
{
    char byte;

    for (int i = 0; i < count; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
}

static void wait_forever(void)
{
    say();
    for (;;)
        pause();
}

/* Run `fn` in a child. */
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

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- Processes ---- */

static void *wait_in_thread(void *arg)
{
    wait_forever();
    return NULL;
}

static void three_threads(void)
{
    pthread_t thread;

    prctl(PR_SET_NAME, ") R 1 (\n2 (x");
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread, NULL, wait_in_thread, NULL) != 0)
            _exit(1);
    wait_forever();
}

static void threads_are_counted(void **state)
{
    struct sandbox_usage usage;

    start(UINT64_MAX);
    usage = measure();
    assert_int_equal(usage.processes, 0); /* we are init */
    assert_int_equal(usage.peak_processes, 0);
    assert_int_equal(usage.disk_bytes, SANDBOX_UNKNOWN);
    assert_int_equal(usage.read_bytes, SANDBOX_UNKNOWN);
    assert_int_equal(usage.written_bytes, SANDBOX_UNKNOWN);
    pid_t threads = child(three_threads);
    pid_t single = child(wait_forever);
    hear(4);
    usage = measure();
    assert_int_equal(usage.processes, 4);
    end(threads);
    /* Ended, and not waited for: it still takes a place. */
    kill(single, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)single, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    usage = measure();
    assert_int_equal(usage.processes, 1);
    assert_int_equal(usage.peak_processes, 4);
    end(single);
    assert_int_equal(measure().processes, 0);
}

/* After the end of a list: who came since, and nobody again. Here, where numbers only rise. */
static void those_who_come_are_listed(void **state)
{
    struct sys_proclist list;
    int number;
    int last = 0;

    assert_int_equal(sys_proclist_open(&list, pidns_proc, "."), 0);
    pid_t first = child(wait_forever);
    while (sys_proclist_next(&list, &number) > 0)
        last = number;
    assert_int_equal(last, first);
    pid_t second = child(wait_forever);
    assert_int_equal(sys_proclist_next(&list, &number), 0);
    sys_proclist_again(&list);
    assert_int_equal(sys_proclist_next(&list, &number), 1);
    assert_int_equal(number, second);
    assert_int_equal(sys_proclist_next(&list, &number), 0);
    sys_proclist_again(&list);
    assert_int_equal(sys_proclist_next(&list, &number), 0);
    sys_proclist_close(&list);
    hear(2);
}

/* ---- CPU ---- */

static void burn_100(void)
{
    burn(100);
    wait_forever();
}

static void burn_and_end(void)
{
    burn(100);
}

/* Waits for its child. */
static void good_parent(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        burn(100);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    wait_forever();
}

/* Leaves its child to init. */
static void bad_parent(void)
{
    if (fork() == 0) {
        burn(100);
        say();
        _exit(0);
    }
}

static void reap_all(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void is_cpu(uint64_t us, uint64_t want)
{
    if (us + 3 * TICK < want || us > want + want / 5 + 5 * TICK)
        fail_msg("%llu us are not about %llu us", (unsigned long long)us, (unsigned long long)want);
}

/* Init's own sum of former tests is part of every measurement. */
static uint64_t since_start;

static void start_cpu(void)
{
    struct sandbox_usage usage;

    start(UINT64_MAX);
    usage = measure();
    since_start = cpu_us(&usage);
}

static uint64_t cpu_now(void)
{
    struct sandbox_usage usage = measure();

    return cpu_us(&usage) - since_start;
}

static void cpu_of_the_living_and_the_gone(void **state)
{
    start_cpu();
    pid_t living = child(burn_100);
    hear(1);
    is_cpu(cpu_now(), 100 * MS);
    pid_t parent = child(good_parent);
    hear(1);
    is_cpu(cpu_now(), 200 * MS);
    end(living);
    is_cpu(cpu_now(), 200 * MS);
    end(parent);
    is_cpu(cpu_now(), 200 * MS);
    /* Never seen alive. */
    pid_t quick = child(burn_and_end);
    assert_int_equal(waitpid(quick, NULL, 0), quick);
    is_cpu(cpu_now(), 300 * MS);
    child(bad_parent);
    hear(1);
    reap_all();
    is_cpu(cpu_now(), 400 * MS);
    for (int i = 0; i < 5; i++)
        is_cpu(cpu_now(), 400 * MS);
}

/* Children that burn, are seen, and are added to nobody. */
enum { LOST = 3 };
static int go[2];

static void ignoring_parent(void)
{
    char byte;

    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < LOST; i++) {
        pid_t pid = fork();
        if (pid == 0)
            burn_100();
        if (read(go[0], &byte, 1) != 1)
            _exit(1);
        kill(pid, SIGKILL);
        while (kill(pid, 0) == 0)
            ;
        say();
    }
    wait_forever();
}

static void cpu_that_nobody_waits_for_is_kept(void **state)
{
    uint64_t last = 0;

    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    start_cpu();
    pid_t parent = child(ignoring_parent);
    for (int i = 0; i < LOST; i++) {
        hear(1); /* it has burnt */
        is_cpu(cpu_now(), (unsigned)(i + 1) * 100 * MS);
        assert_int_equal(write(go[1], "x", 1), 1);
        hear(1); /* it is gone; the next one burns */
        last = cpu_now();
        assert_true(last + 5 * TICK >= (unsigned)(i + 1) * 100 * MS);
    }
    hear(1);
    for (int i = 0; i < 4; i++) {
        assert_true(cpu_now() >= last);
        is_cpu(cpu_now(), LOST * 100 * MS);
    }
    end(parent);
    is_cpu(cpu_now(), LOST * 100 * MS);
    close(go[0]);
    close(go[1]);
}

/* A tree in which parent and child vanish between two walks: nothing counts twice. */
static void family(void)
{
    burn(50);
    if (fork() == 0)
        burn_100();
    wait_forever();
}

static void families_that_vanish_count_once(void **state)
{
    start_cpu();
    for (unsigned i = 1; i <= 3; i++) {
        child(family);
        hear(2);
        is_cpu(cpu_now(), i * 150 * MS);
        kill(-1, SIGKILL);
        reap_all();
        for (int again = 0; again < 3; again++)
            is_cpu(cpu_now(), i * 150 * MS);
    }
}

/* ---- Memory ---- */

static void take_40(void)
{
    take(40 * MIB, MAP_PRIVATE);
    wait_forever();
}

static void take_shared_40(void)
{
    take(40 * MIB, MAP_SHARED);
    wait_forever();
}

/* Five processes with the same pages. */
static void take_40_fork_4(void)
{
    take(40 * MIB, MAP_PRIVATE);
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            wait_forever();
    wait_forever();
}

/* Five processes that had the same pages. */
static void take_40_fork_4_write(void)
{
    char *data = take(40 * MIB, MAP_PRIVATE);

    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            memset(data, 2, 40 * MIB);
            wait_forever();
        }
    }
    wait_forever();
}

static void *take_in_thread(void *arg)
{
    take_40();
    return NULL;
}

static void take_without_first_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, take_in_thread, NULL) != 0)
        _exit(1);
    pthread_exit(NULL);
}

static void take_undumpable(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    take_40();
}

static void is_memory(uint64_t bytes, uint64_t want)
{
    if (bytes < want || bytes > want + want / 10 + 8 * MIB)
        fail_msg("%llu MiB are not about %llu MiB", bytes / MIB, want / MIB);
}

/* What is young and unchanged does not count yet: measure until it does. */
static struct sandbox_usage measure_grown(void)
{
    struct timespec from;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 130);
    return measure();
}

static void memory_is_confirmed(void **state)
{
    static const struct {
        const char *name;
        void (*fn)(void);
        int say;
        uint64_t confirm_above;
        uint64_t want; /* MiB */
    } cases[] = {
        {"one", take_40, 1, UINT64_MAX, 40},
        {"one, confirmed", take_40, 1, 0, 40},
        {"shared", take_shared_40, 1, 0, 40},
        {"forked", take_40_fork_4, 5, 60 * MIB, 40},
        {"forked, written", take_40_fork_4_write, 5, 60 * MIB, 200},
        {"first thread gone", take_without_first_thread, 1, UINT64_MAX, 40},
        {"first thread gone, confirmed", take_without_first_thread, 1, 0, 40},
        {"not dumpable", take_undumpable, 1, 0, 40},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("# %s\n", cases[i].name);
        start(cases[i].confirm_above);
        child(cases[i].fn);
        hear(cases[i].say);
        struct sandbox_usage usage = measure_grown();
        is_memory(usage.memory_bytes, cases[i].want * MIB);
        is_memory(usage.peak_memory_bytes, cases[i].want * MIB);
        /* Once more, from what is remembered. */
        is_memory(measure().memory_bytes, cases[i].want * MIB);
        kill(-1, SIGKILL);
        reap_all();
        usage = measure();
        assert_true(usage.memory_bytes < MIB);
        is_memory(usage.peak_memory_bytes, cases[i].want * MIB);
        account_free(account);
        account = NULL;
    }
}

/* A child that is no program being started: it has mapped something. */
static pid_t fork_grown(void)
{
    pid_t pid = fork();

    if (pid == 0)
        take(4096, MAP_PRIVATE);
    return pid;
}

/* Children with the same 40 MiB come and go all the time, one after the other. */
static void take_40_come_and_go(void)
{
    enum { CHILDREN = 8 };
    const struct timespec a_moment = {.tv_nsec = 2000000};
    pid_t pids[CHILDREN];

    take(40 * MIB, MAP_PRIVATE);
    say();
    for (;;) {
        for (int i = 0; i < CHILDREN; i++) {
            pids[i] = fork_grown();
            if (pids[i] == 0)
                for (;;)
                    pause();
        }
        nanosleep(&a_moment, NULL);
        for (int i = 0; i < CHILDREN; i++) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
    }
}

/* Who has gone when its pages are asked for holds nothing, and left its share to those who had it too. */
static void memory_of_those_who_go_counts_once(void **state)
{
    enum { WALKS = 150 };

    start(60 * MIB);
    child(take_40_come_and_go);
    hear(1);
    for (int i = 0; i < WALKS; i++) {
        struct sandbox_usage usage = measure();
        if (usage.memory_bytes > 60 * MIB)
            fail_msg("walk %d: %llu MiB, of 40", i, usage.memory_bytes / MIB);
    }
    is_memory(measure().peak_memory_bytes, 40 * MIB);
}

/* Goes on in a child, again and again, and is nowhere for long. */
static void take_40_and_hop(void)
{
    take(40 * MIB, MAP_PRIVATE);
    say();
    while (fork_grown() == 0)
        ;
}

static void memory_that_moves_on_is_seen(void **state)
{
    enum { WALKS = 50, BESIDE = 50 };
    int seen = 0;

    start(20 * MIB);
    for (int i = 0; i < BESIDE; i++)
        child(wait_forever);
    hear(BESIDE);
    measure_grown();
    child(take_40_and_hop);
    hear(1);
    for (int i = 0; i < WALKS; i++) {
        seen += measure().memory_bytes > 20 * MIB;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    print_message("# %d of %d walks\n", seen, WALKS);
    assert_true(seen >= WALKS / 2);
    /* It is faster than a signal to all who are there. */
    for (int i = 0; i < 1000; i++) {
        kill(-1, SIGKILL);
        waitpid(-1, NULL, WNOHANG);
    }
}

/* They do not count, but pages that are divided are divided among them too. */
static void young_children_hide_nothing(void **state)
{
    start(20 * MIB);
    child(wait_forever);
    hear(1);
    measure_grown();
    child(take_40_fork_4);
    hear(5);
    is_memory(measure().memory_bytes, 40 * MIB);
}

static void reserve_and_fork(void)
{
    char *room = mmap(NULL, 200 * MIB, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room == MAP_FAILED || fork() != 0)
        wait_forever();
    for (size_t i = 0; i < 40 * MIB; i += 4096)
        *(volatile char *)(room + i) = 1;
    wait_forever();
}

/* As large as its parent, which has set it all aside and used nothing of it. */
static void young_children_count_with_what_is_their_own(void **state)
{
    start(20 * MIB);
    child(reserve_and_fork);
    hear(2);
    is_memory(measure().memory_bytes, 40 * MIB);
}

static void files_in_memory_count(void **state)
{
    static char data[MIB];
    fd_auto int fd = openat(pidns_tmpfs, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    start(UINT64_MAX);
    assert_true(fd >= 0);
    for (int i = 0; i < 32; i++)
        assert_int_equal(write(fd, data, MIB), (ssize_t)MIB);
    is_memory(measure().memory_bytes, 32 * MIB);
    assert_int_equal(unlinkat(pidns_tmpfs, "file", 0), 0);
    is_memory(measure().memory_bytes, 32 * MIB);
    fd_close(&fd);
    assert_true(measure().memory_bytes < MIB);
    is_memory(measure().peak_memory_bytes, 32 * MIB);
}

static _Noreturn void wait_in_vfork(void)
{
    if (syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0) == 0) {
        say();
        for (;;)
            syscall(SYS_pause);
    }
    _exit(0);
}

/* A child by vfork() has its parent's memory for a moment: not twice as much. */
static void starting_a_program_is_not_memory(void **state)
{
    start(0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        take(40 * MIB, MAP_PRIVATE);
        wait_in_vfork();
    }
    hear(1);
    is_memory(measure().memory_bytes, 40 * MIB);
    /* But not for ever. */
    is_memory(measure_grown().memory_bytes, 80 * MIB);
}

static void *map_more(void *arg)
{
    const struct timespec a_moment = {.tv_nsec = 20000};

    for (;;) {
        if (mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            _exit(1);
        nanosleep(&a_moment, NULL);
    }
    return arg;
}

/* Nor is it when the parent, which has other threads, becomes larger in this moment. */
static void starting_a_program_beside_threads(void **state)
{
    enum { WALKS = 20 };

    start(0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pthread_t thread;
        take(40 * MIB, MAP_PRIVATE);
        if (pthread_create(&thread, NULL, map_more, NULL) != 0)
            _exit(1);
        wait_in_vfork();
    }
    hear(1);
    for (int i = 0; i < WALKS; i++)
        is_memory(measure().memory_bytes, 40 * MIB);
}

static int wait_as_spare(void *arg)
{
    syscall(SYS_write, ready[1], "x", 1);
    for (;;)
        syscall(SYS_pause);
    return arg != NULL;
}

/* A process of init's that waits for a command has init's memory, for as long as it takes. */
static void the_memory_of_init_is_nobodys(void **state)
{
    static char stacks[2][16384] __attribute__((aligned(16)));
    char *data = take(40 * MIB, MAP_PRIVATE);

    start(0);
    spare = clone(wait_as_spare, stacks[0] + sizeof stacks[0], CLONE_VM | SIGCHLD, NULL);
    assert_true(spare > 0);
    hear(1);
    assert_true(measure().memory_bytes < MIB);
    assert_true(measure_grown().memory_bytes < MIB);
    assert_true(measure().peak_memory_bytes < MIB);
    assert_int_equal(measure().processes, 0);
    /* There is one. Who looks like it is not another. */
    assert_true(clone(wait_as_spare, stacks[1] + sizeof stacks[1], CLONE_VM | SIGCHLD, NULL) > 0);
    hear(1);
    is_memory(measure_grown().memory_bytes, 40 * MIB);
    assert_int_equal(measure().processes, 1);
    spare = 0;
    munmap(data, 40 * MIB);
}

/* ---- Faults ---- */

static void a_sandbox_that_is_gone(void **state)
{
    struct sandbox_usage usage = {.processes = 99};
    fd_auto int empty = open("/sys", O_PATH | O_CLOEXEC);
    const struct account_args args = {.proc = empty, .tmpfs = -1};

    assert_int_equal(account_new(&args, &account), 0);
    assert_int_equal(account_measure(account, &usage), -ESRCH);
    assert_int_equal(usage.processes, 99);
    assert_int_equal(account_pause_ms(account), 20);
}

/* More than are remembered, and they all vanish. */
enum { MANY = 150 };

static void more_than_there_is_room_for(void **state)
{
    const struct account_args args = {.proc = pidns_proc, .tmpfs = -1, .processes = 1};
    struct sandbox_usage usage;

    assert_int_equal(account_new(&args, &account), 0);
    for (int i = 0; i < MANY; i++)
        child(wait_forever);
    hear(MANY);
    usage = measure();
    assert_int_equal(usage.processes, MANY);
    kill(-1, SIGKILL);
    reap_all();
    for (int i = 0; i < 3; i++) {
        struct sandbox_usage next = measure();
        assert_int_equal(next.processes, 0);
        assert_int_equal(next.peak_processes, MANY);
        assert_true(next.user_us >= usage.user_us && next.system_us >= usage.system_us);
    }
}

/* What a walk over 100 processes costs, for a person to read; the bound is a generous one. */
static void a_walk_is_cheap(void **state)
{
    enum { PROCESSES = 100, WALKS = 20 };
    struct timespec from;
    struct timespec to;

    start(UINT64_MAX);
    for (int i = 0; i < PROCESSES; i++)
        child(wait_forever);
    hear(PROCESSES);
    measure();
    assert_int_equal(account_pause_ms(account), 20); /* it may cost something in the beginning */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (int i = 0; i < WALKS; i++)
        assert_int_equal(measure().processes, PROCESSES);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    long us = ((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000) / WALKS;
    print_message("# %ld us for %d processes, pause %u ms\n", us, PROCESSES,
                  account_pause_ms(account));
    assert_true(us < 50000);
    /* And then not more than it should. */
    for (int i = 0; i < 1000 && account_pause_ms(account) < 500; i++)
        measure();
    assert_int_equal(account_pause_ms(account), 500);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(those_who_come_are_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(cpu_of_the_living_and_the_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(cpu_that_nobody_waits_for_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(families_that_vanish_count_once, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_is_confirmed, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_of_those_who_go_counts_once, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_that_moves_on_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(young_children_hide_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(young_children_count_with_what_is_their_own, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(files_in_memory_count, setup, teardown),
        cmocka_unit_test_setup_teardown(starting_a_program_is_not_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(starting_a_program_beside_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(the_memory_of_init_is_nobodys, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sandbox_that_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(more_than_there_is_room_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_walk_is_cheap, setup, teardown),
    };

    if (pipe2(ready, O_CLOEXEC) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return pidns_run(run);
}
