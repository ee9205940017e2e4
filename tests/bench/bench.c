/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a sandbox costs, beside a bare process and beside bubblewrap, in one run.
 *
 *     HUTCH=build/release/hutch bench [-n N] [--json] [SUBJECT...]
 *
 * The subjects, all of them unless some are named:
 *  - spawn: a command in a sandbox of its own (spawn.c)
 *  - engine: the memory of `hutch run` (engine.c)
 *  - relay: how fast output arrives (relay.c)
 *  - warm: a command in a sandbox that is open already (warm.c)
 *  - trips: the same in a shell that lasts, and over rpc (trips.c)
 *  - many: a thousand sandboxes at once (many.c)
 *  - files: calls on the files of a sandbox, and the same over rpc (files.c)
 */
#include "bench.h"

#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SUBJECTS = 7 };

static const struct subject *const subjects[SUBJECTS] = {
    &subject_spawn, &subject_engine, &subject_relay, &subject_warm,
    &subject_trips, &subject_many,   &subject_files,
};

static struct bench bench = {.iterations = 300};
static bool chosen[SUBJECTS];

/* ---- Leaving nothing behind ---------------------------------------------------------------- */

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
    (void)signal;
    stop = 1;
}

void check_stop(void)
{
    if (stop)
        die("interrupted");
}

static void catch_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tree(void)
{
    nftw(bench.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_places(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(bench.root, sizeof bench.root, "%s/hutch-bench.XXXXXX", tmp ? tmp : "/var/tmp");
    if (!mkdtemp(bench.root))
        die("cannot make '%s': %s", bench.root, strerror(errno));
    atexit(remove_tree);
    make_dir(bench.empty, bench.root, "empty");
}

/* ---- Report -------------------------------------------------------------------------------- */

static void print_text(void)
{
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (chosen[i]) {
            subjects[i]->print_text();
            putchar('\n');
        }
    }
    const char *title = "goals\n";
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (chosen[i] && subjects[i]->print_goals) {
            fputs(title, stdout);
            subjects[i]->print_goals();
            title = "";
        }
    }
}

static void print_json(void)
{
    printf("{\"iterations\": %zu", bench.iterations);
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (chosen[i]) {
            printf(", ");
            subjects[i]->print_json();
        }
    }
    puts("}");
}

static const char usage[] =
    "usage: HUTCH=PROGRAM bench [-n N] [--json] [spawn] [engine] [relay] [warm] [trips] [many] [files]";

static void choose(char **names, size_t count)
{
    for (size_t i = 0; count == 0 && i < SUBJECTS; i++)
        chosen[i] = true;
    for (size_t n = 0; n < count; n++) {
        size_t i = 0;

        while (i < SUBJECTS && strcmp(subjects[i]->name, names[n]) != 0)
            i++;
        if (i == SUBJECTS)
            die("%s", usage);
        chosen[i] = true;
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
    bool json = false;
    int option;

    while ((option = getopt_long(argc, argv, "n:", options, NULL)) != -1) {
        if (option == 'j')
            json = true;
        else if (option == 'n')
            bench.iterations = strtoul(optarg, NULL, 10);
        else
            die("%s", usage);
    }
    if (bench.iterations == 0 || bench.iterations > 1000000)
        die("%s", usage);
    choose(argv + optind, (size_t)(argc - optind));

    const char *program = getenv("HUTCH");
    char *hutch = program ? realpath(program, NULL) : NULL;
    if (!hutch)
        die("the variable HUTCH must name the program; it is '%s'", program ? program : "");
    bench.hutch = hutch;

    catch_signals();
    make_places();
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (chosen[i])
            subjects[i]->measure(&bench);
    }
    if (json)
        print_json();
    else
        print_text();
    free(hutch);
    return 0;
}
