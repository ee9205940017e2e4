/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include "../scratch.h"

/* What the caller has, and what a document says; then what is inside, in order. */
struct env_case {
    const char *name;
    const char *caller[8];
    const char *json;
    const char *want;
    enum policy_layout layout;
};

static const char *inside(const struct env_case *c)
{
    static char out[2048];
    struct hutch_error err = {0};
    struct policy policy;
    struct plan plan = {.layout = c->layout, .home = "/home/me", .workspace = "/workspace"};
    size_t len = 0;

    clearenv();
    for (size_t i = 0; c->caller[i]; i++)
        putenv((char *)c->caller[i]);
    arena_init(&plan.arena);
    policy_init(&policy);
    if (policy_merge_json(&policy, c->json, strlen(c->json), "doc", &err) < 0)
        fail_msg("%s: %s", c->name, err.msg);
    assert_int_equal(plan_pass_environment(&policy, &plan, &err), 0);
    /* Copies: what the caller does to its own later is not seen. */
    clearenv();
    out[0] = '\0';
    for (const char *const *var = plan.env; *var; var++)
        len += (size_t)snprintf(out + len, sizeof(out) - len, "%s\n", *var);
    policy_clear(&policy);
    arena_clear(&plan.arena);
    return out;
}

#define DEFAULT_PATH "PATH=/usr/local/bin:/usr/bin:/bin\n"

static void environments(void **state)
{
    static const struct env_case cases[] = {
        {"nothing", {"SECRET=1", "PATH=/bin"}, "{}", DEFAULT_PATH, LAYOUT_HOST},
        {"allow-list",
         {"SECRET=1", "PATH=/x", "LANG=C", "LANGUAGE=de"},
         "{\"environment\":{\"inherit\":[\"LANG\",\"PATH\",\"NONE\"]}}",
         "PATH=/x\nLANG=C\n",
         LAYOUT_HOST},
        {"prefix",
         {"LC_ALL=C", "LC_=x", "LC=y", "LCX=z", "XLC_A=1", "PATH=/x"},
         "{\"environment\":{\"inherit\":[\"LC_*\",\"PATH\"]}}",
         "LC_ALL=C\nLC_=x\nPATH=/x\n",
         LAYOUT_HOST},
        {"everything",
         {"A=1", "B=2", "PATH=/x"},
         "{\"environment\":{\"inherit\":[\"*\"]}}",
         "A=1\nB=2\nPATH=/x\n",
         LAYOUT_HOST},
        {"empty and odd values",
         {"A=", "B=x=y", "C= \n", "PATH="},
         "{\"environment\":{\"inherit\":[\"A\",\"B\",\"C\",\"PATH\"]}}",
         "A=\nB=x=y\nC= \n\nPATH=\n",
         LAYOUT_HOST},
        {"set over inherited",
         {"A=1", "PATH=/x"},
         "{\"environment\":{\"inherit\":[\"A\",\"PATH\"],\"set\":{\"A\":\"2\",\"N\":\"\"}}}",
         "PATH=/x\nA=2\nN=\n",
         LAYOUT_HOST},
        {"unset over prefix",
         {"LC_ALL=C", "LC_TIME=C", "PATH=/x"},
         "{\"environment\":{\"inherit\":[\"LC_*\",\"PATH\"],\"unset\":[\"LC_TIME\"]}}",
         "LC_ALL=C\nPATH=/x\n",
         LAYOUT_HOST},
        {"no prefixes of names",
         {"LANG=C", "LANGX=D", "PATH=/x"},
         "{\"environment\":{\"inherit\":[\"*\"],\"unset\":[\"LANG\"]}}",
         "LANGX=D\nPATH=/x\n",
         LAYOUT_HOST},
        {"PATH unset has the usual",
         {"PATH=/x"},
         "{\"environment\":{\"inherit\":[\"*\"],\"unset\":[\"PATH\"]}}",
         DEFAULT_PATH,
         LAYOUT_HOST},
        {"PATH set",
         {"PATH=/x"},
         "{\"environment\":{\"set\":{\"PATH\":\"/y\"}}}",
         "PATH=/y\n",
         LAYOUT_HOST},
        {"HOME not asked for", {"HOME=/h"}, "{}", DEFAULT_PATH, LAYOUT_HOST},
        {"HOME of the host",
         {"HOME=/link/to/home"},
         "{\"environment\":{\"inherit\":[\"HOME\"]}}",
         "HOME=/home/me\n" DEFAULT_PATH,
         LAYOUT_HOST},
        {"HOME in minimal",
         {"HOME=/h"},
         "{\"environment\":{\"inherit\":[\"HOME\"]}}",
         "HOME=/workspace\n" DEFAULT_PATH,
         LAYOUT_MINIMAL},
        {"HOME in root",
         {"HOME=/h"},
         "{\"environment\":{\"inherit\":[\"HOME\"]}}",
         "HOME=/workspace\n" DEFAULT_PATH,
         LAYOUT_ROOT},
        {"HOME set stays",
         {"HOME=/h"},
         "{\"environment\":{\"inherit\":[\"HOME\"],\"set\":{\"HOME\":\"/mine\"}}}",
         "HOME=/mine\n" DEFAULT_PATH,
         LAYOUT_MINIMAL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!str_eq(inside(&cases[i]), cases[i].want))
            fail_msg("%s: got\n%s", cases[i].name, inside(&cases[i]));
}

static void without_a_home_it_is_the_workspace(void **state)
{
    struct hutch_error err = {0};
    struct policy policy;
    struct plan plan = {.layout = LAYOUT_HOST, .workspace = "/ws"};

    clearenv();
    setenv("HOME", "relative", 1);
    arena_init(&plan.arena);
    policy_init(&policy);
    assert_int_equal(policy_set_flag(&policy, "--env", "HOME", NULL, &err), 0);
    assert_int_equal(plan_pass_environment(&policy, &plan, &err), 0);
    assert_string_equal(plan.env[0], "HOME=/ws");
    policy_clear(&policy);
    arena_clear(&plan.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environments),
        cmocka_unit_test(without_a_home_it_is_the_workspace),
    };

    /* cmocka looks at its variables when it prints, after the tests have cleared them. */
    cmocka_set_message_output(getenv("CMOCKA_MESSAGE_OUTPUT") ? CM_OUTPUT_TAP : CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
