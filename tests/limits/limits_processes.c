/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and threads: refused inside, and the run goes on. */
#include <string.h>

#include "limit.h"

#define LIMIT "--processes", "16"

static const char *hold(void)
{
    return box_text("%.0f", 150 * limit_slow());
}

static void under(void)
{
    struct limit_run run = limit_run(LIST(LIMIT), BOMB("forks", "10", ",", "sleep", hold()));
    const char *means = limit_enforced(&run, "processes");

    CHECK_END(&run, "exited", 0);
    CHECK_TEXT("ok", limit_said_error(&run, "forks"));
    CHECK_INT(11, (long long)limit_usage(&run, "peak_processes"));
    CHECK_INT(0, limit_events(&run, "limit.warning", NULL));
    CHECK_TEXT(strcmp(limit_enforced(&run, "cgroup"), "v2") == 0 ? "cgroup" : "rlimit", means);
}

static void warned(void)
{
    struct limit_run run = limit_run(LIST(LIMIT), BOMB("forks", "13", ",", "sleep", hold()));

    CHECK_END(&run, "exited", 0);
    CHECK_INT(14, (long long)limit_usage(&run, "peak_processes"));
    CHECK_INT(1, limit_events(&run, "limit.warning", "processes"));
}

/* The command itself is the first of them. */
static void over(void)
{
    struct limit_run run = limit_run_beside(LIST(LIMIT), BOMB("forks", "40", ",", "sleep", hold()));

    CHECK_END(&run, "processes", 1);
    CHECK_INT(15, (long long)limit_said(&run, "forks"));
    CHECK_TEXT("EAGAIN", limit_said_error(&run, "forks"));
    CHECK_INT(16, (long long)limit_usage(&run, "peak_processes"));
    CHECK_INT(1, limit_events(&run, "limit.warning", "processes"));
    limit_check_clean(&run);
}

static void threads_count(void)
{
    struct limit_run run = limit_run(LIST(LIMIT), BOMB("threads", "40", ",", "sleep", hold()));

    CHECK_END(&run, "processes", 1);
    CHECK_INT(15, (long long)limit_said(&run, "threads"));
    CHECK_TEXT("EAGAIN", limit_said_error(&run, "threads"));
    CHECK_INT(16, (long long)limit_usage(&run, "peak_processes"));
}

/* A command that copes with it has not failed. */
static void over_and_well(void)
{
    struct limit_run run = limit_run(LIST(LIMIT),
                                     BOMB("forks", "40", ",", "sleep", hold(), ",", "exit", "0"));

    CHECK_END(&run, "exited", 0);
    CHECK_TEXT("EAGAIN", limit_said_error(&run, "forks"));
}

static void fails_for_another_reason(void)
{
    struct limit_run run = limit_run(LIST(LIMIT), BOMB("forks", "10", ",", "exit", "3"));

    CHECK_END(&run, "exited", 3);
}

/* Those that are gone leave their places to others. */
static void places_are_given_back(void)
{
    struct limit_run run = limit_run(
        LIST(LIMIT), BOMB("orphans", "100", ",", "sleep", hold(), ",", "forks", "10"));

    CHECK_END(&run, "exited", 0);
    CHECK_INT(100, (long long)limit_said(&run, "orphans"));
}

static void fork_bomb(void)
{
    double ms = 1000 * limit_slow();
    struct limit_run run = limit_run_beside(
        LIST("--processes", "64", "--timeout", box_text("%.0fms", ms)), BOMB("forkbomb"));

    CHECK_END(&run, "timeout", 124);
    CHECK_MOST(64, limit_usage(&run, "peak_processes"));
    limit_check_clean(&run);
    CHECK_MOST(2 * ms, run.ms);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"processes below the limit are counted", under},
        {"processes have a warning at 80 %", warned},
        {"processes above the limit are refused", over},
        {"processes that are threads count", threads_count},
        {"processes refused to one who copes", over_and_well},
        {"processes are no reason without a refusal", fails_for_another_reason},
        {"processes that are gone do not count", places_are_given_back},
        {"processes of a fork bomb", fork_bomb},
        {0},
    };

    return box_main(tests);
}
