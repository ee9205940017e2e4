/* SPDX-License-Identifier: Apache-2.0 */
/* Where events of a run are written: the file of --events, and the log HUTCH_AUDIT_LOG names. */
#pragma once

#include <stdbool.h>

#include <hutch.h>

struct event_file {
    const char *path; /* NULL: not asked for */
    int fd;           /* -1: not open */
    int failed;       /* errno of the first write that failed, 0 */
    bool output;      /* run.output goes there too */
};

struct events {
    struct event_file files[2];
};

#define EVENTS_INIT                                                                                \
    {                                                                                              \
        .files = { {.fd = -1}, {.fd = -1} }                                                        \
    }

/* Open what was asked for. `path` is that of --events, or NULL; "-" is stderr. */
int events_open(struct events *events, const char *path, struct hutch_error *err);
void events_close(struct events *events);

#define events_auto __attribute__((cleanup(events_close)))

/* Whether anyone wants events. */
bool events_wanted(const struct events *events);

/* A hutch_event_fn; `arg` is the struct events. */
void events_write(void *arg, const struct hutch_event *event);

/* Say which files are incomplete. */
void events_report(const struct events *events);
