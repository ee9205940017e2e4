/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching what a run uses: measured every few milliseconds while it runs and once at its end. The
 * monitor says what was found; ending the run is the supervisor's. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <hutch.h>

#include "backend/backend.h"

struct disk;

enum monitor_limit {
    LIMIT_TIMEOUT,
    LIMIT_CPU_TIME,
    LIMIT_MEMORY,
    LIMIT_PROCESSES,
    LIMIT_DISK,
    LIMIT_OUTPUT,
    LIMIT_COUNT,
};

struct monitor {
    const struct plan *plan;
    struct disk *disk; /* the sandbox's */
    pid_t leader;      /* inside: the command */
    uint64_t started_ns;
    uint64_t timeout_ms;
    struct sandbox_usage usage; /* the sandbox's, now */
    struct sandbox_usage base;  /* when the run began: not this run's */
    uint64_t base_disk_bytes;
    uint64_t base_disk_found;
    uint64_t seen_memory_bytes; /* the most, while it ran */
    uint64_t seen_processes;
    uint64_t own_cpu_us; /* of a run in a sandbox that lasts, when that was looked at */
    uint64_t own_cpu_next_ns;
    uint64_t output_bytes; /* told by the supervisor */
    unsigned warned;       /* a bit for each limit */
    unsigned failures;     /* to measure, one after the other */
};

/* A limit that came near, or was passed. */
struct monitor_finding {
    const char *limit;
    uint64_t current;
    uint64_t max;
    enum hutch_reason reason; /* why the run has to end; HUTCH_EXITED: it has not, only take note */
};

void monitor_init(struct monitor *monitor, const struct plan *plan, struct disk *disk);

/* There have been this many processes at a time, which only somebody else could see. */
void monitor_saw(struct monitor *monitor, uint64_t processes);

/* The command runs. */
struct monitor_started {
    uint64_t at_ns;
    pid_t leader; /* inside */
    uint64_t timeout_ms;
    const struct sandbox_usage *before; /* what the sandbox had used, as measured last */
};

void monitor_start(struct monitor *monitor, struct sandbox *sandbox,
                   const struct monitor_started *started);

/* When to look for the first time after that. */
#define MONITOR_FIRST_MS 10

/* What was added to an amount; SANDBOX_UNKNOWN stays. */
uint64_t monitor_since(uint64_t now_us, uint64_t base_us);

/*
 * Measure, and say when to do it again. Returns how many of `ret` were filled: warnings, at most one
 * for each limit in the life of a run, and one last finding that ends the run. -errno when what has to be
 * measured cannot be.
 */
int monitor_step(struct monitor *monitor, struct sandbox *sandbox,
                 struct monitor_finding ret[LIMIT_COUNT + 1], uint64_t *ret_next_ms);

/*
 * The command has ended by itself, well or not. Measure for the last time. As above; the last finding has a
 * reason other than HUTCH_EXITED when a limit was what ended it or made it fail.
 */
size_t monitor_end(struct monitor *monitor, struct sandbox *sandbox, const struct sys_exit *ended,
                   struct monitor_finding ret[LIMIT_COUNT + 1]);

/* The most that the sandbox had while this run ran. */
uint64_t monitor_peak_memory(const struct monitor *monitor);
uint64_t monitor_peak_processes(const struct monitor *monitor);
