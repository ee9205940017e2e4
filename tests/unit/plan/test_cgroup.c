/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../scratch.h"

#define NO NUM_NO_LIMIT

static uint64_t cpus_milli(void)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    return (uint64_t)CPU_COUNT(&set) * 1000;
}

static void close_groups(struct plan *plan)
{
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        fd_close(&plan->cgroup.parent[i]);
    if (plan->cgroup.unit)
        fd_close(&plan->cgroup.manager);
}

static int run(struct plan_limits limits, struct plan *ret, struct hutch_error *err)
{
    struct policy policy;

    policy_init(&policy);
    policy.values[POLICY_CPUS].origin = "--cpus";
    *ret = (struct plan){.limits = limits};
    ret->limits.host_cpus_milli = cpus_milli();
    int r = plan_pass_cgroup(&policy, ret, err);
    policy_clear(&policy);
    return r;
}

static void no_limit_needs_no_group(void **state)
{
    struct plan plan;
    struct plan_limits limits = {
        .memory_bytes = NO, .processes = NO, .cpu_time_ms = NO, .cpus_milli = NO};
    int before = open_fds();

    assert_int_equal(run(limits, &plan, NULL), 0);
    assert_int_equal(plan.cgroup.version, 0);
    assert_int_equal(plan.limits.memory_means, MEANS_NONE);
    assert_int_equal(plan.limits.processes_means, MEANS_NONE);
    assert_int_equal(plan.limits.cpu_time_means, MEANS_NONE);
    assert_int_equal(plan.limits.cpus_means, MEANS_NONE);
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        assert_int_equal(plan.cgroup.parent[i], -1);
    /* As many as there are: nothing has to be done for it. */
    limits.cpus_milli = cpus_milli();
    assert_int_equal(run(limits, &plan, NULL), 0);
    assert_int_equal(plan.cgroup.version, 0);
    assert_int_equal(plan.limits.cpus_means, MEANS_HOST);
    limits.cpus_milli = 1U << 30;
    assert_int_equal(run(limits, &plan, NULL), 0);
    assert_int_equal(plan.limits.cpus_means, MEANS_HOST);
    assert_int_equal(open_fds(), before);
}

/* Whatever the host has: a limit is kept by a group exactly when there is a place for one. */
static void means_and_places_agree(void **state)
{
    static const struct plan_limits cases[] = {
        {.memory_bytes = 1 << 20, .processes = NO, .cpu_time_ms = NO, .cpus_milli = NO},
        {.memory_bytes = NO, .processes = 5, .cpu_time_ms = NO, .cpus_milli = NO},
        {.memory_bytes = NO, .processes = NO, .cpu_time_ms = 100, .cpus_milli = NO},
        {.memory_bytes = 1 << 20, .processes = 5, .cpu_time_ms = 100, .cpus_milli = NO},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan;
        struct hutch_error err = {0};
        int before = open_fds();

        if (run(cases[i], &plan, &err) < 0)
            fail_msg("case %zu: %s", i, err.msg);
        const struct {
            enum plan_controller controller;
            bool limited;
            enum plan_means means;
        } rows[] = {
            {CONTROLLER_MEMORY, cases[i].memory_bytes != NO, plan.limits.memory_means},
            {CONTROLLER_PIDS, cases[i].processes != NO, plan.limits.processes_means},
            {CONTROLLER_CPUACCT, cases[i].cpu_time_ms != NO, plan.limits.cpu_time_means},
        };
        bool v2 = plan.cgroup.version == 2;
        assert_int_equal(plan.cgroup.version > 0, plan.cgroup.lack == CGROUP_LACKS_NOTHING);
        for (size_t j = 0; j < ARRAY_LEN(rows); j++) {
            int parent = plan.cgroup.parent[v2 ? 0 : rows[j].controller];
            assert_int_equal(rows[j].means == MEANS_NONE, !rows[j].limited);
            if (rows[j].means == MEANS_CGROUP)
                assert_true(plan.cgroup.version > 0 && (parent >= 0 || plan.cgroup.unit));
            else if (!v2)
                assert_int_equal(parent, -1);
        }
        assert_int_equal(plan.cgroup.parent[CONTROLLER_CPU], -1);
        close_groups(&plan);
        assert_int_equal(open_fds(), before);
    }
}

/* In a child of its own: without /sys/fs/cgroup there is nothing to make groups in. */
static int without_groups(void)
{
    struct plan plan;
    struct hutch_error err = {0};
    struct plan_limits limits = {
        .memory_bytes = 1 << 20, .processes = 5, .cpu_time_ms = 100, .cpus_milli = 1000};
    cpu_set_t two;

    CPU_ZERO(&two);
    CPU_SET(0, &two);
    CPU_SET(1, &two);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
        mount("none", "/sys/fs/cgroup", "tmpfs", 0, NULL) < 0 ||
        sched_setaffinity(0, sizeof(two), &two) < 0)
        return 77;
    if (run(limits, &plan, &err) < 0 || plan.cgroup.version != 0 ||
        plan.cgroup.lack != CGROUP_LACKS_HIERARCHY)
        return 1;
    if (plan.limits.memory_means != MEANS_SAMPLED || plan.limits.cpu_time_means != MEANS_SAMPLED)
        return 2;
    if (plan.limits.processes_means != MEANS_RLIMIT && plan.limits.processes_means != MEANS_SAMPLED)
        return 3;
    if (plan.limits.cpus_means != (cpus_milli() > 1000 ? MEANS_AFFINITY : MEANS_HOST))
        return 4;
    limits.cpus_milli = 500;
    if (run(limits, &plan, &err) != HUTCH_EUNSUPPORTED || !str_eq(err.where, "--cpus") ||
        !strstr(err.msg, "0.5 CPUs") || !strstr(err.msg, "whole") || !strstr(err.msg, "group"))
        return 5;
    return plan.cgroup.version == 0 ? 0 : 6;
}

static void what_is_left_without_groups(void **state)
{
    int r = as_nobody(without_groups);

    if (r == 77)
        SKIP("no user namespaces, or only one processor");
    assert_int_equal(r, 0);
}

static void cpus_by_a_group(void **state)
{
    struct plan plan;
    struct hutch_error err = {0};
    struct plan_limits limits = {
        .memory_bytes = NO, .processes = NO, .cpu_time_ms = NO, .cpus_milli = 500};

    if (run(limits, &plan, &err) == HUTCH_EUNSUPPORTED)
        SKIP("no group with the cpu controller that this user may write to");
    assert_int_equal(plan.limits.cpus_means, MEANS_CGROUP);
    assert_true(plan.cgroup.unit ||
                plan.cgroup.parent[plan.cgroup.version == 2 ? 0 : CONTROLLER_CPU] >= 0);
    close_groups(&plan);
}

/* ---- From systemd ---- */

#define SLICE "/sys/fs/cgroup/user.slice"

static bool made_slice; /* and did not find it: it may be the host's */

/* A file of the tree that stands for the user's own. */
static bool put(const char *path, const char *text)
{
    fd_auto int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* v2 as in a login session: a group that is root's, and a manager with these controllers. */
static bool log_in(const char *controllers)
{
    static const char service[] = SLICE "/user-23456.slice/user@23456.service";

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) < 0)
        return false;
    made_slice = mkdir(SLICE, 0755) == 0;
    if (mount("tmpfs", SLICE, "tmpfs", 0, "mode=755") < 0)
        return false;
    return mkdir(SLICE "/user-23456.slice", 0755) == 0 && mkdir(service, 0755) == 0 &&
           put(SLICE "/user-23456.slice/user@23456.service/cgroup.controllers", controllers);
}

static bool listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    fd_auto int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", at(path));
    return sock >= 0 && bind(sock, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static int ask_systemd(void)
{
    struct plan plan;
    struct plan_limits limits = {
        .memory_bytes = 1 << 20, .processes = 5, .cpu_time_ms = 100, .cpus_milli = NO};
    int before = open_fds();

    unsetenv("DBUS_SESSION_BUS_ADDRESS");
    setenv("XDG_RUNTIME_DIR", at("@/run"), 1);
    if (run(limits, &plan, NULL) < 0 || plan.cgroup.version != 0 ||
        plan.cgroup.lack != CGROUP_LACKS_MANAGER)
        return 1; /* nobody is there yet */
    if (mkdir(at("@/run/systemd"), 0700) < 0 || !listen_at("@/run/systemd/private"))
        return 99;
    if (run(limits, &plan, NULL) < 0 || plan.cgroup.version != 2 || !plan.cgroup.unit ||
        plan.cgroup.bus || plan.cgroup.manager < 0 || plan.cgroup.parent[0] != -1 ||
        plan.cgroup.lack != CGROUP_LACKS_NOTHING)
        return 2;
    if (plan.limits.memory_means != MEANS_CGROUP || plan.limits.cpu_time_means != MEANS_CGROUP ||
        plan.limits.processes_means == MEANS_CGROUP)
        return 3; /* systemd has no pids to give */
    close_groups(&plan);
    limits.memory_bytes = limits.cpu_time_ms = NO;
    if (run(limits, &plan, NULL) < 0 || plan.cgroup.version != 0 || plan.cgroup.unit ||
        plan.cgroup.lack != CGROUP_LACKS_CONTROLLERS)
        return 4; /* nothing would be kept by it */
    return open_fds() == before ? 0 : 5;
}

static void log_out(void)
{
    umount2(SLICE, MNT_DETACH);
    if (made_slice)
        rmdir(SLICE);
}

static int as_user(void)
{
    return as_nobody(ask_systemd);
}

static int in_session(int (*fn)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        int r = log_in("cpu memory\n") ? fn() : 77;
        log_out();
        _exit(r);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void systemd_has_groups_for_sessions(void **state)
{
    static const char *const tree[] = {"run/", NULL};

    if (geteuid() != 0)
        SKIP("only root can make a session");
    scratch_make(tree);
    assert_int_equal(chown(at("@/run"), 23456, 23456), 0);
    int r = in_session(as_user);
    /* Root needs none of it, and finds its own place at once. */
    int root = in_session(ask_systemd);
    scratch_remove(NULL);
    if (r == 77)
        SKIP("no second place for the v2 hierarchy");
    assert_int_equal(r, 0);
    assert_int_equal(root, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_limit_needs_no_group),         cmocka_unit_test(means_and_places_agree),
        cmocka_unit_test(what_is_left_without_groups),     cmocka_unit_test(cpus_by_a_group),
        cmocka_unit_test(systemd_has_groups_for_sessions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
