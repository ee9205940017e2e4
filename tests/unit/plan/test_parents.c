/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include "steps.h"

static int setup(void **state)
{
    static const char *const tree[] = {"open/",       "open/ws/",  "shut/", "shut/in/",
                                       "shut/in/ws/", "shut/two/", NULL};

    scratch_make(tree);
    return chmod(at("@/shut"), 0700) < 0 || chmod(at("@/shut/in"), 0700) < 0 ? -1 : 0;
}

static void closed_directories_above_grants_are_opened(void **state)
{
    static const struct {
        const char *grants[3]; /* id-mapped binds */
        const char *want;
        bool privileged, idmap;
        enum policy_layout layout;
    } cases[] = {
        {{"@/open/ws"}, "bind / layout\nbind @/open/ws write\n", true, true, LAYOUT_HOST},
        {{"@/shut/in/ws"},
         "bind / layout\ntmpfs @/shut layout\ndirectory @/shut/in layout\n"
         "directory @/shut/in/ws layout\nbind @/shut/in/ws write\nseal @/shut layout\n",
         true,
         true,
         LAYOUT_HOST},
        {{"@/shut/in/ws", "@/shut/two"},
         "bind / layout\ntmpfs @/shut layout\ndirectory @/shut/in layout\n"
         "directory @/shut/in/ws layout\nbind @/shut/in/ws write\n"
         "directory @/shut/two layout\nbind @/shut/two write\nseal @/shut layout\n",
         true,
         true,
         LAYOUT_HOST},
        /* below a grant the way is open already */
        {{"@/shut", "@/shut/in/ws"},
         "bind / layout\nbind @/shut write\nbind @/shut/in/ws write\n",
         true,
         true,
         LAYOUT_HOST},
        {{"@/shut"}, "bind / layout\nbind @/shut write\n", true, true, LAYOUT_HOST},
        {{"@/shut/two"}, "bind / layout\nbind @/shut/two write\n", false, true, LAYOUT_HOST},
        {{"@/shut/two"}, "bind / layout\nbind @/shut/two write\n", true, false, LAYOUT_HOST},
        {{"@/shut/two"}, "bind / layout\nbind @/shut/two write\n", true, true, LAYOUT_MINIMAL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        struct plan_entries entries = {0};
        plan_auto struct plan *plan = plan_new();

        assert_non_null(plan);
        plan->identity.privileged = cases[i].privileged;
        plan->layout = cases[i].layout;
        plan_entry_add(
            plan, &entries,
            (struct plan_mount){.kind = MOUNT_BIND, .target = "/", .source = "/", .source_fd = -1});
        for (size_t k = 0; cases[i].grants[k]; k++)
            plan_entry_add(plan, &entries,
                           (struct plan_mount){.kind = MOUNT_BIND,
                                               .why = WHY_WRITE,
                                               .target = at(cases[i].grants[k]),
                                               .source_fd = -1,
                                               .directory = true,
                                               .idmap = cases[i].idmap});
        assert_int_equal(plan_pass_parents(plan, &entries, &err), 0);
        assert_int_equal(plan_pass_mounts(plan, &entries, &err), 0);
        if (!str_eq(steps(plan, "/", true), cases[i].want))
            fail_msg("row %zu: got\n%s", i, steps(plan, "/", true));
    }
}

#define PARENTS_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PARENTS_TEST(closed_directories_above_grants_are_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
