/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor knows of one run. For the files of this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <hutch.h>

#include "backend/backend.h"
#include "run/capture.h"
#include "run/monitor.h"
#include "run/relay.h"

#define RUN_ID 1
#define VIOLATIONS_MAX 128

enum run_state { RUN_SETTING_UP, RUN_RUNNING, RUN_DRAINING, RUN_OVER, RUN_FAILED };

struct hutch_run {
    enum run_state state;
    struct plan *plan;
    struct plan_command command;
    const struct backend *backend;
    struct sandbox *sandbox;
    int epoll;
    int timer;
    int terminal; /* master, for resizing; -1 without one */
    struct relay input;
    struct relay output[2];
    struct capture capture[2];
    int caller[3]; /* duplicates of the caller's descriptors until relays take them; -1: none */
    bool ready;    /* the sandbox has been set up */
    bool gone;     /* init has been reaped: no process is left */
    bool exited;   /* the command's own end is known */
    struct sys_exit exit;
    enum hutch_reason ending; /* HUTCH_EXITED unless we ended it */
    bool in_grace;
    bool last_chance; /* everything but init has been killed */
    struct monitor monitor;
    bool monitored; /* to its end */
    uint64_t started_ns;
    uint64_t ended_ns;
    struct hutch_step setup[SANDBOX_STEPS_MAX];
    double setup_total_ms;
    int exec_errno;
    struct hutch_violation *violations; /* in the plan's arena */
    size_t violation_count;
    size_t violation_cap;
    uint64_t violation_total;
    struct hutch_error error;
    struct hutch_result *result;
    hutch_event_fn *on_event;
    void *arg;
};

/* report.c: the result of a run that is over. */
int run_report(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err);
