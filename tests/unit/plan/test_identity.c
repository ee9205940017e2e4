/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include "../scratch.h"

static void identities(void **state)
{
    static const struct {
        const char *json;
        uid_t uid;
        gid_t gid;
        const char *hostname;
    } cases[] = {
        {"{}", 1000, 1000, "hutch"},
        {"{\"identity\":{\"user\":0,\"group\":5}}", 0, 5, "hutch"},
        {"{\"identity\":{\"hostname\":\"box-1\"}}", 1000, 1000, "box-1"},
        {"{\"identity\":{\"user\":4294967294}}", 4294967294U, 1000, "hutch"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct policy policy;
        struct plan plan = {0};
        struct hutch_error err = {0};

        policy_init(&policy);
        arena_init(&plan.arena);
        if (policy_merge_json(&policy, cases[i].json, strlen(cases[i].json), "doc", &err) < 0)
            fail_msg("%s: %s", cases[i].json, err.msg);
        assert_int_equal(plan_pass_identity(&policy, &plan, &err), 0);
        assert_int_equal(plan.identity.uid, cases[i].uid);
        assert_int_equal(plan.identity.gid, cases[i].gid);
        assert_string_equal(plan.hostname, cases[i].hostname);
        policy_clear(&policy);
        arena_clear(&plan.arena);
    }
}

static struct plan_identity identity(char id[17])
{
    struct policy policy;
    struct plan plan = {0};

    policy_init(&policy);
    arena_init(&plan.arena);
    if (plan_pass_identity(&policy, &plan, NULL) < 0)
        plan.identity.host_uid = 0;
    memcpy(id, plan.id, sizeof(plan.id));
    policy_clear(&policy);
    arena_clear(&plan.arena);
    return plan.identity;
}

static int look_as_user(void)
{
    char id[17];
    struct plan_identity mine = identity(id);

    return mine.host_uid == geteuid() && mine.host_gid == getegid() && !mine.privileged ? 0 : 1;
}

static void the_host_never_sees_root(void **state)
{
    char id[17];
    char other[17];
    struct plan_identity mine = identity(id);
    struct stat st;
    /* Root of a container is another user of the host, and keeps its own id. */
    bool root_of_host = geteuid() == 0 && stat("/proc", &st) == 0 && st.st_uid == 0;

    assert_int_equal(mine.privileged, root_of_host);
    if (!root_of_host)
        assert_int_equal(mine.host_uid, geteuid());
    if (root_of_host) {
        /* Above what systemd and container engines give out, below what is negative to somebody. */
        assert_int_equal(mine.host_uid >> 24, 0x70);
        assert_int_equal(mine.host_gid, mine.host_uid);
        assert_int_not_equal(identity(other).host_uid, mine.host_uid);
    }
    assert_int_equal(as_nobody(look_as_user), 0);
}

static void ids_are_new_and_plain(void **state)
{
    char a[17];
    char b[17];

    identity(a);
    identity(b);
    assert_int_equal(strlen(a), 16);
    assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz0123456789"), 16);
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identities),
        cmocka_unit_test(the_host_never_sees_root),
        cmocka_unit_test(ids_are_new_and_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
