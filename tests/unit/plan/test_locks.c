/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include <errno.h>

#include "../scratch.h"
#include "filter/filter.h"
#include "sys/landlock.h"

#define ALLOW_ALL "{\"defaultAction\":\"SCMP_ACT_ALLOW\"}"

static void write_file(const char *path, const char *text)
{
    fd_auto int fd = open(at(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int setup(void **state)
{
    static const char *const tree[] = {
        "ws/", "ws/file", "dir/", "to-sock -> sock", "gone -> none", "up/", "up/back -> ..", NULL};
    static const char *const sockets[] = {"@/sock", "@/ws/sock"};

    scratch_make(tree);
    write_file("@/filter.json", ALLOW_ALL);
    write_file("@/empty.json", "{}");
    write_file("@/broken.json", "{\"defaultAction\":\"SCMP_ACT_ALLOW\",");
    write_file("@/strange.json", "{\"defaultAction\":\"SCMP_ACT_SOMETIMES\"}");
    write_file("@/strict", "not the shipped one");
    for (size_t i = 0; i < ARRAY_LEN(sockets); i++)
        if (scratch_socket(sockets[i]) < 0)
            return -1;
    setenv("HOME", scratch, 1);
    return chdir(scratch);
}

/* What the kernel is said to do with core dumps: sys_coredump_to_socket() of this host. */
static int to_socket;

int __wrap_sys_coredump_to_socket(void);

int __wrap_sys_coredump_to_socket(void)
{
    return to_socket;
}

/* The two passes of locks.c, with nothing but them. */
static int build(const char *json, struct plan *plan, struct plan_entries *entries,
                 struct hutch_error *err)
{
    struct resolver resolver;
    struct policy policy;
    const char *text = at(json);

    *err = (struct hutch_error){0};
    *plan = (struct plan){0};
    *entries = (struct plan_entries){0};
    arena_init(&plan->arena);
    policy_init(&policy);
    if (policy_merge_json(&policy, text, strlen(text), "doc", err) < 0)
        fail_msg("%s: %s", json, err->msg);
    int r = plan_pass_locks(&policy, plan, err);
    if (r == 0) {
        assert_int_equal(resolver_init(&resolver, &plan->arena, err), 0);
        resolver.workspace.fd = open(at("@/ws"), O_PATH | O_DIRECTORY | O_CLOEXEC);
        r = plan_pass_sockets(&policy, &resolver, plan, entries, err);
        resolver_clear(&resolver);
    }
    assert_int_equal(r, err->code);
    policy_clear(&policy); /* nothing of the plan may be the policy's */
    return r;
}

static void clear(struct plan *plan, struct plan_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        fd_close(&entries->items[i].mount.source_fd);
    arena_clear(&plan->arena);
}

static void filters_are_chosen(void **state)
{
    static const struct {
        const char *json, *name, *shipped;
        bool strict, user;
    } cases[] = {
        {"{}", "default", "default", false, false},
        {"{\"syscalls\":\"default\"}", "default", "default", false, false},
        {"{\"syscalls\":\"strict\"}", "strict", "strict", true, false},
        {"{\"syscalls\":\"@/filter.json\"}", "@/filter.json", "floor", false, true},
        {"{\"syscalls\":\"filter.json\"}", "filter.json", "floor", false, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan;
        struct plan_entries entries;
        struct hutch_error err;

        if (build(cases[i].json, &plan, &entries, &err) < 0)
            fail_msg("%s: %s", cases[i].json, err.msg);
        assert_string_equal(folded(plan.filter_name), cases[i].name);
        assert_non_null(plan.filter);
        assert_ptr_equal(plan.filter, filter_shipped(cases[i].shipped));
        assert_non_null(plan.init_filter);
        assert_ptr_equal(plan.init_filter, filter_shipped("init"));
        assert_int_equal(plan.strict, cases[i].strict);
        assert_int_equal(!plan.user_filter, !cases[i].user);
        if (plan.user_filter)
            assert_true(plan.user_filter->len > 0 && plan.user_filter->code);
        clear(&plan, &entries);
    }
}

#define KEY "/syscalls in doc"

static void filters_that_are_refused(void **state)
{
    static const struct {
        const char *json;
        int code, sys_errno;
        const char *where, *text;
    } cases[] = {
        {"{\"syscalls\":\"@/none.json\"}", HUTCH_ESYSTEM, ENOENT, KEY,
         "'@/none.json': cannot open"},
        {"{\"syscalls\":\"@/gone\"}", HUTCH_ESYSTEM, ENOENT, KEY, "'@/gone': cannot open"},
        {"{\"syscalls\":\"Default\"}", HUTCH_ESYSTEM, ENOENT, KEY, "(did you mean 'default'?)"},
        {"{\"syscalls\":\"defualt\"}", HUTCH_ESYSTEM, ENOENT, KEY, "(did you mean 'default'?)"},
        {"{\"syscalls\":\"none\"}", HUTCH_ESYSTEM, ENOENT, KEY, "'none': cannot open"},
        /* not for a command alone */
        {"{\"syscalls\":\"floor\"}", HUTCH_ESYSTEM, ENOENT, KEY, "'floor': cannot open"},
        {"{\"syscalls\":\"init\"}", HUTCH_ESYSTEM, ENOENT, KEY, "'init': cannot open"},
        {"{\"syscalls\":\"@/dir\"}", HUTCH_EPOLICY, 0, KEY, "'@/dir': is not a regular file"},
        {"{\"syscalls\":\"@/sock\"}", HUTCH_ESYSTEM, ENXIO, KEY, "'@/sock': cannot open"},
        {"{\"syscalls\":\"@/ws/file\"}", HUTCH_EPOLICY, 0, "@/ws/file", ""},
        {"{\"syscalls\":\"@/empty.json\"}", HUTCH_EPOLICY, 0, KEY, "'@/empty.json': has no"},
        {"{\"syscalls\":\"@/broken.json\"}", HUTCH_EPOLICY, 0, "@/broken.json", ""},
        {"{\"syscalls\":\"@/strange.json\"}", HUTCH_EPOLICY, 0, "@/strange.json", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan;
        struct plan_entries entries;
        struct hutch_error err;
        int before = open_fds();

        int r = build(cases[i].json, &plan, &entries, &err);
        if (r != cases[i].code || err.sys_errno != cases[i].sys_errno ||
            !strstr(folded(err.where), cases[i].where) || !err.msg[0] ||
            !strstr(folded(err.msg), cases[i].text))
            fail_msg("%s: %d, errno %d, at '%s': %s", cases[i].json, r, err.sys_errno, err.where,
                     err.msg);
        clear(&plan, &entries);
        assert_int_equal(open_fds(), before);
    }
}

static void words_about_unix_sockets(void **state)
{
    static const struct {
        const char *json;
        bool none;
    } cases[] = {
        {"{}", false},
        {"{\"network\":{\"unix\":\"private\"}}", false},
        {"{\"network\":{\"unix\":\"none\"}}", true},
        {"{\"network\":{\"unix\":[]}}", false},
        {"{\"network\":{\"unix\":\"none\"},\"syscalls\":\"@/filter.json\"}", true},
    };

    assert_non_null(filter_shipped("no-unix"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan;
        struct plan_entries entries;
        struct hutch_error err;

        if (build(cases[i].json, &plan, &entries, &err) < 0)
            fail_msg("%s: %s", cases[i].json, err.msg);
        assert_ptr_equal(plan.unix_filter, cases[i].none ? filter_shipped("no-unix") : NULL);
        assert_int_equal(plan.socket_count, 0);
        assert_int_equal(entries.count, 0);
        clear(&plan, &entries);
    }
}

static void sockets_of_the_host(void **state)
{
    static const struct {
        const char *json;
        const char *paths[3]; /* canonical */
    } cases[] = {
        {"{\"network\":{\"unix\":[\"@/sock\"]}}", {"@/sock"}},
        {"{\"network\":{\"unix\":[\"@/to-sock\"]}}", {"@/sock"}},
        {"{\"network\":{\"unix\":[\"@/up/back/sock\"]}}", {"@/sock"}},
        {"{\"network\":{\"unix\":[\"~/sock\"]}}", {"@/sock"}},
        {"{\"network\":{\"unix\":[\"sock\"]}}", {"@/ws/sock"}}, /* a document's: the workspace's */
        {"{\"network\":{\"unix\":[\"@/sock\",\"@/ws/sock\"]}}", {"@/sock", "@/ws/sock"}},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan;
        struct plan_entries entries;
        struct hutch_error err;
        size_t count = 0;
        int before = open_fds();

        if (build(cases[i].json, &plan, &entries, &err) < 0)
            fail_msg("%s: %s", cases[i].json, err.msg);
        for (; count < plan.socket_count && count < entries.count && cases[i].paths[count];
             count++) {
            const struct plan_socket *sock = &plan.sockets[count];
            const struct plan_mount *mount = &entries.items[count].mount;
            struct stat st;

            assert_string_equal(folded(sock->path), cases[i].paths[count]);
            assert_int_equal(lstat(at(cases[i].paths[count]), &st), 0);
            assert_true(sock->dev == st.st_dev && sock->ino == st.st_ino);
            /* It is to be seen inside, at its own place. */
            assert_int_equal(mount->kind, MOUNT_BIND);
            assert_int_equal(mount->why, WHY_READ);
            assert_string_equal(mount->target, sock->path);
            assert_string_equal(mount->source, sock->path);
            assert_false(mount->writable || mount->directory || mount->device);
            assert_true(mount->dev == st.st_dev && mount->ino == st.st_ino);
            assert_int_equal(fcntl(mount->source_fd, F_GETFD), FD_CLOEXEC);
            assert_int_equal(fstat(mount->source_fd, &st), 0);
            assert_true(sock->ino == st.st_ino && S_ISSOCK(st.st_mode));
            assert_true(str_starts(mount->origin, "/network/unix/"));
        }
        assert_null(cases[i].paths[count]);
        assert_int_equal(plan.socket_count, count);
        assert_int_equal(entries.count, count);
        assert_null(plan.unix_filter);
        assert_int_equal(open_fds(), before + (int)count);
        clear(&plan, &entries);
        assert_int_equal(open_fds(), before);
    }
}

static void sockets_that_are_refused(void **state)
{
    static const struct {
        const char *json, *where, *text;
    } cases[] = {
        {"{\"network\":{\"unix\":[\"@/none\"]}}", "/network/unix/0 in doc", "does not exist"},
        {"{\"network\":{\"unix\":[\"@/gone\"]}}", "/network/unix/0 in doc", "does not exist"},
        {"{\"network\":{\"unix\":[\"@/sock/x\"]}}", "/network/unix/0 in doc", "does not exist"},
        {"{\"network\":{\"unix\":[\"@/sock\",\"@/none\"]}}", "/network/unix/1 in doc",
         "does not exist"},
        {"{\"network\":{\"unix\":[\"@/sock\",\"file\"]}}", "/network/unix/1 in doc",
         "is not a socket"},
        {"{\"network\":{\"unix\":[\"@/dir\"]}}", "/network/unix/0 in doc", "is not a socket"},
        {"{\"network\":{\"unix\":[\"/dev/null\"]}}", "/network/unix/0 in doc", "is not a socket"},
        {"{\"network\":{\"unix\":[\"@/*ock\"]}}", "/network/unix/0 in doc", "does not exist"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan;
        struct plan_entries entries;
        struct hutch_error err;
        int before = open_fds();

        int r = build(cases[i].json, &plan, &entries, &err);
        if (r != HUTCH_EPOLICY || !str_eq(err.where, cases[i].where) ||
            !strstr(err.msg, cases[i].text))
            fail_msg("%s: %d, at '%s': %s", cases[i].json, r, err.where, err.msg);
        clear(&plan, &entries);
        assert_int_equal(open_fds(), before);
    }
}

static void check_requirement(const char *want, const char *net, bool met)
{
    char json[200];
    struct plan plan;
    struct plan_entries entries;
    struct hutch_error err;

    snprintf(json, sizeof(json),
             "{\"isolation\":{\"require\":[\"pidns\",\"%s\"]},\"network\":{\"mode\":\"%s\"}}", want,
             net);
    int r = build(json, &plan, &entries, &err);
    if (met ? r != 0 : r != HUTCH_EUNSUPPORTED)
        fail_msg("%s: %d %s", json, r, err.msg);
    if (!met && (!strstr(err.msg, want) || !str_eq(err.where, "/isolation/require/1 in doc")))
        fail_msg("%s: at '%s': %s", json, err.where, err.msg);
    clear(&plan, &entries);
}

static void requirements(void **state)
{
    static const struct {
        const char *want;
        bool own, host; /* met with network none, and with host */
    } cases[] = {
        {"userns", true, true},      {"mountns", true, true},      {"pidns", true, true},
        {"ipcns", true, true},       {"utsns", true, true},        {"cgroupns", true, true},
        {"nodump", true, true},      {"nodumps", false, false},    {"dump", false, false},
        {"seccomp", true, true},     {"netns", true, false},       {"timeout", true, true},
        {"output", true, true},      {"open_files", true, true},   {"file_size", true, true},
        {"memory", true, true},      {"disk", true, true},         {"processes", true, true},
        {"cpu_time", true, true},    {"cpus", true, true},         {"cgroup", false, false},
        {"guard", false, false},     {"vm", false, false},         {"user", false, false},
        {"usernsx", false, false},   {"seccomp>=1", false, false}, {"netns>=1", false, false},
        {"landlockx", false, false}, {"landloc", false, false},    {"unheard_of", false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        check_requirement(cases[i].want, "none", cases[i].own);
        check_requirement(cases[i].want, "host", cases[i].host);
    }
}

/* A group that keeps some limits and not others is not what was asked for. */
static void a_control_group_keeps_what_it_can(void **state)
{
    static const struct {
        struct plan_limits limits;
        int version;
        const char *text; /* part of the message; NULL: met */
    } cases[] = {
        {{.memory_means = MEANS_CGROUP}, 2, NULL},
        {{.memory_means = MEANS_CGROUP, .cpu_time_means = MEANS_CGROUP}, 1, NULL},
        {{.memory_means = MEANS_CGROUP, .processes_means = MEANS_RLIMIT}, 1, NULL},
        {{.memory_means = MEANS_CGROUP, .cpus_means = MEANS_AFFINITY}, 1, NULL},
        {{.disk_means = MEANS_SAMPLED}, 2, NULL}, /* no controller counts files */
        {{.memory_means = MEANS_SAMPLED}, 0, "would not be enforced"},
        {{.memory_means = MEANS_SAMPLED, .cpu_time_means = MEANS_CGROUP}, 1, "limit on memory"},
        {{.memory_means = MEANS_CGROUP, .cpu_time_means = MEANS_SAMPLED}, 1, "limit on cpu_time"},
        {{.processes_means = MEANS_SAMPLED}, 2, "limit on processes"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan = {.limits = cases[i].limits, .cgroup.version = cases[i].version};
        struct hutch_error err = {0};
        struct policy policy;

        arena_init(&plan.arena);
        policy_init(&policy);
        assert_int_equal(policy_set_flag(&policy, "--require", "cgroup,memory", NULL, &err), 0);
        int r = plan_pass_locks(&policy, &plan, &err);
        if (r != (cases[i].text ? HUTCH_EUNSUPPORTED : 0))
            fail_msg("row %zu: %d '%s'", i, r, err.msg);
        if (cases[i].text && (!strstr(err.msg, cases[i].text) || !strstr(err.msg, "'cgroup'")))
            fail_msg("row %zu: '%s'", i, err.msg);
        policy_clear(&policy);
        arena_clear(&plan.arena);
    }
}

static void dumps_that_would_leave(void **state)
{
    static const struct {
        int to_socket, code, sys_errno;
        const char *help;
    } cases[] = {
        {0, 0, 0, ""},
        {1, HUTCH_EUNSUPPORTED, 0, "sysctl kernel.core_pattern=core"},
        {-ENOENT, HUTCH_ESYSTEM, ENOENT, "/proc/sys/kernel/core_pattern can be read"},
        {-EMFILE, HUTCH_ESYSTEM, EMFILE, "too many open files"},
        {-ENOMEM, HUTCH_ENOMEM, ENOMEM, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan;
        struct plan_entries entries;
        struct hutch_error err;

        to_socket = cases[i].to_socket;
        assert_int_equal(build("{}", &plan, &entries, &err), cases[i].code);
        to_socket = 0;
        assert_int_equal(err.sys_errno, cases[i].sys_errno);
        if (!strstr(err.msg, cases[i].help) || strlen(err.msg) + 1 == sizeof(err.msg))
            fail_msg("row %zu: '%s'", i, err.msg);
        if (cases[i].code)
            assert_string_equal(err.where, "nodump");
        if (cases[i].code && !strstr(err.msg, "kernel.core_pattern"))
            fail_msg("row %zu: '%s'", i, err.msg);
        clear(&plan, &entries);
    }
}

static void misspelt_requirements(void **state)
{
    static const char *const cases[][2] = {
        {"cgroups", "unknown requirement 'cgroups' (did you mean 'cgroup'?)"},
        {"secomp", "unknown requirement 'secomp' (did you mean 'seccomp'?)"},
        {"landlok", "unknown requirement 'landlok' (did you mean 'landlock'?)"},
        {"mem0ry", "unknown requirement 'mem0ry' (did you mean 'memory'?)"},
        {"unheard_of", "unknown requirement 'unheard_of'"},
        {"cgroup", "'cgroup' is required and would not be enforced"},
        {"landlock>=999999999", "'landlock>=999999999' is required and would not be enforced"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char json[200];
        struct plan plan;
        struct plan_entries entries;
        struct hutch_error err;

        snprintf(json, sizeof(json), "{\"isolation\":{\"require\":[\"%s\"]}}", cases[i][0]);
        assert_int_equal(build(json, &plan, &entries, &err), HUTCH_EUNSUPPORTED);
        assert_string_equal(err.msg, cases[i][1]);
        clear(&plan, &entries);
    }
}

/* Whatever this kernel has. */
static void landlock_is_required(void **state)
{
    int abi = sys_landlock_abi();
    struct plan plan;
    struct plan_entries entries;
    struct hutch_error err;

    assert_int_equal(build("{}", &plan, &entries, &err), 0);
    assert_int_equal(plan.landlock_abi, abi > 0 ? abi : 0);
    clear(&plan, &entries);

    check_requirement("landlock", "none", abi > 0);
    check_requirement("landlock", "host", abi > 0);
    for (int version = 1; version <= (abi > 0 ? abi : 0) + 2; version++) {
        char want[40];

        snprintf(want, sizeof(want), "landlock>=%d", version);
        check_requirement(want, "none", abi >= version);
    }
    check_requirement("landlock>=10", "none", abi >= 10);
    check_requirement("landlock>=999999999", "none", false);
}

static void the_network_is_known(void **state)
{
    static const struct {
        const char *json;
        enum policy_net net;
    } cases[] = {
        {"{}", NET_NONE},
        {"{\"network\":{\"mode\":\"none\"}}", NET_NONE},
        {"{\"network\":{\"mode\":\"host\"}}", NET_HOST},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan;
        struct plan_entries entries;
        struct hutch_error err;

        assert_int_equal(build(cases[i].json, &plan, &entries, &err), 0);
        assert_int_equal(plan.net, cases[i].net);
        clear(&plan, &entries);
    }
}

#define LOCKS_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCKS_TEST(filters_are_chosen),
        LOCKS_TEST(filters_that_are_refused),
        LOCKS_TEST(words_about_unix_sockets),
        LOCKS_TEST(sockets_of_the_host),
        LOCKS_TEST(sockets_that_are_refused),
        LOCKS_TEST(requirements),
        LOCKS_TEST(a_control_group_keeps_what_it_can),
        LOCKS_TEST(dumps_that_would_leave),
        LOCKS_TEST(misspelt_requirements),
        LOCKS_TEST(landlock_is_required),
        LOCKS_TEST(the_network_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
