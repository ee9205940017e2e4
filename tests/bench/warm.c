/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command in a sandbox that is open already, beside a bare process: from the call to its result, with
 * both of its outputs captured. They take turns, each time in another order.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { BARE, LASTING, CASES };

static const char *const argv[] = {"/bin/true", NULL};
static const char *const names[CASES] = {"bare, output captured", "in a lasting sandbox"};

static double p50[CASES];
static double p90[CASES];
static size_t rounds;

static void measure(const struct bench *bench)
{
    struct hutch_sandbox *sandbox = open_sandbox(bench->empty);
    double *us[CASES] = {make_numbers(bench->iterations), make_numbers(bench->iterations)};
    int order[CASES] = {BARE, LASTING};
    unsigned state = 1;

    rounds = bench->iterations;
    run_captured(argv, bench->empty); /* the first ones read from disk */
    exec_in(sandbox, argv);
    for (size_t n = 0; n < rounds; n++) {
        check_stop();
        shuffle(order, CASES, &state);
        for (int i = 0; i < CASES; i++) {
            double begin = now_us();
            if (order[i] == BARE)
                run_captured(argv, bench->empty);
            else
                exec_in(sandbox, argv);
            us[order[i]][n] = now_us() - begin;
        }
    }
    close_sandbox();
    for (int i = 0; i < CASES; i++) {
        p50[i] = percentile(us[i], rounds, 50);
        p90[i] = percentile(us[i], rounds, 90);
        free(us[i]);
    }
}

static void print_text(void)
{
    printf("%-34s %8s %8s %9s\n", "warm", "p50 us", "p90 us", "x bare");
    for (int i = 0; i < CASES; i++)
        printf("  %-32s %8.0f %8.0f%9.2f\n", names[i], p50[i], p90[i], p50[i] / p50[BARE]);
    printf("  (%zu of each, taking turns; ratios of p50)\n", rounds);
}

static void print_goals(void)
{
    print_goal("exec in a lasting sandbox / bare", p50[LASTING] / p50[BARE], "<=", 1.15);
}

static void print_json(void)
{
    printf("\"warm\": {\"bare\": {\"p50_us\": %.1f, \"p90_us\": %.1f}, ", p50[BARE], p90[BARE]);
    printf("\"lasting\": {\"p50_us\": %.1f, \"p90_us\": %.1f, \"to_bare\": %.3f}}", p50[LASTING],
           p90[LASTING], p50[LASTING] / p50[BARE]);
}

const struct subject subject_warm = {"warm", measure, print_text, print_goals, print_json};
