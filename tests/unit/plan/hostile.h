/* SPDX-License-Identifier: Apache-2.0 */
/* A plan full of names that somebody else chose, for tests of what is shown of it. */
#pragma once

#include "../scratch.h"
#include "plan/plan.h"

#define EVIL "ev\033[31mil\r\n\xff\xe2\x80\xae'\""

static inline void hostile_plan(struct plan **ret_plan, struct plan_command *ret_command)
{
    static const char *const tree[] = {"ws " EVIL "/", "ws " EVIL "/hide" EVIL, NULL};
    static const char *const argv[] = {"echo", EVIL, "plain", "", "it's", NULL};
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_error err = {0};
    struct policy policy;

    scratch_make(tree);
    clearenv();
    setenv("HOME", scratch, 1);
    setenv("SHOWN", "value " EVIL, 1);
    policy_init(&policy);
    if (policy_set_flag(&policy, "--workspace", at("@/ws " EVIL), NULL, &err) < 0 ||
        policy_set_flag(&policy, "--hide", at("@/ws " EVIL "/hide" EVIL), NULL, &err) < 0 ||
        policy_set_flag(&policy, "--env", "SHOWN", NULL, &err) < 0 ||
        policy_set_flag(&policy, "--timeout", "unlimited", NULL, &err) < 0 ||
        policy_set_flag(&policy, "--open-files", "77", NULL, &err) < 0 ||
        plan_build(&policy, ret_plan, &err) < 0)
        fail_msg("%s", err.msg);
    policy_clear(&policy);
    if (!*ret_plan)
        abort(); /* not reached, which the analyzer cannot know */
    command.argv = argv;
    command.cwd = "/cwd" EVIL;
    if (plan_command_build(*ret_plan, &command, &(*ret_plan)->arena, ret_command, &err) < 0)
        fail_msg("%s", err.msg);
}

/* A text that a terminal shows and does not obey: no control but the line's end, valid UTF-8. */
static inline void assert_harmless(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 && *p != '\n')
            fail_msg("byte %02x in: %s", (unsigned char)*p, text);
    assert_true(str_is_utf8(text, strlen(text)));
}
