/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor knows of one run. For the files of this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <hutch.h>

#include "base/fd.h"
#include "run/box.h"
#include "run/capture.h"
#include "run/monitor.h"
#include "run/relay.h"

#define VIOLATIONS_MAX 128

enum run_state { RUN_SETTING_UP, RUN_RUNNING, RUN_DRAINING, RUN_OVER, RUN_FAILED };

struct hutch_run {
    enum run_state state;
    struct hutch_sandbox *box; /* NULL: it was closed before the run was freed */
    struct hutch_run *next;    /* of the same sandbox */
    uint32_t id;
    bool owner; /* the sandbox is this run's own, and ends with it */
    struct arena *arena;
    struct arena own_arena; /* of a run whose sandbox stays */
    struct plan_command command;
    int epoll;
    int wake; /* readable when another run's step has taken something for this one; -1: alone */
    int timer;
    int terminal; /* master, for resizing; -1 without one */
    struct relay input;
    bool stdin_open; /* the caller writes it */
    int stdin_fd;    /* for that: our end; -1 before there is one, and after */
    struct relay output[2];
    struct capture capture[2];
    int caller[3]; /* duplicates of the caller's descriptors until relays take them; -1: none */
    bool exited;   /* the command's own end is known */
    bool told;     /* that the sandbox is gone */
    struct sys_exit exit;
    enum hutch_reason ending; /* HUTCH_EXITED unless we ended it */
    bool in_grace;
    bool last_chance; /* everything but init has been killed */
    struct monitor monitor;
    bool monitored; /* to its end */
    uint64_t started_ns;
    uint64_t ended_ns;
    int exec_errno;
    struct hutch_violation *violations; /* in the arena */
    size_t violation_count;
    size_t violation_cap;
    uint64_t violation_total;
    struct hutch_error error;
    struct hutch_result *result;
    hutch_event_fn *on_event;
    void *arg;
};

/* run.c, for box.c: something for this run; and that there was. */
void run_on_event(struct hutch_run *run, struct sandbox_event *event);
void run_wake(const struct hutch_run *run);

/* report.c: the result of a run that is over. */
int run_report(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err);
