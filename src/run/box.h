/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox and the runs in it: planned, started, listened to, ended. What the sandbox says is for one of
 * its runs; whoever listens passes it on to that one. One thread at a time.
 */
#pragma once

#include <hutch.h>

#include "backend/backend.h"
#include "run/disk.h"
#include "run/loop.h"

struct hutch_run;
struct policy;

struct hutch_sandbox {
    struct plan
        *plan; /* in its arena: the sandbox, all that lasts as long, and a run that owns it */
    const struct backend *backend;
    struct sandbox *sandbox;
    bool ready;               /* it has been set up */
    bool gone;                /* init has been reaped: no process is left */
    struct sys_exit exit;     /* of init, when it is gone */
    struct hutch_error error; /* code 0: it is well */
    struct hutch_step setup[SANDBOX_STEPS_MAX];
    double setup_total_ms;
    const struct hutch_fact *enforced;
    struct sandbox_usage usage; /* as measured last, by any run */
    struct disk disk;
    struct loop loop; /* of a run that is over, for the next */
    hutch_event_fn *on_event;
    void *arg;
    struct hutch_run *runs; /* by `next` */
    size_t run_count;
    uint32_t last_run; /* the newest one's number */
};

/* Plan one. On success the caller owns *ret; free it with box_free(). */
int box_new(const struct policy *policy, bool lasting, hutch_event_fn *on_event, void *arg,
            struct hutch_sandbox **ret, struct hutch_error *err);

/* Start it. It sets itself up while the caller does other things. */
int box_start(struct hutch_sandbox *box, struct hutch_error *err);

/* Wait until it is set up. */
int box_wait(struct hutch_sandbox *box, struct hutch_error *err);

/*
 * Take all that it has to say, and pass it on; runs other than `current` are woken when there was
 * something for them. Negative when the sandbox is broken: no run of it can go on then.
 */
int box_pump(struct hutch_sandbox *box, struct hutch_run *current, struct hutch_error *err);

/* `exit_fd` is readable: reap, and tell all runs. */
int box_reap(struct hutch_sandbox *box, struct hutch_run *current, struct hutch_error *err);

/* The sandbox's own events. */
void box_emit(const struct hutch_sandbox *box, struct hutch_event event);

/* Its runs that are left know that it is gone. NULL is accepted. */
void box_free(struct hutch_sandbox *box);
