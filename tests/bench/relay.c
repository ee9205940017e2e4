/* SPDX-License-Identifier: Apache-2.0 */
/* How fast output arrives through hutch, and through a plain pipe. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDS = 7,
    REPEAT = 16, /* how often cat is given the big file */
    FILE_MB = 64,
    MAX_ARGS = 32,
};

enum { PLAIN, CAT, HUTCH, CASES };

struct relay_case {
    const char *name;
    const char *argv[MAX_ARGS];
    double mb_per_s[ROUNDS];
    double p50;
};

static struct relay_case cases[CASES];

static void make_big_file(const char *dir)
{
    static char block[1 << 20];
    char path[PATH_MAX + 8];

    snprintf(path, sizeof path, "%s/big", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    for (int i = 0; i < FILE_MB; i++) {
        if (fd < 0 || write(fd, block, sizeof block) != sizeof block)
            die("cannot write '%s': %s", path, strerror(errno));
    }
    close(fd);
}

static void set_cases(const char *hutch)
{
    struct relay_case rows[CASES] = {
        [PLAIN] = {"cat, plain pipe", {"cat"}},
        [CAT] = {"cat, through another cat", {"sh", "-c", "cat \"$@\" | cat", "sh"}},
        [HUTCH] = {"cat, through hutch run", {hutch, "run", "--", "cat"}},
    };

    for (int i = 0; i < CASES; i++) {
        const char **arg = rows[i].argv;

        while (*arg)
            arg++;
        for (int n = 0; n < REPEAT; n++)
            *arg++ = "big";
    }
    memcpy(cases, rows, sizeof rows);
}

static double time_relay(const struct relay_case *c, const char *cwd)
{
    static char sink[1 << 20];
    const size_t want = (size_t)FILE_MB * REPEAT << 20;
    size_t got = 0;
    ssize_t n;
    int out[2];

    make_pipe(out);
    double begin = now_us();
    pid_t pid = start(c->argv, cwd, -1, out[1], -1);
    close(out[1]);
    while ((n = read(out[0], sink, sizeof sink)) > 0)
        got += (size_t)n;
    double us = now_us() - begin;
    close(out[0]);
    finish(pid, c->name);
    if (got != want)
        die("'%s' delivered %zu of %zu bytes", c->name, got, want);
    return (double)got / us; /* bytes a microsecond are megabytes a second */
}

static void measure(const struct bench *bench)
{
    char dir[PATH_MAX];

    make_dir(dir, bench->root, "relay");
    make_big_file(dir);
    set_cases(bench->hutch);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CASES; i++) {
            check_stop();
            cases[i].mb_per_s[round] = time_relay(&cases[i], dir);
        }
    }
    for (int i = 0; i < CASES; i++)
        cases[i].p50 = percentile(cases[i].mb_per_s, ROUNDS, 50);
}

static void print_text(void)
{
    printf("%-34s %8s\n", "relay", "MB/s");
    for (int i = 0; i < CASES; i++)
        printf("  %-32s %8.0f\n", cases[i].name, cases[i].p50);
}

static void print_goals(void)
{
    print_goal("relay / plain pipe", cases[HUTCH].p50 / cases[PLAIN].p50, ">=", 0.5);
}

static void print_json(void)
{
    static const char *const keys[CASES] = {"plain", "cat", "hutch"};

    printf("\"relay_mb_per_s\": {");
    for (int i = 0; i < CASES; i++)
        printf("%s\"%s\": %.0f", i ? ", " : "", keys[i], cases[i].p50);
    putchar('}');
}

const struct subject subject_relay = {"relay", measure, print_text, print_goals, print_json};
