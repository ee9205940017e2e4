/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/procstat.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "../scratch.h"

#define MIB (1024ULL * 1024)

static int proc = -1;

static int setup(void **state)
{
    proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return proc < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    fd_close(&proc);
    return 0;
}

/* The fields from the state on: ppid 7, flags 0x40, 1 2 3 4 ticks, 5 threads, start 6, 4096 8. */
#define REST(flags)                                                                                \
    " S 7 1 1 0 -1 " flags " 10 0 0 0 1 2 3 4 20 0 5 0 6 4096 8 18446744073709551615 1"

static void lines_are_parsed(void **state)
{
    static const struct {
        const char *text;
        int want;
        bool unexecuted;
    } cases[] = {
        {"12 (sh)" REST("4194304"), 0, false},
        {"12 (sh)" REST("64"), 0, true},
        {"12 ()" REST("4194368") "\n", 0, true},
        /* names that look like the rest */
        {"12 (a) R 1 1 1)" REST("0"), 0, false},
        {"12 ()))))))))))))))))" REST("0"), 0, false},
        {"12 (a\n13 (b) S 9 9)" REST("0"), 0, false},
        {"12 (\xff\x01 \x1b[2J)" REST("0"), 0, false},
        {"", -EINVAL, false},
        {"12 sh S 7 1 1", -EINVAL, false},
        {"12 (sh)", -EINVAL, false},
        {"12 (sh) ", -EINVAL, false},
        {"12 (sh) S", -EINVAL, false},
        {"12 (sh) S 7 1 1 0 -1 0 10 0 0 0 1 2 3 4 20 0 5 0 6 4096", -EINVAL, false},
        {"12 (sh) S 7 1 1 0 - 0 10 0 0 0 1 2 3 4 20 0 5 0 6 4096 8", -EINVAL, false},
        {"12 (sh) S 7 1 1 0 -1 x 10 0 0 0 1 2 3 4 20 0 5 0 6 4096 8", -EINVAL, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sys_procstat stat = {.threads = 99};

        assert_int_equal(sys_procstat_parse(cases[i].text, &stat), cases[i].want);
        if (cases[i].want < 0) {
            assert_int_equal(stat.threads, 99);
            continue;
        }
        assert_int_equal(stat.state, 'S');
        assert_int_equal(stat.parent, 7);
        assert_int_equal(stat.unexecuted, cases[i].unexecuted);
        assert_int_equal(stat.user_ticks, 1);
        assert_int_equal(stat.system_ticks, 2);
        assert_int_equal(stat.waited_user, 3);
        assert_int_equal(stat.waited_system, 4);
        assert_int_equal(stat.threads, 5);
        assert_int_equal(stat.start_ticks, 6);
        assert_int_equal(stat.virtual_bytes, 4096);
        assert_int_equal(stat.resident_pages, 8);
    }
}

static void memory_is_parsed(void **state)
{
    static const struct {
        const char *text;
        bool exact;
        int want;
        struct sys_procmem memory;
    } cases[] = {
        {"Name:\tsh\nRssAnon:\t     3 kB\nRssFile:\t 9 kB\nRssShmem:\t 2 kB\nVmSwap:\t 1 kB\n",
         false,
         0,
         {3072, 2048, 1024}},
        {"RssAnon: 0 kB\n", false, 0, {0, 0, 0}},
        {"Name:\tsh\nThreads:\t1\n", false, -ENODATA, {0}},
        /* A name cannot begin a line: the kernel writes its newline as \n. */
        {"Name:\ta\\nRssAnon: 7 kB\nThreads:\t1\n", false, -ENODATA, {0}},
        {"Name:\tRssAnon:\nRssAnon:\t4 kB\n", false, 0, {4096, 0, 0}},
        {"0-1 ---p 0 00:00 0 [rollup]\nRss: 99 kB\nPss: 9 kB\nPss_Anon: 5 kB\nPss_File: 3 kB\n"
         "Pss_Shmem: 1 kB\nSwap: 8 kB\nSwapPss: 4 kB",
         true,
         0,
         {5120, 1024, 4096}},
        {"", true, -ENODATA, {0}},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sys_procmem memory = {0};

        assert_int_equal(sys_procmem_parse(cases[i].text, cases[i].exact, &memory), cases[i].want);
        assert_int_equal(memory.anon, cases[i].memory.anon);
        assert_int_equal(memory.shared, cases[i].memory.shared);
        assert_int_equal(memory.swap, cases[i].memory.swap);
    }
}

/* A child that has done `fn` and then waits to be killed. Nothing may be asserted in it. */
static pid_t child(void (*fn)(void))
{
    int ends[2];
    char byte;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fn();
        if (write(ends[1], "x", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void take(size_t len, int flags)
{
    char *data = mmap(NULL, len, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (data == MAP_FAILED)
        _exit(1);
    memset(data, 1, len);
}

static void take_both(void)
{
    prctl(PR_SET_NAME, "a) R 1 1\n(b");
    take(32 * MIB, MAP_PRIVATE);
    take(16 * MIB, MAP_SHARED);
}

static bool is_about(uint64_t value, uint64_t want)
{
    return value >= want && value < want + 4 * MIB;
}

static void processes_are_read(void **state)
{
    struct sys_procstat stat;
    struct sys_procmem memory = {0};
    int before = open_fds();
    pid_t pid = child(take_both);

    assert_int_equal(sys_procstat_read(proc, pid, &stat), 0);
    assert_int_equal(stat.parent, getpid());
    assert_int_equal(stat.threads, 1);
    assert_true(stat.unexecuted);
    assert_false(stat.ending);
    assert_true(stat.start_ticks > 0);
    assert_true(stat.virtual_bytes > 48 * MIB);
    assert_int_equal(sys_procmem_read(proc, pid, false, &memory), 0);
    assert_true(is_about(memory.anon, 32 * MIB));
    assert_true(is_about(memory.shared, 16 * MIB));
    assert_int_equal(sys_procmem_read(proc, pid, true, &memory), 0);
    assert_true(is_about(memory.anon, 32 * MIB));
    assert_true(is_about(memory.shared, 16 * MIB));

    /* Ended, and not waited for. */
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    assert_int_equal(sys_procstat_read(proc, pid, &stat), 0);
    assert_int_equal(stat.state, 'Z');
    assert_true(stat.ending);
    for (int exact = 0; exact < 2; exact++) {
        memory.anon = 99;
        assert_int_equal(sys_procmem_read(proc, pid, exact, &memory), 0);
        assert_int_equal(memory.anon + memory.shared + memory.swap, 0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sys_procstat_read(proc, pid, &stat), -ENOENT);
    assert_true(sys_procmem_read(proc, pid, false, &memory) < 0);
    assert_true(sys_procmem_read(proc, pid, true, &memory) < 0);
    assert_int_equal(open_fds(), before);
}

static void *outlive(void *arg)
{
    take(24 * MIB, MAP_PRIVATE);
    if (write(*(int *)arg, "x", 1) == 1)
        for (;;)
            pause();
    return NULL;
}

/* The kernel shows no memory for a process whose first thread has ended: a way to hide it. */
static void memory_outlives_the_first_thread(void **state)
{
    static int ends[2];
    struct sys_procstat stat = {0};
    struct sys_procmem memory;
    char byte;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pthread_create(&thread, NULL, outlive, &ends[1]) == 0)
            pthread_exit(NULL);
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    while (stat.state != 'Z')
        assert_int_equal(sys_procstat_read(proc, pid, &stat), 0);
    assert_int_equal(stat.threads, 2);
    assert_int_equal(stat.resident_pages, 0);
    for (int exact = 0; exact < 2; exact++) {
        memory = (struct sys_procmem){0};
        assert_int_equal(sys_procmem_read(proc, pid, exact, &memory), 0);
        assert_true(is_about(memory.anon, 24 * MIB));
    }
    end(pid);
    close(ends[0]);
    close(ends[1]);
}

static void numbers_are_listed(void **state)
{
    static const char *const tree[] = {"7", "42/", "2147483639", "99999999999", "7x",
                                       "x", "-1",  "007",        "self -> 7",   NULL};
    struct sys_proclist list;
    int number;
    long sum = 0;
    int before = open_fds();

    scratch_make(tree);
    fd_auto int dir = open(at("@"), O_PATH | O_CLOEXEC);
    assert_int_equal(sys_proclist_open(&list, dir, "."), 0);
    while (sys_proclist_next(&list, &number) > 0)
        sum += number;
    sys_proclist_close(&list);
    sys_proclist_close(&list);
    assert_int_equal(sum, 7 + 42 + 2147483639L + 7);
    assert_int_equal(sys_proclist_open(&list, dir, "none"), -ENOENT);
    assert_int_equal(sys_proclist_open(&list, dir, "7"), -ENOTDIR);
    sys_proclist_close(&list);
    fd_close(&dir);
    assert_int_equal(open_fds(), before);
}

/* More than one buffer of them. */
static void many_are_listed(void **state)
{
    static const char *const tree[] = {NULL};
    struct sys_proclist list;
    char name[16];
    int number;
    long sum = 0;

    scratch_make(tree);
    fd_auto int dir = open(at("@"), O_RDONLY | O_CLOEXEC);
    for (int i = 1; i <= 500; i++) {
        snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(mkdirat(dir, name, 0755), 0);
    }
    for (int again = 0; again < 2; again++) {
        sum = 0;
        assert_int_equal(sys_proclist_open(&list, dir, "."), 0);
        while (sys_proclist_next(&list, &number) > 0)
            sum += number;
        sys_proclist_close(&list);
        assert_int_equal(sum, 500 * 501 / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_parsed),
        cmocka_unit_test(memory_is_parsed),
        cmocka_unit_test(processes_are_read),
        cmocka_unit_test(memory_outlives_the_first_thread),
        cmocka_unit_test_teardown(numbers_are_listed, scratch_remove),
        cmocka_unit_test_teardown(many_are_listed, scratch_remove),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
