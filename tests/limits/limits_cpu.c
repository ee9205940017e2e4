/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of the whole tree, and the rate at which it may be used. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limit.h"

/* Starting programs takes time, too, and with cgroup v2 so does init. */
#define OVERHEAD_MS (25 * limit_slow() * limit_slow())

static bool is_sampled(const struct limit_run *run, const char *name)
{
    return strcmp(limit_enforced(run, name), "sampled") == 0;
}

/* Ways of the bomb to use CPU time: how long each time, how often, to stay below and to go over. */
static const struct way {
    const char *name;
    const char *little[2];
    const char *much[2];
    bool unseen; /* in nobody's account but a cgroup's */
} ways[] = {
    {"threads", {"150", "2"}, {"2500", "2"}, false},
    {"processes", {"150", "2"}, {"1250", "4"}, false},
    {"turns", {"60", "5"}, {"50", "100"}, false},
    {"unwatched", {"60", "5"}, {"50", "100"}, true},
    {"orphans", {"60", "5"}, {"50", "100"}, false},
};

static void check_under(const struct way *way)
{
    struct limit_run run = limit_run(LIST("--cpu-time", "2s"),
                                     BOMB("spin", way->little[0], way->little[1], way->name));
    double used = limit_said(&run, "spin") / 1000;
    double told = limit_usage(&run, "cpu_ms");

    CHECK_END(&run, "exited", 0);
    CHECK_INT(0, limit_events(&run, "limit.warning", NULL));
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
    CHECK_NEAR(told, limit_usage(&run, "user_ms") + limit_usage(&run, "system_ms"), 0.1);
    /* A sampler does not see the end of what nobody waits for. */
    if (way->unseen && is_sampled(&run, "cpu_time"))
        CHECK_LEAST(0.3 * used, told);
    else
        CHECK_NEAR(used, told, OVERHEAD_MS);
    CHECK_TEXT(strcmp(limit_enforced(&run, "cgroup"), "false") == 0 ? "sampled" : "cgroup",
               limit_enforced(&run, "cpu_time"));
}

static void under(void)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        check_under(&ways[i]);
}

static void check_over(const struct way *way)
{
    struct limit_run run = limit_run(LIST("--cpu-time", "500ms"),
                                     BOMB("spin", way->much[0], way->much[1], way->name));

    limit_note("%s: cpu_ms %.0f", way->name, limit_usage(&run, "cpu_ms"));
    CHECK_END(&run, "cpu_time", 124);
    limit_check_exceeded(&run, "cpu_time");
    limit_check_clean(&run);
    CHECK_LEAST(500, limit_usage(&run, "cpu_ms"));
    /* Every processor goes on until the limit is seen. */
    CHECK_MOST(500 + 150 * limit_slow() * (double)sysconf(_SC_NPROCESSORS_ONLN),
               limit_usage(&run, "cpu_ms"));
    CHECK_INT(1, json_is_false(json_object_get(run.result, "timed_out")));
}

static void over_in_threads(void)
{
    check_over(&ways[0]);
}

static void over_in_processes(void)
{
    check_over(&ways[1]);
}

static void over_in_turns(void)
{
    check_over(&ways[2]);
}

static void over_unwatched(void)
{
    check_over(&ways[3]);
}

static void over_in_orphans(void)
{
    check_over(&ways[4]);
}

static const char *limit_ms(double ms)
{
    return box_text("%.0fms", ms * limit_slow());
}

static void over_beside(void)
{
    struct limit_run run = limit_run_beside(LIST("--cpu-time", limit_ms(500)),
                                            BOMB("spin", "20000", "2"));

    CHECK_END(&run, "cpu_time", 124);
}

static void warned(void)
{
    const char *ms = box_text("%.0f", 840 * limit_slow());
    struct limit_run run = limit_run(LIST("--cpu-time", limit_ms(1000)), BOMB("spin", ms));

    CHECK_END(&run, "exited", 0);
    CHECK_INT(1, limit_events(&run, "limit.warning", "cpu_time"));
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
}

/* Time that passes is none that is used. */
static void waiting_is_free(void)
{
    struct limit_run run = limit_run(LIST("--cpu-time", "200ms"), BOMB("sleep", "500"));

    CHECK_END(&run, "exited", 0);
}

static void says_why(void)
{
    struct drive_end end = drive_cli(
        LIST("run", "--cpu-time", "200ms", "--", "./payload", "spin", "5000"));

    CHECK_INT(124, end.status);
    CHECK_HAS(end.err, "CPU");
    CHECK(strchr(end.err, '\n') == end.err + end.err_len - 1);
}

/* ---- The rate ---- */

static double rate_of(const struct limit_run *run)
{
    double rate = limit_said(run, "spin") / limit_said(run, "wall");

    limit_note("rate %.2f, by %s", rate, limit_enforced(run, "cpus"));
    return rate;
}

static void cpus_fraction(void)
{
    const char *const *flags = LIST("--cpus", "0.5", "--memory", "64M");

    if (strcmp(limit_tier(), "false") == 0) {
        const char *message = limit_refused(flags);
        CHECK_HAS(message, "cpus");
        CHECK_HAS(message, "0.5");
        return;
    }
    struct limit_run run = limit_run(flags, BOMB("spin", "150", "4"));
    CHECK_END(&run, "exited", 0);
    CHECK_TEXT("cgroup", limit_enforced(&run, "cpus"));
    CHECK_MOST(0.5 * 1.2, rate_of(&run));
    CHECK_NEAR(600, limit_usage(&run, "cpu_ms"), OVERHEAD_MS);
}

static void cpus_whole(void)
{
    struct limit_run run = limit_run(LIST("--cpus", "1"), BOMB("spin", "100", "4"));
    const char *means = limit_enforced(&run, "cpus");

    CHECK_END(&run, "exited", 0);
    /* A quota is kept over a tenth of a second, and may be used up at once at either end. */
    CHECK_MOST(strcmp(means, "affinity") == 0 ? 1.05 : 1.3, rate_of(&run));
    if (sysconf(_SC_NPROCESSORS_ONLN) == 1)
        CHECK_TEXT("host", means);
    else
        CHECK_TEXT(strcmp(limit_tier(), "false") == 0 ? "affinity" : "cgroup", means);
}

static void cpus_of_the_host(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    struct limit_run run = limit_run(LIST("--cpus", box_text("%ld", count)), BOMB("exit", "0"));

    CHECK_END(&run, "exited", 0);
    CHECK_TEXT("host", limit_enforced(&run, "cpus"));
}

int main(void)
{
    static const struct box_test tests[] = {
        {"CPU time below the limit is measured", under},
        {"CPU time of threads ends the run", over_in_threads},
        {"CPU time of processes ends the run", over_in_processes},
        {"CPU time of children that are gone ends the run", over_in_turns},
        {"CPU time of children nobody waits for ends the run", over_unwatched},
        {"CPU time of orphans ends the run", over_in_orphans},
        {"CPU time does not harm the neighbour", over_beside},
        {"CPU time has a warning at 80 %", warned},
        {"CPU time is not waiting", waiting_is_free},
        {"CPU time limit says why", says_why},
        {"CPUs by fractions", cpus_fraction},
        {"CPUs by whole numbers", cpus_whole},
        {"CPUs of the host", cpus_of_the_host},
        {0},
    };

    return box_main(tests);
}
