/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/plan.h"

#include "../scratch.h"

/* What could be somebody's secret, a workspace full of links, and links of the user's own. */
static int setup(void **state)
{
    static const char *const tree[] = {
        "home/",
        "home/.ssh/",
        "home/.ssh/id",
        "home/own -> .ssh/id",
        "data/",
        "data/sub/",
        "data/f",
        "data/to-home -> ../home",
        "ws/",
        "ws/d/",
        "ws/d/f",
        "ws/d/secret/",
        "ws/d/secret/key",
        "ws/key -> ../home/.ssh/id",
        "ws/abs -> @/home/.ssh/id",
        "ws/dir -> @/home/.ssh",
        "ws/above -> ..",
        "ws/chain -> key",
        "ws/d/deep -> ../key",
        "ws/sock -> @/sock",
        "ws/in -> d",
        "ws/in-abs -> @/ws/d",
        "ws/in-secret -> d/secret/key",
        "ws/in-secret-2 -> in-secret",
        "ws/round -> @/data/../ws/d",
        "ws/to-data -> ../data/sub",
        "to-ws -> ws",
        "to-key -> ws/key",
        "to-in -> ws/in",
        NULL,
    };
    static const char *const sockets[] = {"@/sock", "@/ws/own-sock"};

    scratch_make(tree);
    setenv("HOME", at("@/home"), 1);
    for (size_t i = 0; i < ARRAY_LEN(sockets); i++)
        if (scratch_socket(sockets[i]) < 0)
            return -1;
    return chdir(at("@/ws"));
}

static int build(const char *const *flags, const char *json, struct plan **ret,
                 struct hutch_error *err)
{
    struct policy policy;
    const char *text = at(json ? json : "{}");

    *err = (struct hutch_error){0};
    policy_init(&policy);
    if (policy_set_flag(&policy, "--workspace", at("@/ws"), NULL, err) < 0 ||
        policy_merge_json(&policy, text, strlen(text), "doc", err) < 0)
        fail_msg("%s: %s", json, err->msg);
    for (; *flags; flags += 2)
        if (policy_set_flag(&policy, flags[0], at(flags[1]), NULL, err) < 0)
            fail_msg("%s: %s", flags[1], err->msg);
    int r = plan_build(&policy, ret, err);
    policy_clear(&policy);
    return r;
}

struct link_case {
    const char *flags[8];
    const char *json;
    const char *link;   /* what is named; NULL: it is granted */
    const char *reason; /* part of the message */
};

static void check_links(const struct link_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *link = cases[i].link;
        struct hutch_error err = {0};
        struct plan *plan = NULL;
        int before = open_fds();

        int r = build(cases[i].flags, cases[i].json, &plan, &err);
        plan_free(plan);
        if (r != (link ? HUTCH_EPOLICY : 0))
            fail_msg("row %zu: %d: '%s'", i, r, err.msg);
        if (link && (!strstr(err.msg, at(link)) || !strstr(err.msg, cases[i].reason) ||
                     !strstr(err.msg, "name the target itself") || !err.where[0]))
            fail_msg("row %zu: '%s' at '%s'", i, err.msg, err.where);
        assert_int_equal(open_fds(), before);
    }
}

#define OUT "outside of"

static void links_out_of_a_writable_tree_are_refused(void **state)
{
    static const struct link_case cases[] = {
        {{"--read", "key"}, NULL, "link '@/ws/key'", OUT},
        {{"--write", "key"}, NULL, "link '@/ws/key'", "leads to '"},
        {{"--write", "./d/../key"}, NULL, "link '@/ws/key'", OUT},
        {{"--write", "@/ws/key"}, NULL, "to '@/home/.ssh/id'", OUT},
        {{NULL}, "{\"filesystem\":{\"write\":[\"key\"]}}", "link '@/ws/key'", OUT},
        {{NULL}, "{\"filesystem\":{\"read\":[\"abs\"]}}", "link '@/ws/abs'", OUT},
        {{"--read", "dir"}, NULL, "link '@/ws/dir'", OUT},
        {{"--read", "dir/id"}, NULL, "link '@/ws/dir'", OUT},
        {{"--read", "above"}, NULL, "link '@/ws/above'", OUT},
        {{"--write", "above"}, NULL, "link '@/ws/above'", OUT},
        {{"--write", "above", "--write", "above/home"}, NULL, "link '@/ws/above'", OUT},
        {{"--read", "above/home/.ssh/id"}, NULL, "link '@/ws/above'", OUT},
        {{"--read", "chain"}, NULL, "to '@/home/.ssh/id'", OUT},
        {{"--read", "d/deep"}, NULL, "to '@/home/.ssh/id'", OUT},
        {{"--read", "in/deep"}, NULL, "to '@/home/.ssh/id'", OUT},
        /* however one gets there */
        {{"--read", "../to-ws/key"}, NULL, "link '@/ws/key'", OUT},
        {{"--read", "../to-key"}, NULL, "link '@/ws/key'", OUT},
        {{"--workspace", "@/to-ws", "--read", "key"}, NULL, "link '@/ws/key'", OUT},
        {{"--layout", "minimal", "--read", "key"}, NULL, "link '@/ws/key'", OUT},
        {{"--layout", "root", "--read", "key"}, NULL, "link '@/ws/key'", OUT},
        /* sockets, and the directories that are more than rules */
        {{NULL}, "{\"network\":{\"unix\":[\"sock\"]}}", "link '@/ws/sock'", OUT},
        {{NULL}, "{\"network\":{\"unix\":[\"@/ws/sock\"]}}", "to '@/sock'", OUT},
        {{"--repo", "dir"}, NULL, "link '@/ws/dir'", OUT},
        {{"--workspace", "@/data/to-home", "--write", "@/data"}, NULL, "'@/data/to-home'", OUT},
        /* every tree that can be written to, or once could */
        {{"--write", "@/data", "--read", "@/data/to-home"}, NULL, "'@/data/to-home'", OUT},
        {{"--read", "@/data/to-home", "--write", "@/data"}, NULL, "'@/data/to-home'", OUT},
        {{"--write", "@/data", "--write", "to-data"}, NULL, "link '@/ws/to-data'", OUT},
        {{"--workspace", "tmpfs", "--repo", "@/data", "--read", "@/data/to-home"},
         NULL,
         "'@/data/to-home'",
         OUT},
    };

    check_links(cases, ARRAY_LEN(cases));
}

/* A link that stays in its tree opens nothing there. */
static void links_do_not_lead_around_rules(void **state)
{
    static const struct link_case cases[] = {
        {{"--read", "in-secret", "--hide", "d/secret"}, NULL, "'@/ws/in-secret'", "hidden"},
        {{"--write", "in-secret", "--hide", "d/secret"}, NULL, "'@/ws/in-secret'", "hidden"},
        {{"--read", "in-secret", "--read", "in-secret-2", "--hide", "d/secret"},
         NULL,
         "'@/ws/in-secret'",
         "hidden"},
        {{"--layout", "minimal", "--read", "in-secret", "--hide", "d/secret"},
         NULL,
         "'@/ws/in-secret'",
         "hidden"},
        {{"--write", "in-secret", "--protect", "d"}, NULL, "'@/ws/in-secret'", "not to be changed"},
        {{"--write", "in-secret", "--read", "d"}, NULL, "'@/ws/in-secret'", "not to be changed"},
        {{"--write", "in/f", "--protect", "d"}, NULL, "'@/ws/in'", "not to be changed"},
        /* whoever names it means it */
        {{"--read", "d/secret/key", "--hide", "d/secret"}, NULL, NULL, NULL},
        {{"--write", "d/secret/key", "--protect", "d"}, NULL, NULL, NULL},
        {{"--read", "in-secret", "--read", "d/secret/key", "--hide", "d/secret"}, NULL, NULL, NULL},
        /* nothing is opened */
        {{"--read", "in-secret", "--protect", "d"}, NULL, NULL, NULL},
        {{"--read", "in", "--hide", "d/secret"}, NULL, NULL, NULL},
        {{"--hide", "in-secret"}, NULL, NULL, NULL},
    };

    check_links(cases, ARRAY_LEN(cases));
}

static void other_links_are_followed(void **state)
{
    static const struct link_case cases[] = {
        {{"--read", "in"}, NULL, NULL, NULL},
        {{"--write", "in"}, NULL, NULL, NULL},
        {{"--write", "in-abs/f"}, NULL, NULL, NULL},
        {{"--write", "round"}, NULL, NULL, NULL},
        {{"--write", "in-secret-2"}, NULL, NULL, NULL},
        {{"--write", "../to-in"}, NULL, NULL, NULL},
        {{NULL}, "{\"network\":{\"unix\":[\"own-sock\"]}}", NULL, NULL},
        {{NULL}, "{\"network\":{\"unix\":[\"@/sock\"]}}", NULL, NULL},
        /* in places that no sandbox writes to */
        {{"--workspace", "@/to-ws"}, NULL, NULL, NULL},
        {{"--workspace", "@/to-ws", "--write", "@/to-ws/in"}, NULL, NULL, NULL},
        {{"--read", "~/own"}, NULL, NULL, NULL},
        {{"--read", "@/data/to-home"}, NULL, NULL, NULL},
        {{"--read", "@/data", "--read", "@/data/to-home"}, NULL, NULL, NULL},
        {{"--workspace", "tmpfs", "--read", "@/ws/key"}, NULL, NULL, NULL},
        /* out by the user's own word, not by a link */
        {{"--write", "../data"}, NULL, NULL, NULL},
        {{"--write", "d/../../data"}, NULL, NULL, NULL},
    };

    check_links(cases, ARRAY_LEN(cases));
}

#define LINKS_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINKS_TEST(links_out_of_a_writable_tree_are_refused),
        LINKS_TEST(links_do_not_lead_around_rules),
        LINKS_TEST(other_links_are_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
