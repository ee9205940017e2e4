/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/plan.h"

#include "base/num.h"
#include "base/str.h"
#include "sys/landlock.h"

/* A host with everything. */
static struct plan best(void)
{
    return (struct plan){
        .landlock_abi = SYS_LANDLOCK_NEWEST,
        .cgroup = {.version = 2},
        .limits =
            {
                .timeout_ms = 1,
                .output_bytes = 1,
                .open_files = 1,
                .file_size_bytes = 1,
                .cpu_time_ms = 1,
                .cpus_milli = 500,
                .memory_bytes = 1,
                .disk_bytes = 1,
                .processes = 1,
                .cpu_time_means = MEANS_CGROUP,
                .cpus_means = MEANS_CGROUP,
                .memory_means = MEANS_CGROUP,
                .disk_means = MEANS_TMPFS,
                .processes_means = MEANS_CGROUP,
            },
    };
}

/* One line, without a full stop; NULL is nothing. */
static void check_text(const char *text, const char *part)
{
    assert_int_equal(!text, !part);
    if (!text)
        return;
    assert_true(text[0] && !strchr(text, '\n') && text[strlen(text) - 1] != '.');
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static void check(const struct plan *plan, const char *fact, enum hutch_host_state state,
                  const char *reason, const char *help)
{
    struct plan_remark remark = plan_remark_on(plan, fact);

    if (remark.state != state)
        fail_msg("%s is %s", fact, hutch_host_state_name(remark.state));
    check_text(remark.reason, reason);
    check_text(remark.help, help);
}

static void nothing_is_said_of_the_best(void **state)
{
    static const char *const by_a_run[] = {"userns", "pidns", "netns", "seccomp", "", "none such"};
    struct plan_limit_row limits[PLAN_LIMIT_ROWS];
    struct plan plan = best();

    plan_limit_rows(&plan, limits);
    for (size_t i = 0; i < PLAN_LIMIT_ROWS; i++)
        check(&plan, limits[i].name, HUTCH_HOST_OK, NULL, NULL);
    check(&plan, "landlock", HUTCH_HOST_OK, NULL, NULL);
    check(&plan, "cgroup", HUTCH_HOST_OK, NULL, NULL);
    check(&plan, "nodump", HUTCH_HOST_OK, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(by_a_run); i++)
        check(&plan, by_a_run[i], HUTCH_HOST_UNKNOWN, NULL, NULL);
    /* The kernel counts processes as well without a group, and no limit is no lack. */
    plan.limits.processes_means = MEANS_RLIMIT;
    plan.limits.cpus_means = MEANS_HOST;
    plan.limits.memory_bytes = NUM_NO_LIMIT;
    check(&plan, "processes", HUTCH_HOST_OK, NULL, NULL);
    check(&plan, "cpus", HUTCH_HOST_OK, NULL, NULL);
    check(&plan, "memory", HUTCH_HOST_OK, NULL, NULL);
}

static void landlock(void **state)
{
    struct plan plan = best();

    plan.landlock_abi = SYS_LANDLOCK_NEWEST + 1;
    check(&plan, "landlock", HUTCH_HOST_OK, NULL, NULL);
    plan.landlock_abi = SYS_LANDLOCK_NEWEST - 1;
    check(&plan, "landlock", HUTCH_HOST_WEAKER, "old version", "6.12");
    plan.landlock_abi = 1;
    check(&plan, "landlock", HUTCH_HOST_WEAKER, "signals", "6.12");
    plan.landlock_abi = 0;
    assert_int_equal(plan_remark_on(&plan, "landlock").state, HUTCH_HOST_MISSING);
}

static void every_lack_of_a_group(void **state)
{
    static const struct {
        enum plan_cgroup_lack lack;
        const char *reason, *help;
    } cases[] = {
        {CGROUP_LACKS_HIERARCHY, "/sys/fs/cgroup", "mount cgroup2"},
        {CGROUP_LACKS_WRITABLE, "read-only", "container"},
        {CGROUP_LACKS_RIGHTS, "another user", "systemd"},
        {CGROUP_LACKS_CONTROLLERS, "keeps a limit", "Delegate="},
        {CGROUP_LACKS_MANAGER, "user's systemd", "XDG_RUNTIME_DIR"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan = best();

        plan.cgroup = (struct plan_cgroup){.lack = cases[i].lack};
        plan.limits.memory_means = plan.limits.cpu_time_means = MEANS_SAMPLED;
        plan.limits.cpus_means = MEANS_AFFINITY;
        plan.limits.processes_means = MEANS_RLIMIT;
        check(&plan, "cgroup", HUTCH_HOST_MISSING, cases[i].reason, cases[i].help);
        check(&plan, "memory", HUTCH_HOST_WEAKER, "no control group", cases[i].help);
        check(&plan, "cpu_time", HUTCH_HOST_WEAKER, "no control group", cases[i].help);
        check(&plan, "cpus", HUTCH_HOST_WEAKER, "whole processors", cases[i].help);
        check(&plan, "processes", HUTCH_HOST_OK, NULL, NULL);
    }
}

static void groups_that_are_not_the_best(void **state)
{
    struct plan plan = best();

    plan.cgroup.unit = true;
    check(&plan, "cgroup", HUTCH_HOST_OK, "the user's systemd", NULL);
    plan.limits.memory_means = MEANS_SAMPLED;
    check(&plan, "cgroup", HUTCH_HOST_WEAKER, "controller", "memory");
    check(&plan, "memory", HUTCH_HOST_WEAKER, "looked at", "memory");
    check(&plan, "cpu_time", HUTCH_HOST_OK, NULL, NULL);
    plan = best();
    plan.limits.cpus_means = MEANS_AFFINITY;
    check(&plan, "cgroup", HUTCH_HOST_WEAKER, "controller", "cpu");
    /* No host does better on a disk. */
    plan = best();
    plan.limits.disk_means = MEANS_SAMPLED;
    check(&plan, "disk", HUTCH_HOST_OK, "measured", "-w tmpfs");
    check(&plan, "cgroup", HUTCH_HOST_OK, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_of_the_best),
        cmocka_unit_test(landlock),
        cmocka_unit_test(every_lack_of_a_group),
        cmocka_unit_test(groups_that_are_not_the_best),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
