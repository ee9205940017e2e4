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
        for (size_t j = 0; j < ARRAY_LEN(rows); j++) {
            int parent = plan.cgroup.parent[v2 ? 0 : rows[j].controller];
            assert_int_equal(rows[j].means == MEANS_NONE, !rows[j].limited);
            if (rows[j].means == MEANS_CGROUP)
                assert_true(plan.cgroup.version > 0 && parent >= 0);
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
    if (run(limits, &plan, &err) < 0 || plan.cgroup.version != 0)
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
    assert_true(plan.cgroup.parent[plan.cgroup.version == 2 ? 0 : CONTROLLER_CPU] >= 0);
    close_groups(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_limit_needs_no_group),
        cmocka_unit_test(means_and_places_agree),
        cmocka_unit_test(what_is_left_without_groups),
        cmocka_unit_test(cpus_by_a_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
