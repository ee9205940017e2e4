/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command in a sandbox that is open already, beside a bare process: from the call to its result, with
 * both of its outputs captured. They take turns, each time in another order.
 */
#include "bench.h"

enum { BARE, LASTING, CASES };

static const char *const argv[] = {"/bin/true", NULL};
static struct turn turns[CASES] = {
    {"bare, output captured", "bare"},
    {"in a lasting sandbox", "lasting"},
};
static struct hutch_sandbox *sandbox;
static size_t rounds;

static void run_case(const struct bench *bench, int which)
{
    if (which == BARE)
        run_captured(argv, bench->empty);
    else
        exec_in(sandbox, argv);
}

static void measure(const struct bench *bench)
{
    rounds = bench->iterations;
    sandbox = open_sandbox(bench->empty);
    take_turns(bench, turns, CASES, run_case);
    close_sandbox();
}

static void print_text(void)
{
    print_turns("warm", turns, CASES, rounds);
}

static void print_goals(void)
{
    print_goal("exec in a lasting sandbox / bare", turns[LASTING].p50 / turns[BARE].p50,
               "<=", 1.15);
}

static void print_json(void)
{
    print_turns_json("warm", turns, CASES);
}

const struct subject subject_warm = {"warm", measure, print_text, print_goals, print_json};
