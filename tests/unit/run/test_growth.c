/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "run/growth.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "../pidns.h"
#include "../scratch.h"
#include "base/arena.h"
#include "base/num.h"

#define MIB (1024ULL * 1024)
#define NO_BUDGET 0U
#define BUDGET 60000U

/*
 * Files get their times from the kernel alone, so what is old must be made so by beginning later.
 * The library asks this program's own function.
 */
static time_t begin_later_s;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    long r = syscall(SYS_clock_gettime, clock, ret);

    if (clock == CLOCK_REALTIME_COARSE)
        ret->tv_sec += begin_later_s;
    return (int)r;
}

/* In a tmpfs of its own: "work" is the run's, "other" a neighbour's on the same file system. */
static struct growth *growth;
static struct arena arena;
static int work = -1;
static int other = -1;
static int before;

static int open_dir(const char *name)
{
    return openat(pidns_tmpfs, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int setup(void **state)
{
    begin_later_s = 0;
    before = open_fds();
    if (mkdirat(pidns_tmpfs, "work", 0755) < 0 || mkdirat(pidns_tmpfs, "other", 0755) < 0)
        return -1;
    work = open_dir("work");
    other = open_dir("other");
    return work < 0 || other < 0 ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
    return remove(path);
}

static int teardown(void **state)
{
    growth_free(growth);
    growth = NULL;
    arena_clear(&arena);
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ;
    fd_close(&work);
    fd_close(&other);
    nftw(PIDNS_TMPFS "/work", remove_one, 8, FTW_DEPTH | FTW_PHYS);
    nftw(PIDNS_TMPFS "/other", remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return open_fds() == before ? 0 : -1;
}

static void start(uint64_t limit)
{
    assert_int_equal(growth_new(limit, &arena, &growth), 0);
    assert_int_equal(growth_add(growth, work), 0);
    growth_set_proc(growth, pidns_proc, NULL);
}

static bool fill(int fd, uint64_t mib)
{
    static char data[MIB];

    for (uint64_t i = 0; i < mib; i++)
        if (write(fd, data, sizeof(data)) != (ssize_t)sizeof(data))
            return false;
    return true;
}

static void make_file(int dir, const char *name, uint64_t mib)
{
    fd_auto int fd = openat(dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    assert_true(fd >= 0 && fill(fd, mib));
}

static uint64_t confirm(unsigned budget)
{
    uint64_t bytes = 0;
    int r;

    for (long steps = 0; (r = growth_step(growth, budget, &bytes)) == 0; steps++)
        if (steps > 1000000)
            fail_msg("the walk does not end");
    assert_int_equal(r, 1);
    return bytes;
}

static void is_about(uint64_t bytes, uint64_t mib)
{
    if (bytes + 64 * 1024 < mib * MIB || bytes > mib * MIB + 512 * 1024)
        fail_msg("%llu KiB are not about %llu MiB", (unsigned long long)bytes / 1024,
                 (unsigned long long)mib);
}

/* ---- What counts ---- */

static void write_8(void)
{
    make_file(work, "a", 8);
}

static void write_below(void)
{
    assert_int_equal(mkdirat(work, "d", 0755), 0);
    assert_int_equal(mkdirat(work, "d/e", 0755), 0);
    make_file(work, "d/e/a", 3);
    make_file(work, "d/b", 3);
    make_file(work, "c", 2);
}

static void write_sparse(void)
{
    make_file(work, "a", 4);
    assert_int_equal(truncate(PIDNS_TMPFS "/work/a", 1 << 30), 0);
}

static void write_linked(void)
{
    char name[16];

    make_file(work, "a", 4);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "link%d", i);
        assert_int_equal(linkat(work, "a", work, name, 0), 0);
    }
}

static void write_links_and_pipes(void)
{
    assert_int_equal(symlinkat("../other", work, "out"), 0);
    assert_int_equal(symlinkat(".", work, "loop"), 0);
    assert_int_equal(mkfifoat(work, "fifo", 0644), 0);
    make_file(work, "a", 4);
}

static void write_nothing(void)
{
}

static void change_old(void)
{
    make_file(work, "old", 1);
}

static void remove_old(void)
{
    assert_int_equal(unlinkat(work, "old", 0), 0);
}

static void growth_is_found(void **state)
{
    static const struct {
        const char *name;
        uint64_t old; /* MiB of a file before the start */
        void (*run)(void);
        uint64_t neighbour;
        uint64_t measured;
        uint64_t confirmed;
    } cases[] = {
        {"a file", 0, write_8, 0, 8, 8},
        {"a file, and the neighbour", 0, write_8, 32, 40, 8},
        {"a tree, and the neighbour", 0, write_below, 32, 40, 8},
        {"a sparse file", 0, write_sparse, 32, 36, 4},
        {"a file with many names", 0, write_linked, 32, 36, 4},
        {"links and a FIFO", 0, write_links_and_pipes, 32, 36, 4},
        {"nothing, and the neighbour", 0, write_nothing, 32, 32, 0},
        {"an old file grew", 16, change_old, 0, 1, 1},
        {"an old file grew, and the neighbour", 16, change_old, 32, 33, 17},
        {"an old file removed, and the neighbour", 16, remove_old, 32, 16, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases) * 2; i++) {
        size_t n = i / 2;
        uint64_t bytes = 99;

        print_message("# %s\n", cases[n].name);
        if (cases[n].old)
            make_file(work, "old", cases[n].old);
        start(64 * MIB);
        assert_int_equal(growth_measure(growth, &bytes), 0);
        assert_int_equal(bytes, 0);
        cases[n].run();
        make_file(other, "neighbour", cases[n].neighbour);
        assert_int_equal(growth_measure(growth, &bytes), 0);
        is_about(bytes, cases[n].measured);
        is_about(confirm(i % 2 ? NO_BUDGET : BUDGET), cases[n].confirmed);
        assert_int_equal(teardown(NULL), 0);
        assert_int_equal(setup(NULL), 0);
    }
}

static void what_is_old_is_not_found(void **state)
{
    make_file(work, "old", 16);
    begin_later_s = 10;
    start(8 * MIB);
    make_file(other, "neighbour", 32);
    assert_true(confirm(BUDGET) < MIB);
}

/* ---- Suspicion and the benefit of the doubt ---- */

static void a_neighbour_is_walked_for_once(void **state)
{
    uint64_t bytes = 0;

    start(16 * MIB);
    make_file(work, "a", 8);
    assert_int_equal(growth_measure(growth, &bytes), 0);
    is_about(bytes, 8);
    make_file(other, "neighbour", 32);
    assert_int_equal(growth_measure(growth, &bytes), 1);
    is_about(bytes, 40);
    is_about(confirm(NO_BUDGET), 8);
    assert_int_equal(growth_measure(growth, &bytes), 0);
    is_about(bytes, 8);
    /* Up to the limit, and over it. */
    make_file(work, "b", 7);
    assert_int_equal(growth_measure(growth, &bytes), 0);
    is_about(bytes, 15);
    make_file(work, "c", 2);
    assert_int_equal(growth_measure(growth, &bytes), 1);
    is_about(bytes, 17);
    assert_true(confirm(BUDGET) >= 16 * MIB);
    /* The neighbour tidies up: its share is not a reserve for the run. */
    assert_int_equal(unlinkat(other, "neighbour", 0), 0);
    assert_int_equal(unlinkat(work, "c", 0), 0);
    assert_int_equal(growth_measure(growth, &bytes), 0);
    make_file(work, "d", 32);
    assert_int_equal(growth_measure(growth, &bytes), 1);
    assert_true(confirm(BUDGET) >= 16 * MIB);
}

/* A process of the sandbox that does `fn` with a file of 16 MiB that has no name, and then waits. */
static int ready[2];

static void *wait_on(void *arg)
{
    if (write(ready[1], "x", 1) == 1)
        for (;;)
            pause();
    return NULL;
}

static int unnamed_file(void)
{
    int fd = openat(work, "big", O_RDWR | O_CREAT | O_CLOEXEC, 0644);

    if (fd < 0 || !fill(fd, 16) || unlinkat(work, "big", 0) < 0)
        _exit(1);
    return fd;
}

static void hold_open(void)
{
    unnamed_file();
}

static void hold_open_by_many(void)
{
    int fd = unnamed_file();

    for (int i = 0; i < 5; i++) {
        if (dup(fd) < 0)
            _exit(1);
        if (fork() == 0)
            for (;;)
                pause();
    }
}

static void hold_temporary(void)
{
    int fd = openat(work, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0644);

    if (fd < 0 || !fill(fd, 16))
        _exit(1);
}

static void hold_mapped(void)
{
    int fd = unnamed_file();

    if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
        _exit(1);
    close(fd);
}

static void hold_in_thread(void)
{
    pthread_t thread;

    unnamed_file();
    if (pthread_create(&thread, NULL, wait_on, NULL) == 0)
        pthread_exit(NULL);
    _exit(1);
}

static void *own_descriptors(void *arg)
{
    if (unshare(CLONE_FILES) < 0)
        _exit(1);
    unnamed_file();
    return wait_on(NULL);
}

static void hold_in_threads_own_table(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, own_descriptors, NULL) == 0)
        for (;;)
            pause();
    _exit(1);
}

static void hold_undumpable(void)
{
    unnamed_file();
    prctl(PR_SET_DUMPABLE, 0);
}

static void hold_nothing(void)
{
    close(unnamed_file());
}

/* A process that has ended cannot be looked into either; it holds nothing. */
static void hold_before_the_end(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        unnamed_file();
        _exit(0);
    }
    if (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0)
        _exit(1);
}

static void unlinking_is_no_escape(void **state)
{
    static const struct {
        const char *name;
        void (*hold)(void);
        uint64_t confirmed; /* with a neighbour's 32 MiB */
        uint64_t hidden;    /* for those who cannot look into everything */
    } cases[] = {
        {"open", hold_open, 16, 16},
        {"open by many", hold_open_by_many, 16, 16},
        {"never had a name", hold_temporary, 16, 16},
        {"mapped only", hold_mapped, 48, 48},
        {"first thread has ended", hold_in_thread, 16, 16},
        {"a thread's own", hold_in_threads_own_table, 16, 16},
        {"not dumpable", hold_undumpable, 16, 48},
        {"closed", hold_nothing, 0, 0},
        {"ended", hold_before_the_end, 0, 0},
    };

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char byte;

        print_message("# %s\n", cases[i].name);
        start(64 * MIB);
        make_file(other, "neighbour", 32);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            cases[i].hold();
            wait_on(NULL);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        is_about(confirm(i % 2 ? NO_BUDGET : BUDGET),
                 geteuid() == 0 ? cases[i].confirmed : cases[i].hidden);
        kill(-1, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0)
            ;
        growth_free(growth);
        growth = NULL;
        assert_int_equal(unlinkat(other, "neighbour", 0), 0);
    }
    close(ready[0]);
    close(ready[1]);
}

/* It cannot be looked into and need not be; the next moment it may be a command. */
static void a_process_of_ours_hides_nothing(void **state)
{
    static const uint64_t nobody =
        32; /* MiB: all of delta, for those who cannot look into everything */
    static pid_t spare;
    char byte;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    start(64 * MIB);
    make_file(other, "neighbour", 32);
    spare = fork();
    assert_true(spare >= 0);
    if (spare == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        wait_on(NULL);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    growth_set_proc(growth, pidns_proc, &spare);
    is_about(confirm(BUDGET), 0);
    spare = 0;
    is_about(confirm(BUDGET), geteuid() == 0 ? 0 : nobody);
    close(ready[0]);
    close(ready[1]);
}

/* Past the limit a walk ends, unless it is to be compared with another. */
static void what_is_found_can_be_compared(void **state)
{
    start(4 * MIB);
    for (char name[] = "a/file"; name[0] <= 'd'; name[0]++) {
        const char dir[] = {name[0], '\0'};
        assert_int_equal(mkdirat(work, dir, 0755), 0);
        make_file(work, name, 4);
    }
    confirm(NO_BUDGET);
    assert_true(growth_found(growth) < 16 * MIB);
    growth_set_thorough(growth, true);
    confirm(NO_BUDGET);
    uint64_t found = growth_found(growth);
    is_about(found, 16);
    make_file(other, "neighbour", 32);
    confirm(NO_BUDGET);
    assert_int_equal(growth_found(growth), found);
    assert_int_equal(unlinkat(work, "a/file", 0), 0);
    confirm(NO_BUDGET);
    is_about(growth_found(growth), 12);
}

static void without_proc_delta_counts(void **state)
{
    start(64 * MIB);
    growth_set_proc(growth, -1, NULL);
    make_file(other, "neighbour", 32);
    is_about(confirm(BUDGET), 32);
}

/* Root here, or in a user namespace of one's own: file modes hold for us with this off. */
static void set_override(bool on)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2] = {0};
    const uint32_t override = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;

    assert_int_equal(syscall(SYS_capget, &header, caps), 0);
    caps[0].effective = on ? caps[0].permitted : caps[0].effective & ~override;
    assert_int_equal(syscall(SYS_capset, &header, caps), 0);
}

/* Who closes a directory hides what is in it; what was closed before was closed to the run. */
static void closed_directories(void **state)
{
    static const struct {
        mode_t mode;
        time_t later_s;
        uint64_t confirmed; /* with a neighbour's 32 MiB */
    } cases[] = {
        {0755, 0, 0},  {0000, 0, 32},
        {0000, 10, 0}, {0300, 10, 32}, /* not to be listed, but to be entered */
        {0500, 10, 0}, {0400, 0, 32},  /* to be listed, but not to be entered */
        {0400, 10, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(mkdirat(work, "dir", 0755), 0);
        assert_int_equal(mkdirat(work, "dir/below", 0755), 0);
        begin_later_s = cases[i].later_s;
        start(64 * MIB);
        assert_int_equal(fchmodat(work, "dir", cases[i].mode, 0), 0);
        make_file(other, "neighbour", 32);
        set_override(false);
        uint64_t bytes = confirm(BUDGET);
        set_override(true);
        is_about(bytes, cases[i].confirmed);
        assert_int_equal(teardown(NULL), 0);
        assert_int_equal(setup(NULL), 0);
    }
}

/* ---- Trees ---- */

/* Deeper than any path can name. Leaves a descriptor of the last. */
static int dig(int depth)
{
    int dir = dup(work);

    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(dir, "d", 0755), 0);
        int next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(dir);
        dir = next;
    }
    return dir;
}

static void bury(int dir, int depth)
{
    for (int i = 0; i < depth; i++) {
        int up = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(dir);
        assert_int_equal(unlinkat(up, "z", 0), 0);
        assert_int_equal(unlinkat(up, "d", AT_REMOVEDIR), 0);
        dir = up;
    }
    close(dir);
}

static void deep_trees_are_walked(void **state)
{
    enum { DEPTH = 2000 };
    int fds = open_fds();

    start(64 * MIB);
    fd_auto int bottom = dig(DEPTH);

    /* In every directory a file that is listed after the way down, or before it. */
    int dir = dup(bottom);
    for (int i = 0; i < DEPTH; i++) {
        int up = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(dir);
        dir = up;
        fd_auto int file = openat(dir, "z", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_int_equal(write(file, "x", 1), 1);
    }
    close(dir);
    make_file(bottom, "a", 8);
    make_file(other, "neighbour", 32);
    uint64_t bytes = 0;
    for (int r = 0; r == 0;) {
        r = growth_step(growth, NO_BUDGET, &bytes);
        assert_true(r >= 0);
        assert_true(open_fds() < fds + 40);
    }
    /* 8 MiB, 2000 pages, and what 4000 inodes take: found to the last. */
    uint64_t want = 8 * MIB + DEPTH * 4096 + 2 * DEPTH * 1024;
    if (bytes < want || bytes > want + 64 * 1024)
        fail_msg("%llu instead of %llu", (unsigned long long)bytes, (unsigned long long)want);
    assert_int_equal(unlinkat(bottom, "a", 0), 0);
    bury(fd_take(&bottom), DEPTH);
}

/* A directory that is moved while the walk is below it: it cannot be found again by "..". */
static void moving_a_tree_is_no_escape(void **state)
{
    enum { DEPTH = 100 };
    fd_auto int bottom = dig(DEPTH);
    uint64_t bytes = 0;

    start(64 * MIB);
    make_file(other, "neighbour", 32);
    /* To the bottom: each level takes a few small steps. */
    for (int i = 0; i < 2 * DEPTH; i++)
        assert_int_equal(growth_step(growth, NO_BUDGET, &bytes), 0);
    /* Take the last twenty levels away. */
    int dir = dup(bottom);
    for (int i = 0; i < 21; i++) {
        int up = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(dir);
        dir = up;
    }
    assert_int_equal(renameat(dir, "d", work, "moved"), 0);
    close(dir);
    is_about(confirm(NO_BUDGET), 32);
}

static void directories_in_each_other_count_once(void **state)
{
    assert_int_equal(mkdirat(work, "sub", 0755), 0);
    fd_auto int sub = openat(work, "sub", O_PATH | O_CLOEXEC);
    start(64 * MIB);
    assert_int_equal(growth_add(growth, sub), 0);
    assert_int_equal(growth_add(growth, sub), 0);
    assert_int_equal(growth_add(growth, work), 0);
    make_file(work, "sub/a", 4);
    make_file(work, "b", 2);
    make_file(other, "neighbour", 32);
    is_about(confirm(BUDGET), 6);
}

static void one_file_can_be_writable(void **state)
{
    uint64_t bytes = 0;

    make_file(work, "file", 0);
    make_file(other, "new", 0);
    fd_auto int fd = openat(work, "file", O_PATH | O_CLOEXEC);
    assert_int_equal(growth_new(4 * MIB, &arena, &growth), 0);
    assert_int_equal(growth_add(growth, fd), 0);
    growth_set_proc(growth, pidns_proc, NULL);
    make_file(work, "file", 5);
    make_file(work, "beside", 32);
    assert_int_equal(growth_measure(growth, &bytes), 1);
    is_about(confirm(BUDGET), 5);
}

/* Another file system in the tree is not part of it. */
static void mounts_are_not_crossed(void **state)
{
    assert_int_equal(mkdirat(work, "mount", 0755), 0);
    assert_int_equal(mount("tmpfs", PIDNS_TMPFS "/work/mount", "tmpfs", 0, "size=64m"), 0);
    start(64 * MIB);
    make_file(work, "mount/a", 8);
    make_file(work, "b", 2);
    make_file(other, "neighbour", 32);
    is_about(confirm(BUDGET), 2);
    /* Added, it counts by itself. */
    fd_auto int fd = openat(work, "mount", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(growth_add(growth, fd), 0);
    make_file(work, "mount/c", 4);
    uint64_t bytes = 0;
    assert_int_equal(growth_measure(growth, &bytes), 0);
    is_about(bytes, 6);
    fd_close(&fd);
    growth_free(growth);
    growth = NULL;
    assert_int_equal(umount2(PIDNS_TMPFS "/work/mount", MNT_DETACH), 0);
}

/* More links than are remembered: found is too large, never too small, and delta bounds it. */
static void more_links_than_are_remembered(void **state)
{
    enum { FILES = 9000 };
    char name[16];

    assert_int_equal(mkdirat(work, "links", 0755), 0);
    fd_auto int links = openat(work, "links", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    start(200 * MIB);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "%d", i);
        fd_auto int fd = openat(work, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_int_equal(write(fd, "x", 1), 1);
        assert_int_equal(linkat(work, name, links, name, 0), 0);
    }
    uint64_t bytes = confirm(BUDGET);
    assert_true(bytes >= FILES * 4096ULL && bytes < FILES * 4096ULL + MIB);
}

static void no_limit_is_never_confirmed(void **state)
{
    uint64_t bytes = 0;

    start(NUM_NO_LIMIT);
    make_file(work, "a", 8);
    assert_int_equal(growth_measure(growth, &bytes), 0);
    is_about(bytes, 8);
    assert_int_equal(unlinkat(work, "a", 0), 0);
    assert_int_equal(growth_measure(growth, &bytes), 0);
    assert_true(bytes < MIB);
    assert_int_equal(growth_add(growth, 1 << 20), -EBADF);
}

static int run(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(growth_is_found),
        TEST(what_is_old_is_not_found),
        TEST(a_neighbour_is_walked_for_once),
        TEST(unlinking_is_no_escape),
        TEST(a_process_of_ours_hides_nothing),
        TEST(what_is_found_can_be_compared),
        TEST(without_proc_delta_counts),
        TEST(closed_directories),
        TEST(deep_trees_are_walked),
        TEST(moving_a_tree_is_no_escape),
        TEST(directories_in_each_other_count_once),
        TEST(one_file_can_be_writable),
        TEST(mounts_are_not_crossed),
        TEST(more_links_than_are_remembered),
        TEST(no_limit_is_never_confirmed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return pidns_run(run);
}
