/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/plan.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "../scratch.h"

static int setup(void **state)
{
    static const char *const tree[] = {
        "home/",           "ws/",          "ws/a/",           "ws/a/b", "repo/",
        "ws/loop -> loop", "ws/to-a -> a", "ws/gone -> none", NULL};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    fd_auto int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    scratch_make(tree);
    setenv("HOME", at("@/home"), 1);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", at("@/sock"));
    if (bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -1;
    return chdir(scratch);
}

static int build(const char *json, struct plan **ret, struct hutch_error *err)
{
    struct policy policy;
    const char *text = at(json);

    *err = (struct hutch_error){0};
    policy_init(&policy);
    if (policy_set_flag(&policy, "--workspace", at("@/ws"), NULL, err) < 0 ||
        policy_merge_json(&policy, text, strlen(text), "doc", err) < 0)
        fail_msg("%s: %s", json, err->msg);
    int r = plan_build(&policy, ret, err);
    policy_clear(&policy);
    return r;
}

/* Each fails in another pass, after something else has been opened. */
static void failures_leave_nothing_open(void **state)
{
    static const struct {
        const char *json;
        int code;
    } cases[] = {
        {"{\"isolation\":{\"require\":[\"unheard_of\"]}}", HUTCH_EUNSUPPORTED},
        {"{\"filesystem\":{\"workspace\":null}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"workspace\":\"@/none\"}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"workspace\":\"@/ws/a/b\"}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"repo\":\"@/none\"}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"repo\":\"@/repo\",\"read\":[\"@/home\",\"@/none\"]}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"write\":[\"@/repo\",\"/\"]}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"write\":[\"@/repo\",\"/proc\"]}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"write\":[\"@/ws/loop\"]}}", HUTCH_ESYSTEM},
        {"{\"isolation\":{\"require\":[\"landlock>=999\"]}}", HUTCH_EUNSUPPORTED},
        {"{\"syscalls\":\"@/none\"}", HUTCH_ESYSTEM},
        {"{\"syscalls\":\"@/ws/a/b\"}", HUTCH_EPOLICY},
        {"{\"network\":{\"unix\":[\"@/sock\",\"@/none\"]}}", HUTCH_EPOLICY},
        {"{\"network\":{\"unix\":[\"@/sock\",\"@/ws/a/b\"]}}", HUTCH_EPOLICY},
        {"{\"network\":{\"unix\":[\"@/sock\"]},\"filesystem\":{\"read\":[\"@/none\"]}}",
         HUTCH_EPOLICY},
        {"{\"filesystem\":{\"protect\":[\"@/ws/a/b\",\"@/ws/to-a/b\",\"@/ws/loop\"]}}",
         HUTCH_ESYSTEM},
        {"{\"filesystem\":{\"protect\":[\"@/ws/gone\",\"@/ws/none/../x\"]}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"protect\":[\"@/ws/a/**\",\"@/ws\"]}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"hide\":[\"@/ws/a/b\",\"@/ws\"]}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"layout\":\"minimal\",\"hide\":[\"@/ws\"]}}", HUTCH_EPOLICY},
        {"{\"filesystem\":{\"layout\":\"root\",\"read\":[\"/\"]}}", HUTCH_EPOLICY},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan *plan = (struct plan *)&cases;
        struct hutch_error err;
        int before = open_fds();

        int r = build(cases[i].json, &plan, &err);
        if (r != cases[i].code || err.code != r || !err.msg[0] || !err.where[0])
            fail_msg("%s: %d, at '%s': %s", cases[i].json, r, err.where, err.msg);
        assert_ptr_equal(plan, &cases);
        if (open_fds() != before)
            fail_msg("%s: %d descriptors are left", cases[i].json, open_fds() - before);
    }
}

static void a_plan_holds_its_descriptors_until_it_is_freed(void **state)
{
    static const char *const cases[] = {
        "{}",
        "{\"filesystem\":{\"read\":[\"@/home\"],\"write\":[\"@/repo\",\"@/repo\"]}}",
        "{\"filesystem\":{\"protect\":[\"@/ws/a/b\",\"@/ws/a\"],\"hide\":[\"@/ws/a\"]}}",
        "{\"filesystem\":{\"layout\":\"minimal\",\"repo\":\"@/repo\",\"write\":[\"@/ws\"]}}",
        "{\"filesystem\":{\"layout\":\"root\",\"protect\":[\"@/ws/a/b\"]}}",
        "{\"filesystem\":{\"workspace\":\"tmpfs\"}}",
        "{\"filesystem\":{\"protect\":[\"@/ws/none\",\"@/ws/a/none/x\",\"@/ws/gone\"]}}",
        "{\"filesystem\":{\"protect\":[\"@/ws/to-a/b\"],\"hide\":[\"@/ws/to-a\"]}}",
        "{\"network\":{\"unix\":[\"@/sock\",\"@/sock\"]}}",
        "{\"network\":{\"unix\":\"none\"},\"syscalls\":\"strict\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan *plan = NULL;
        struct hutch_error err;
        int held = 0;
        int before = open_fds();

        if (build(cases[i], &plan, &err) < 0)
            fail_msg("%s: %s", cases[i], err.msg);
        for (size_t k = 0; k < plan->mount_count; k++) {
            const struct plan_mount *mount = &plan->mounts[k];
            struct stat st;

            if (mount->source_fd < 0)
                continue;
            held++;
            assert_int_equal(fcntl(mount->source_fd, F_GETFD), FD_CLOEXEC);
            assert_int_equal(fstat(mount->source_fd, &st), 0);
            assert_true(st.st_dev == mount->dev && st.st_ino == mount->ino);
        }
        for (size_t k = 0; plan->cgroup.version > 0 && k < CONTROLLER_COUNT; k++)
            held += plan->cgroup.parent[k] >= 0;
        assert_int_equal(open_fds(), before + held);
        assert_non_null(plan->env);
        assert_non_null(plan->filter);
        assert_non_null(plan->init_filter);
        assert_int_equal(strlen(plan->id), 16);
        plan_free(plan);
        assert_int_equal(open_fds(), before);
    }
    plan_free(NULL);
}

#define BUILD_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BUILD_TEST(failures_leave_nothing_open),
        BUILD_TEST(a_plan_holds_its_descriptors_until_it_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
