/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching what a run uses: measured every few milliseconds while it runs and once at its end. The
 * monitor says what was found; ending the run is the supervisor's. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <hutch.h>

#include "backend/backend.h"

struct growth;

#define MONITOR_NESTED_MAX 32

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
    int timer;             /* readable when it is time to measure; -1 before monitor_arm() */
    struct growth *growth; /* of directories on the host; NULL: nothing to watch */
    int nested[MONITOR_NESTED_MAX]; /* what is mounted below them */
    size_t nested_count;
    bool nested_known;
    struct sandbox_usage usage;
    uint64_t seen_processes;
    uint64_t base_user_us; /* what the sandbox had used before; not this run's */
    uint64_t base_system_us;
    uint64_t started_ns;
    uint64_t grown_bytes;  /* on the host */
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

/* What is on the disk now is the base: before the command can write. */
int monitor_init(struct monitor *monitor, const struct plan *plan);

/* There have been this many processes at a time, which only somebody else could see. */
void monitor_saw(struct monitor *monitor, uint64_t processes);

/* The command runs. */
void monitor_start(struct monitor *monitor, struct sandbox *sandbox, uint64_t started_ns,
                   const struct sandbox_usage *before);

/* And goes on running. -errno when there is no timer. */
int monitor_arm(struct monitor *monitor);

/* A time without what was there before; SANDBOX_UNKNOWN stays. */
uint64_t monitor_since(uint64_t now_us, uint64_t base_us);

/*
 * Measure, and set the timer for the next time. Returns how many of `ret` were filled: warnings, at
 * most one for each limit in the life of a run, and one last finding that ends the run. -errno when
 * what has to be measured cannot be.
 */
int monitor_step(struct monitor *monitor, struct sandbox *sandbox,
                 struct monitor_finding ret[LIMIT_COUNT + 1]);

/*
 * The command has ended by itself, well or not. Measure for the last time; the reason is another than
 * HUTCH_EXITED when a limit was what ended it or made it fail.
 */
enum hutch_reason monitor_end(struct monitor *monitor, struct sandbox *sandbox,
                              const struct sys_exit *ended, struct monitor_finding *ret);

void monitor_clear(struct monitor *monitor);
