/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/native/cgroup.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "../scratch.h"
#include "plan/passes.h"
#include "sys/cgroup.h"
#include "sys/clock.h"

#define NO NUM_NO_LIMIT
#define MEMORY (32U << 20)
#define UNKNOWN                                                                                    \
    {                                                                                              \
        .user_us = SANDBOX_UNKNOWN, .system_us = SANDBOX_UNKNOWN, .memory_bytes = SANDBOX_UNKNOWN, \
        .peak_memory_bytes = SANDBOX_UNKNOWN, .processes = SANDBOX_UNKNOWN,                        \
        .peak_processes = SANDBOX_UNKNOWN, .read_bytes = SANDBOX_UNKNOWN                           \
    }

static const struct plan_limits all_limits = {.host_swaps = true,
                                              .host_cpus_milli = 64000,
                                              .memory_bytes = MEMORY,
                                              .processes = 4,
                                              .cpu_time_ms = 1000,
                                              .cpus_milli = 500};

/* The groups of this host; false when it has none for us. */
static bool plan_here(struct plan_limits limits, struct plan *plan)
{
    struct policy policy;
    struct hutch_error err;

    policy_init(&policy);
    *plan = (struct plan){.limits = limits};
    snprintf(plan->id, sizeof(plan->id), "unit%012d", getpid());
    int r = plan_pass_cgroup(&policy, plan, &err);
    policy_clear(&policy);
    if (plan->cgroup.unit)
        fd_close(&plan->cgroup.manager); /* test_unit.c is about those */
    return r == 0 && !plan->cgroup.unit && plan->limits.memory_means == MEANS_CGROUP &&
           (plan->limits.processes_means == MEANS_CGROUP || plan->cgroup.version == 1) &&
           plan->limits.cpu_time_means == MEANS_CGROUP;
}

static void close_plan(struct plan *plan)
{
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        fd_close(&plan->cgroup.parent[i]);
}

#define SKIP_WITHOUT_GROUPS(limits, plan)                                                          \
    if (!plan_here(limits, plan)) {                                                                \
        close_plan(plan);                                                                          \
        SKIP("no groups that this user may write to");                                             \
    }

#define SKIP_WITHOUT_V1(limits, plan)                                                              \
    SKIP_WITHOUT_GROUPS(limits, plan)                                                              \
    if ((plan)->cgroup.version != 1) {                                                             \
        close_plan(plan);                                                                          \
        SKIP("v2 here");                                                                           \
    }

/* v2 has all in one place. */
static size_t at_of(const struct plan *plan, enum plan_controller controller)
{
    return plan->cgroup.version == 2 ? 0 : controller;
}

static bool exists(const struct plan *plan, size_t i, const char *name)
{
    return faccessat(plan->cgroup.parent[i], name, F_OK, 0) == 0;
}

static void assert_file(int dir, const char *file, const char *want)
{
    char text[256];
    fd_auto int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0 && sys_cgroup_read(fd, text, sizeof(text)) >= 0);
    assert_string_equal(text, want);
}

static pid_t clone_into(int group)
{
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
            set_tid_size, cgroup;
    } args = {.flags = 0x200000000ULL /* CLONE_INTO_CGROUP */,
              .exit_signal = SIGCHLD,
              .cgroup = (uint64_t)group};

    return (pid_t)syscall(435 /* clone3 */, &args, sizeof(args));
}

/* fn in a process that has joined, or below one that stands for init; returns its wait status. */
static int inside(const struct native_cgroup *cgroup, void (*fn)(void))
{
    int fds[CONTROLLER_COUNT];
    int status = -1;
    int group = native_cgroup_clone_fd(cgroup);
    int count = native_cgroup_join_fds(cgroup, fds, NULL);
    pid_t init = group >= 0 ? clone_into(group) : 0;

    if (init > 0) {
        assert_int_equal(waitpid(init, &status, 0), init);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status) >= 128 ? WEXITSTATUS(status) - 128 : status;
    }
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < count; i++)
            if (sys_cgroup_join(fds[i]) < 0)
                _exit(99);
        fn();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    if (group >= 0)
        _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    for (int i = 0; i < count; i++)
        close(fds[i]);
    return status;
}

/* The kernel may need a moment after the last exit. */
static void remove_group(struct native_cgroup *cgroup)
{
    int r = native_cgroup_remove(cgroup);

    for (int i = 0; r == -EBUSY && i < 100; i++) {
        usleep(1000);
        r = native_cgroup_remove(cgroup);
    }
    assert_int_equal(r, 0);
}

static void no_group_is_nothing_to_do(void **state)
{
    struct native_cgroup cgroup;
    struct plan plan = {0};
    struct sandbox_usage usage = UNKNOWN;
    int fds[CONTROLLER_COUNT];

    assert_int_equal(native_cgroup_make(&cgroup, &plan, NULL), 0);
    assert_int_equal(native_cgroup_clone_fd(&cgroup), -1);
    assert_int_equal(native_cgroup_join_fds(&cgroup, fds, NULL), 0);
    assert_int_equal(native_cgroup_measure(&cgroup, false, &usage), 0);
    assert_true(usage.user_us == SANDBOX_UNKNOWN);
    assert_int_equal(native_cgroup_remove(&cgroup), 0);
    native_cgroup_sweep(&cgroup);
    native_cgroup_clear(&cgroup);
    native_cgroup_clear(&cgroup);
}

static void limits_are_written(void **state)
{
    static const struct {
        int version;
        enum plan_controller controller;
        const char *file;
        const char *want;
    } rows[] = {
        {1, CONTROLLER_MEMORY, "memory.limit_in_bytes", "33554432\n"},
        {1, CONTROLLER_PIDS, "pids.max", "4\n"},
        {1, CONTROLLER_CPU, "cpu.cfs_period_us", "100000\n"},
        {1, CONTROLLER_CPU, "cpu.cfs_quota_us", "50000\n"},
        {2, CONTROLLER_MEMORY, "memory.max", "33554432\n"},
        {2, CONTROLLER_MEMORY, "memory.oom.group", "0\n"},
        {2, CONTROLLER_PIDS, "pids.max", "5\n"},
        {2, CONTROLLER_CPU, "cpu.max", "50000 100000\n"},
    };
    struct plan plan;
    struct native_cgroup cgroup;
    struct hutch_error err = {0};
    int before = open_fds();

    SKIP_WITHOUT_GROUPS(all_limits, &plan);
    if (native_cgroup_make(&cgroup, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(cgroup.name + strlen("hutch-"), plan.id);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].version == plan.cgroup.version &&
            cgroup.dir[at_of(&plan, rows[i].controller)] >= 0)
            assert_file(cgroup.dir[at_of(&plan, rows[i].controller)], rows[i].file, rows[i].want);
    int memory = cgroup.dir[CONTROLLER_MEMORY];
    if (faccessat(memory, "memory.memsw.limit_in_bytes", F_OK, 0) == 0)
        assert_file(memory, "memory.memsw.limit_in_bytes", "33554432\n");
    else if (plan.cgroup.version == 1)
        assert_file(memory, "memory.swappiness", "0\n");
    else if (faccessat(memory, "memory.swap.max", F_OK, 0) == 0)
        assert_file(memory, "memory.swap.max", "0\n");

    char name[NATIVE_CGROUP_NAME_MAX];
    strcpy(name, cgroup.name);
    native_cgroup_clear(&cgroup);
    assert_false(exists(&plan, CONTROLLER_MEMORY, name));
    assert_false(exists(&plan, at_of(&plan, CONTROLLER_PIDS), name));
    close_plan(&plan);
    assert_int_equal(open_fds(), before);
}

/* v2 is cloned into, v1 is joined. */
static void one_way_in(void **state)
{
    struct plan plan;
    struct native_cgroup cgroup;
    struct hutch_error err = {0};
    int fds[CONTROLLER_COUNT];

    SKIP_WITHOUT_GROUPS(all_limits, &plan);
    assert_int_equal(native_cgroup_make(&cgroup, &plan, &err), 0);
    int count = native_cgroup_join_fds(&cgroup, fds, &err);
    if (plan.cgroup.version == 2) {
        assert_int_equal(count, 0);
        assert_true(native_cgroup_clone_fd(&cgroup) >= 0);
    } else {
        assert_true(count >= 1 && count <= CONTROLLER_COUNT);
        assert_int_equal(native_cgroup_clone_fd(&cgroup), -1);
    }
    for (int i = 0; i < count; i++) {
        assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
        close(fds[i]);
    }
    /* A second sandbox of that name would be another one's. */
    struct native_cgroup second;
    assert_int_equal(native_cgroup_make(&second, &plan, &err), HUTCH_ESYSTEM);
    assert_int_equal(err.sys_errno, EEXIST);
    assert_true(exists(&plan, CONTROLLER_MEMORY, cgroup.name));
    native_cgroup_clear(&cgroup);
    close_plan(&plan);
}

/* Shares that are less than a millisecond of the usual period, and more processes than can be. */
static void numbers_at_the_edge(void **state)
{
    struct plan_limits limits = all_limits;
    struct plan plan;
    struct native_cgroup cgroup;
    struct hutch_error err = {0};

    limits.cpus_milli = 1;
    limits.processes = NO - 1;
    SKIP_WITHOUT_GROUPS(limits, &plan);
    if (native_cgroup_make(&cgroup, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    if (plan.limits.processes_means == MEANS_CGROUP)
        assert_file(cgroup.dir[at_of(&plan, CONTROLLER_PIDS)], "pids.max", "4194304\n");
    if (plan.limits.cpus_means == MEANS_CGROUP && plan.cgroup.version == 2) {
        assert_file(cgroup.dir[0], "cpu.max", "1000 1000000\n");
    } else if (plan.limits.cpus_means == MEANS_CGROUP) {
        assert_file(cgroup.dir[CONTROLLER_CPU], "cpu.cfs_period_us", "1000000\n");
        assert_file(cgroup.dir[CONTROLLER_CPU], "cpu.cfs_quota_us", "1000\n");
    }
    native_cgroup_clear(&cgroup);
    close_plan(&plan);
}

/* ---- Measuring ---- */

static int count_processes(int dir)
{
    char text[1024] = "";
    int count = 0;
    fd_auto int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && sys_cgroup_read(fd, text, sizeof(text)) >= 0)
        for (const char *at = text; *at; at++)
            count += *at == '\n';
    return count;
}

/* From now on: what was used before the group was joined is not counted. */
static void spin(void)
{
    uint64_t end = sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 100000000;

    while (sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
        ;
}

static void touch_memory(void)
{
    size_t size = 16U << 20;
    char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (data == MAP_FAILED)
        _exit(1);
    memset(data, 1, size);
}

static void use_all_memory(void)
{
    size_t size = 2 * (size_t)MEMORY;
    char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (data == MAP_FAILED)
        _exit(1);
    memset(data, 1, size);
}

/* Three more are allowed. The last one is told what to do when it cannot have it. */
static void fork_too_often(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid < 0)
            _exit(2);
        if (pid == 0)
            for (;;)
                pause();
    }
    if (fork() >= 0 || errno != EAGAIN)
        _exit(3);
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
}

static void fork_in_own_group(void)
{
    setpgid(0, 0);
    fork_too_often();
}

static void usage_is_measured(void **state)
{
    struct plan plan;
    struct native_cgroup cgroup;
    struct sandbox_usage usage = UNKNOWN;
    struct plan_limits limits = all_limits;
    struct hutch_error err = {0};
    int before = open_fds();

    limits.cpus_milli = NO;
    SKIP_WITHOUT_GROUPS(limits, &plan);
    if (native_cgroup_make(&cgroup, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    /* In v1 the group that counts CPU time comes later; there is nobody to move into it yet. */
    int later = cgroup.later;
    assert_int_equal(native_cgroup_complete(&cgroup), later);
    assert_int_equal(native_cgroup_complete(&cgroup), 0);
    assert_int_equal(native_cgroup_measure(&cgroup, false, &usage), 0);
    assert_int_equal(usage.user_us + usage.system_us, 0);
    bool counted = plan.limits.processes_means == MEANS_CGROUP;
    assert_true(usage.processes == (counted ? 0 : SANDBOX_UNKNOWN));
    assert_false(usage.memory_kills || usage.process_refusals);

    assert_int_equal(inside(&cgroup, spin), 0);
    assert_int_equal(native_cgroup_measure(&cgroup, false, &usage), 0);
    assert_true(usage.user_us + usage.system_us >= 100000);
    assert_true(usage.user_us + usage.system_us < 120000);

    assert_int_equal(inside(&cgroup, touch_memory), 0);
    assert_int_equal(native_cgroup_measure(&cgroup, false, &usage), 0);
    assert_true(usage.peak_memory_bytes >= 16U << 20);
    assert_true(usage.peak_memory_bytes < 18U << 20);
    assert_true(usage.memory_bytes < 4U << 20);
    assert_false(usage.memory_kills || usage.process_refusals);

    if (counted) {
        assert_int_equal(inside(&cgroup, fork_in_own_group), 0);
        assert_int_equal(native_cgroup_measure(&cgroup, false, &usage), 0);
        assert_true(usage.process_refusals && !usage.memory_kills);
        if (usage.peak_processes != SANDBOX_UNKNOWN)
            assert_int_equal(usage.peak_processes, 4);
    }

    assert_int_equal(WTERMSIG(inside(&cgroup, use_all_memory)), SIGKILL);
    assert_int_equal(native_cgroup_measure(&cgroup, false, &usage), 0);
    assert_true(usage.memory_kills);
    assert_true(usage.peak_memory_bytes <= MEMORY);

    remove_group(&cgroup);
    /* Then it knows nothing more, and says so. */
    assert_int_equal(native_cgroup_measure(&cgroup, false, &usage), -ENODEV);
    native_cgroup_clear(&cgroup);
    close_plan(&plan);
    assert_int_equal(open_fds(), before);
}

/* Who runs already is moved, and what it uses from then on is counted. */
static void a_late_group_takes_all_in(void **state)
{
    struct plan plan;
    struct native_cgroup cgroup;
    struct sandbox_usage usage = UNKNOWN;
    struct plan_limits limits = all_limits;
    int fds[CONTROLLER_COUNT];
    int go[2];
    char byte;

    limits.cpus_milli = NO;
    SKIP_WITHOUT_V1(limits, &plan);
    assert_int_equal(native_cgroup_make(&cgroup, &plan, NULL), 0);
    if (!cgroup.later) {
        native_cgroup_clear(&cgroup);
        close_plan(&plan);
        skip(); /* the two controllers are mounted together */
    }
    int count = native_cgroup_join_fds(&cgroup, fds, NULL);
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < count; i++)
            if (sys_cgroup_join(fds[i]) < 0)
                _exit(1);
        close(go[1]);
        pid_t child = fork(); /* two of them, and each spins when it is told */
        if (read(go[0], &byte, 1) != 0)
            _exit(1);
        spin();
        if (child > 0)
            waitpid(child, NULL, 0);
        _exit(0);
    }
    close(go[0]);
    /* Until both are there. */
    do
        assert_int_equal(native_cgroup_complete(&cgroup) < 0, 0);
    while (count_processes(cgroup.dir[CONTROLLER_CPUACCT]) < 2 && (cgroup.later = true));
    assert_false(cgroup.later);
    close(go[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(native_cgroup_measure(&cgroup, false, &usage), 0);
    assert_true(usage.user_us + usage.system_us >= 180000); /* the last tick may be missing */
    for (int i = 0; i < count; i++)
        close(fds[i]);
    remove_group(&cgroup);
    native_cgroup_clear(&cgroup);
    close_plan(&plan);
}

/* ---- Faults ---- */

static void nothing_is_left_of_a_failure(void **state)
{
    struct plan plan;
    struct native_cgroup cgroup;
    struct hutch_error err = {0};
    char name[32];
    int before = open_fds();

    SKIP_WITHOUT_V1(all_limits, &plan);
    snprintf(name, sizeof(name), "hutch-%s", plan.id);
    /* Two hierarchies in each other's place: the group is made, and has not the file. */
    int memory = plan.cgroup.parent[CONTROLLER_MEMORY];
    plan.cgroup.parent[CONTROLLER_MEMORY] = plan.cgroup.parent[CONTROLLER_CPU];
    plan.cgroup.parent[CONTROLLER_CPU] = memory;
    assert_int_equal(native_cgroup_make(&cgroup, &plan, &err), HUTCH_ESYSTEM);
    assert_string_equal(err.where, "cgroup");
    assert_non_null(strstr(err.msg, "memory.limit_in_bytes"));
    assert_null(cgroup.where);
    assert_false(exists(&plan, CONTROLLER_MEMORY, name));
    assert_false(exists(&plan, CONTROLLER_CPU, name));
    close_plan(&plan);
    assert_int_equal(open_fds(), before);
}

static void a_parent_that_vanished(void **state)
{
    struct plan plan;
    struct native_cgroup cgroup;
    struct hutch_error err = {0};
    char name[32];

    SKIP_WITHOUT_V1(all_limits, &plan);
    snprintf(name, sizeof(name), "hutch-unit-gone-%d", getpid());
    fd_auto int parent = fd_take(&plan.cgroup.parent[CONTROLLER_CPU]);
    assert_int_equal(sys_cgroup_make(parent, name), 0);
    plan.cgroup.parent[CONTROLLER_CPU] = sys_cgroup_open(parent, name);
    assert_int_equal(sys_cgroup_remove(parent, name), 0);
    assert_int_equal(native_cgroup_make(&cgroup, &plan, &err), HUTCH_ESYSTEM);
    assert_non_null(strstr(err.msg, "(cpu)"));
    assert_non_null(strstr(err.msg, "is gone"));
    snprintf(name, sizeof(name), "hutch-%s", plan.id);
    assert_false(exists(&plan, CONTROLLER_MEMORY, name));
    close_plan(&plan);
}

static void a_busy_group_stays(void **state)
{
    struct plan plan;
    struct native_cgroup cgroup;
    int fds[CONTROLLER_COUNT];
    int ready[2];
    char byte;

    SKIP_WITHOUT_V1(all_limits, &plan);
    assert_int_equal(native_cgroup_make(&cgroup, &plan, NULL), 0);
    int count = native_cgroup_join_fds(&cgroup, fds, NULL);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < count; i++)
            if (sys_cgroup_join(fds[i]) < 0)
                _exit(1);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    for (int i = 0; i < count; i++)
        close(fds[i]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_int_equal(native_cgroup_remove(&cgroup), -EBUSY);
    assert_true(exists(&plan, CONTROLLER_MEMORY, cgroup.name));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    remove_group(&cgroup);
    native_cgroup_clear(&cgroup);
    close_plan(&plan);
}

/* ---- v2, with whatever controllers it has here ---- */

static int open_v2(void)
{
    fd_auto int dir = open("/sys/fs/cgroup/unified", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        dir = sys_cgroup_root();
    if (dir < 0 || sys_cgroup_version(dir) != 2 || sys_cgroup_may_make(dir) < 0)
        return -1;
    return fd_take(&dir);
}

static void a_v2_group(void **state)
{
    struct plan plan = {.cgroup = {.version = 2, .parent = {open_v2(), -1, -1, -1}},
                        .limits = {.memory_bytes = MEMORY, .memory_means = MEANS_NONE}};
    struct native_cgroup cgroup;
    struct hutch_error err = {0};
    struct sandbox_usage usage = UNKNOWN;
    int fds[CONTROLLER_COUNT];
    int status = -1;

    if (plan.cgroup.parent[0] < 0)
        SKIP("no v2 group that this user may write to");
    snprintf(plan.id, sizeof(plan.id), "unit%012d", getpid());
    if (native_cgroup_make(&cgroup, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(native_cgroup_join_fds(&cgroup, fds, &err), 0);
    pid_t pid = clone_into(native_cgroup_clone_fd(&cgroup));
    if (pid == 0) {
        spin();
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    for (int i = 0; i < 500 && (i == 0 || usage.user_us + usage.system_us < 100000); i++) {
        usleep(10000);
        assert_int_equal(native_cgroup_measure(&cgroup, false, &usage), 0);
    }
    assert_true(usage.user_us + usage.system_us >= 100000);
    assert_int_equal(native_cgroup_remove(&cgroup), -EBUSY);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    remove_group(&cgroup);
    native_cgroup_clear(&cgroup);
    close_plan(&plan);
}

/* A plan that was made before the controller went away. */
static void a_v2_group_without_its_controller(void **state)
{
    struct plan plan = {.cgroup = {.version = 2, .parent = {open_v2(), -1, -1, -1}},
                        .limits = {.memory_bytes = MEMORY, .memory_means = MEANS_CGROUP}};
    struct native_cgroup cgroup;
    struct hutch_error err = {0};
    char text[512];

    if (plan.cgroup.parent[0] < 0)
        SKIP("no v2 group that this user may write to");
    fd_auto int list = openat(plan.cgroup.parent[0], "cgroup.controllers", O_RDONLY | O_CLOEXEC);
    assert_true(sys_cgroup_read(list, text, sizeof(text)) >= 0);
    if (strstr(text, "memory")) {
        close_plan(&plan);
        SKIP("v2 has the memory controller here");
    }
    snprintf(plan.id, sizeof(plan.id), "unit%012d", getpid());
    assert_int_equal(native_cgroup_make(&cgroup, &plan, &err), HUTCH_ESYSTEM);
    assert_non_null(strstr(err.msg, "memory.max"));
    snprintf(text, sizeof(text), "hutch-%s", plan.id);
    assert_false(exists(&plan, 0, text));
    close_plan(&plan);
}

/* ---- Sweeping ---- */

/* Only what has our kind of name, no owner and some age goes. */
static void only_what_was_left_is_swept(void **state)
{
    struct {
        const char *prefix; /* of a name with our pid in it */
        bool locked;
        bool old;
        bool stays;
        int fd;
        char name[32];
    } rows[] = {
        {"hutch-swept000", false, true, false, -1}, {"hutch-locked00", true, true, true, -1},
        {"hutch-young000", false, false, true, -1}, {"hutch-longer000", false, true, true, -1},
        {"hutch-UPPER000", false, true, true, -1},  {"other-swept000", false, true, true, -1},
    };
    struct plan plan;
    struct native_cgroup cgroup;

    SKIP_WITHOUT_GROUPS(all_limits, &plan);
    int parent = plan.cgroup.parent[at_of(&plan, CONTROLLER_MEMORY)];
    assert_int_equal(native_cgroup_make(&cgroup, &plan, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        snprintf(rows[i].name, sizeof(rows[i].name), "%s%08d", rows[i].prefix, getpid());
        assert_int_equal(sys_cgroup_make(parent, rows[i].name), 0);
        rows[i].fd = sys_cgroup_open(parent, rows[i].name);
        if (rows[i].locked)
            assert_int_equal(sys_cgroup_lock(rows[i].fd), 0);
        const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
        if (rows[i].old)
            assert_int_equal(futimens(rows[i].fd, times), 0);
    }
    for (int i = 0; i < 8;
         i++) /* one takes so many and no more, and others may have left some too */
        native_cgroup_sweep(&cgroup);
    bool stayed[ARRAY_LEN(rows)];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        stayed[i] = exists(&plan, at_of(&plan, CONTROLLER_MEMORY), rows[i].name);
        close(rows[i].fd);
        if (stayed[i])
            sys_cgroup_remove(parent, rows[i].name);
    }
    assert_true(exists(&plan, at_of(&plan, CONTROLLER_MEMORY), cgroup.name));
    native_cgroup_clear(&cgroup);
    close_plan(&plan);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (stayed[i] != rows[i].stays)
            fail_msg("%s %s", rows[i].name, stayed[i] ? "stayed" : "was swept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_group_is_nothing_to_do),
        cmocka_unit_test(limits_are_written),
        cmocka_unit_test(one_way_in),
        cmocka_unit_test(numbers_at_the_edge),
        cmocka_unit_test(usage_is_measured),
        cmocka_unit_test(a_late_group_takes_all_in),
        cmocka_unit_test(nothing_is_left_of_a_failure),
        cmocka_unit_test(a_parent_that_vanished),
        cmocka_unit_test(a_busy_group_stays),
        cmocka_unit_test(a_v2_group),
        cmocka_unit_test(a_v2_group_without_its_controller),
        cmocka_unit_test(only_what_was_left_is_swept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
