/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many sandboxes open at once in one program, with a command in each: how long each takes to open, use
 * and close, and how much memory it needs. There are fewer of them where descriptors or memory run out.
 *
 * Memory is counted twice. What the engine and the sandboxes' first processes have in memory, shared pages
 * divided among those who share them (PSS); only root may see that of the latter, so that for others it
 * is their whole resident size. And what the host has less of, with all that the kernel keeps.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    WANTED = 1000,
    SPARE_FDS = 32,                /* kept while sandboxes are opened, for what comes after */
    SPARE_MEMORY_KIB = 512 * 1024, /* left to the host */
};

static struct hutch_sandbox *sandboxes[WANTED];

static size_t count;
static char stopped_by[400]; /* why there are no more; empty: there are as many as wanted */
static double open_us, exec_us, close_us; /* of one; open and exec: p50 */
static double process_kib, host_kib;      /* of one */
static const char *measure_name = "PSS";

static void close_all(void)
{
    for (size_t i = 0; i < WANTED; i++) {
        hutch_sandbox_close(sandboxes[i]);
        sandboxes[i] = NULL;
    }
}

/* The number behind `key` in a file of /proc, or -1. */
static long read_kib(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    size_t len = strlen(key);
    char line[256];
    long kib = -1;

    while (file && kib < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, len) == 0)
            kib = strtol(line + len, NULL, 10);
    }
    if (file)
        fclose(file);
    return kib;
}

static long available_kib(void)
{
    long kib = read_kib("/proc/meminfo", "MemAvailable:");

    if (kib < 0)
        die("cannot read /proc/meminfo");
    return kib;
}

static long process_size_kib(const char *pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pid);
    long kib = read_kib(path, "Pss:");
    if (kib >= 0)
        return kib;
    measure_name = "RSS";
    snprintf(path, sizeof path, "/proc/%s/status", pid);
    kib = read_kib(path, "VmRSS:");
    if (kib < 0)
        die("cannot read the size of process %s", pid);
    return kib;
}

/* This program and its children, which are the sandboxes' first processes. */
static double all_processes_kib(void)
{
    double kib = (double)process_size_kib("self");
    char path[64];
    char pid[32];

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (!file)
        die("cannot read '%s': %s", path, strerror(errno));
    while (fscanf(file, "%31s", pid) == 1)
        kib += (double)process_size_kib(pid);
    fclose(file);
    return kib;
}

static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Open as many as there can be; `us` gets how long each took. */
static void open_all(double *us)
{
    struct hutch_policy *policy = make_policy("tmpfs");
    struct hutch_error err;
    int spare[SPARE_FDS];

    for (int i = 0; i < SPARE_FDS; i++)
        spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (count = 0; count < WANTED; count++) {
        check_stop();
        if (available_kib() < SPARE_MEMORY_KIB) {
            snprintf(stopped_by, sizeof stopped_by, "the host has little memory left");
            break;
        }
        double begin = now_us();
        if (hutch_sandbox_open(policy, NULL, NULL, &sandboxes[count], &err) < 0) {
            snprintf(stopped_by, sizeof stopped_by, "%s", err.msg);
            break;
        }
        us[count] = now_us() - begin;
    }
    for (int i = 0; i < SPARE_FDS; i++)
        close(spare[i]);
    hutch_policy_free(policy);
    if (count == 0)
        die("cannot open a sandbox: %s", stopped_by);
}

static void measure(const struct bench *bench)
{
    static const char *const argv[] = {"/bin/true", NULL};
    double *us = make_numbers(WANTED);

    (void)bench;
    raise_descriptors();
    atexit(close_all);
    double own_kib = (double)process_size_kib("self");
    double host_before = (double)available_kib();
    open_all(us);
    open_us = percentile(us, count, 50);
    for (size_t i = 0; i < count; i++) {
        check_stop();
        double begin = now_us();
        exec_in(sandboxes[i], argv);
        us[i] = now_us() - begin;
    }
    exec_us = percentile(us, count, 50);
    process_kib = (all_processes_kib() - own_kib) / (double)count;
    host_kib = (host_before - (double)available_kib()) / (double)count;

    double begin = now_us();
    close_all();
    close_us = (now_us() - begin) / (double)count;
    free(us);
}

static void print_text(void)
{
    printf("many: %zu sandboxes at once", count);
    if (stopped_by[0])
        printf(" (%d wanted: %s)", WANTED, stopped_by);
    printf("\n  %-32s %8.0f\n", "open, p50 us", open_us);
    printf("  %-32s %8.0f\n", "/bin/true in each, p50 us", exec_us);
    printf("  %-32s %8.0f\n", "close, mean us", close_us);
    printf("  %s %-28s %8.0f\n", measure_name, "of one, KiB", process_kib);
    printf("  %-32s %8.0f\n", "memory of the host for one, KiB", host_kib);
}

static void print_goals(void)
{
    print_goal("memory of an open sandbox, MiB", process_kib / 1024, "<=", 1);
}

static void print_json(void)
{
    printf("\"many\": {\"count\": %zu, \"open_p50_us\": %.1f, \"exec_p50_us\": %.1f, ", count,
           open_us, exec_us);
    printf("\"close_us\": %.1f, \"%s_kib\": %.0f, \"host_kib\": %.0f}", close_us,
           measure_name[0] == 'P' ? "pss" : "rss", process_kib, host_kib);
}

const struct subject subject_many = {"many", measure, print_text, print_goals, print_json};
