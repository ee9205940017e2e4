/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many sandboxes open at once in one program, with a command in each: how long each takes to open, use
 * and close, and how much memory it needs. There are fewer of them where descriptors or memory run out.
 *
 * Memory is counted twice. What the engine and the sandboxes' first processes have in memory, shared pages
 * divided among those who share them (PSS); only root may see that of the latter. And what the host has
 * less of, with all that the kernel keeps.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    WANTED = 1000,
    EDGE = 100,                    /* how many are the first ones, and the last ones */
    SPARE_FDS = 32,                /* kept while sandboxes are opened, for what comes after */
    SPARE_MEMORY_KIB = 512 * 1024, /* left to the host */
};

static struct hutch_sandbox *sandboxes[WANTED];

static size_t count;
static char stopped_by[400]; /* why there are no more; empty: there are as many as wanted */

/* Of one sandbox. All times but that of closing are p50. */
static double open_us, first_us, last_us, exec_us, again_us, close_us;
static double pss_kib, host_kib; /* less than 0: not known */

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

/* This program and its children, which are the sandboxes' first processes; -1 when that is not shown. */
static double all_pss_kib(void)
{
    double kib = (double)read_kib("/proc/self/smaps_rollup", "Pss:");
    char path[64];
    char pid[16];

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (kib >= 0 && fscanf(file, "%15s", pid) == 1) {
        /* One that has our memory, to remove control groups, has been counted with it. */
        if (syscall(SYS_kcmp, getpid(), strtol(pid, NULL, 10), KCMP_VM, 0, 0) == 0)
            continue;
        snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pid);
        long one = read_kib(path, "Pss:");
        kib = one < 0 ? -1 : kib + (double)one;
    }
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

/* One command in each; how long it took, p50. */
static double use_all(double *us)
{
    static const char *const argv[] = {"/bin/true", NULL};

    for (size_t i = 0; i < count; i++) {
        check_stop();
        double begin = now_us();
        exec_in(sandboxes[i], argv);
        us[i] = now_us() - begin;
    }
    return percentile(us, count, 50);
}

static void measure(const struct bench *bench)
{
    double *us = make_numbers(WANTED);

    (void)bench;
    raise_descriptors();
    atexit(close_all);
    double pss_before = all_pss_kib();
    double host_before = (double)available_kib();
    open_all(us);
    size_t edge = count < EDGE ? count : EDGE;
    first_us = percentile(us, edge, 50);
    last_us = percentile(us + count - edge, edge, 50);
    open_us = percentile(us, count, 50);
    exec_us = use_all(us);
    again_us = use_all(us);
    double pss_after = all_pss_kib();
    pss_kib = pss_after < 0 ? -1 : (pss_after - pss_before) / (double)count;
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
    printf("  %-32s %8.0f\n", "  of the first hundred", first_us);
    printf("  %-32s %8.0f\n", "  of the last hundred", last_us);
    printf("  %-32s %8.0f\n", "/bin/true in each, p50 us", exec_us);
    printf("  %-32s %8.0f\n", "  once more", again_us);
    printf("  %-32s %8.0f\n", "close, mean us", close_us);
    if (pss_kib >= 0)
        printf("  %-32s %8.0f\n", "processes of one, PSS, KiB", pss_kib);
    printf("  %-32s %8.0f\n", "memory of the host for one, KiB", host_kib);
}

static void print_goals(void)
{
    double kib = pss_kib >= 0 ? pss_kib : host_kib;

    print_goal("memory of an open sandbox, MiB", kib / 1024, "<=", 1);
}

static void print_json(void)
{
    printf("\"many\": {\"count\": %zu, \"open_p50_us\": %.1f, \"open_first_p50_us\": %.1f, ", count,
           open_us, first_us);
    printf("\"open_last_p50_us\": %.1f, \"exec_p50_us\": %.1f, \"again_p50_us\": %.1f, ", last_us,
           exec_us, again_us);
    printf("\"close_us\": %.1f, ", close_us);
    if (pss_kib >= 0)
        printf("\"pss_kib\": %.0f, ", pss_kib);
    printf("\"host_kib\": %.0f}", host_kib);
}

const struct subject subject_many = {"many", measure, print_text, print_goals, print_json};
