/* SPDX-License-Identifier: Apache-2.0 */
/* The peak resident size of `hutch run` while its command waits for input. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long peak_kib;

static long read_peak_kib(pid_t pid)
{
    char path[64];
    char line[256];
    long kib = -1;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    }
    if (file)
        fclose(file);
    if (kib < 0)
        die("cannot read the peak size in %s", path);
    return kib;
}

/* One byte through the sandboxed cat shows that all is set up; then the engine only waits. */
static void measure(const struct bench *bench)
{
    const char *const argv[] = {bench->hutch, "run", "--", "cat", NULL};
    int in[2];
    int out[2];
    char byte = 'x';

    make_pipe(in);
    make_pipe(out);
    pid_t pid = start(argv, bench->empty, in[0], out[1], -1);
    close(in[0]);
    close(out[1]);
    if (write(in[1], &byte, 1) != 1 || read(out[0], &byte, 1) != 1)
        die("the sandboxed cat does not answer");

    peak_kib = read_peak_kib(pid);
    close(in[1]);
    finish(pid, "hutch run -- cat");
    close(out[0]);
}

static void print_text(void)
{
    printf("engine, peak resident: %ld KiB\n", peak_kib);
}

static void print_goals(void)
{
    print_goal("engine, MiB", (double)peak_kib / 1024, "<=", 3);
}

static void print_json(void)
{
    printf("\"engine_peak_kib\": %ld", peak_kib);
}

const struct subject subject_engine = {"engine", measure, print_text, print_goals, print_json};
