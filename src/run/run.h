/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor of one command: feeds it, captures it, times it, ends it, reports it. Driven by one
 * epoll descriptor; owns no thread, no signal handler and no global state.
 */
#pragma once

#include <hutch.h>

#include "plan/plan.h"

struct hutch_run;

/* Start a sandbox for `policy` and the command in it. */
int run_start(const struct policy *policy, const struct hutch_command *command,
              hutch_event_fn *on_event, void *arg, struct hutch_run **ret, struct hutch_error *err);

/* Start a command in a sandbox that lasts. Without `on_event` events are the sandbox's. */
int run_start_in(struct hutch_sandbox *box, const struct hutch_command *command,
                 hutch_event_fn *on_event, void *arg, struct hutch_run **ret,
                 struct hutch_error *err);

int run_fd(struct hutch_run *run);

/* 1 when over, 0 before, negative when the sandbox could not be set up or broke. */
int run_step(struct hutch_run *run, int timeout_ms, struct hutch_error *err);

int run_signal(struct hutch_run *run, int signal, struct hutch_error *err);
int run_resize(struct hutch_run *run, uint16_t rows, uint16_t cols, struct hutch_error *err);
int run_write(struct hutch_run *run, const void *data, size_t len, struct hutch_error *err);
int run_close_stdin(struct hutch_run *run, struct hutch_error *err);
uint32_t run_id(const struct hutch_run *run);
int run_cancel(struct hutch_run *run, struct hutch_error *err);
int run_result(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err);
void run_free(struct hutch_run *run);
void run_leave(struct hutch_run *run);
