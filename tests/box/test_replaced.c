/* SPDX-License-Identifier: Apache-2.0 */
/* Hidden and protected paths that somebody on the host replaces while a sandbox runs. */
#include <stdio.h>
#include <string.h>

#include "drive.h"

static struct hutch_error err;

static void prepare(void)
{
    REQUIRE(drive_shell("mkdir .git && echo old > .git/config && echo secret > .env") == 0);
}

static void clean(void)
{
    REQUIRE(drive_shell("rm -rf .git .moved .env") == 0);
}

/* While a command runs that waits for `wait`, and then tries to see and to write them. */
static struct drive_end run_while(const char *change, const char *wait)
{
    const char *script = box_text("echo ready; %s; cat .env; echo evil >> .git/config", wait);
    struct drive_child child = drive_start(LIST("run", "--", "sh", "-c", script), NULL, NULL);

    drive_read_until(child.out, "ready");
    REQUIRE(drive_shell(change) == 0);
    return drive_finish(&child, "", 0);
}

static void while_a_command_runs(void)
{
    static const char *const changes[][2] = {
        {"echo secret two > .new && mv .new .env", "/.env'"},
        {"rm .env && echo secret two > .env", "/.env'"},
        {"echo new > .git/lock && mv .git/lock .git/config", "/.git/config'"},
        {"mv .git .moved && mkdir .git && echo new > .git/config", "/.git"},
    };

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        prepare();
        struct drive_end end = run_while(changes[i][0], "sleep 100");
        CHECK_INT(125, end.status);
        CHECK(strstr(end.err, changes[i][1]) != NULL);
        CHECK(strstr(end.err, "was replaced or removed on the host") != NULL);
        CHECK(strstr(end.out, "secret") == NULL);
        clean();
    }
}

/* Other changes around them are nobody's end. */
static void other_changes(void)
{
    prepare();
    struct drive_end end = run_while("echo > other && mv other another && rm another && "
                                     "echo changed > .env && echo changed > .git/config",
                                     "cat");
    CHECK_INT(2, end.status); /* the shell's, which could not write */
    CHECK(strstr(end.err, "was replaced") == NULL);
    CHECK(strstr(end.out, "changed") == NULL);
    clean();
}

static void in_a_sandbox_that_lasts(void)
{
    struct hutch_policy *policy = drive_policy(NULL);
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;

    prepare();
    REQUIRE(hutch_sandbox_open(policy, NULL, NULL, &sandbox, &err) == 0);
    hutch_policy_free(policy);
    command.argv = LIST("sh", "-c", "cat .env");
    REQUIRE(hutch_sandbox_exec(sandbox, &command, &result, &err) == 0);
    CHECK_INT(1, result->exit_code);
    hutch_result_free(result);
    result = NULL;
    REQUIRE(drive_shell("echo secret two > .new && mv .new .env") == 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(HUTCH_ESTATE, hutch_sandbox_exec(sandbox, &command, &result, &err));
        CHECK(!result && strstr(err.msg, "/.env' was replaced") != NULL);
    }
    hutch_sandbox_close(sandbox);
    clean();
}

int main(void)
{
    static const struct box_test tests[] = {
        {"while a command runs", while_a_command_runs},
        {"other changes around them", other_changes},
        {"in a sandbox that lasts", in_a_sandbox_that_lasts},
        {NULL, NULL},
    };

    return box_main(tests);
}
