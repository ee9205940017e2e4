/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run.h"

#include <signal.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/fd.h"
#include "run/result.h"
#include "run/state.h"
#include "sys/clock.h"

void run_emit(struct hutch_run *run, struct hutch_event event)
{
    if (!run->on_event)
        return;
    event.size = sizeof event;
    event.time_ms = sys_clock_ns(CLOCK_REALTIME) / 1000000U;
    event.sandbox = run->box->plan->id;
    event.run = run->id;
    run->on_event(run->arg, &event);
}

/* ---- Starting ---- */

static int start_command(struct hutch_run *run, struct hutch_error *err)
{
    struct sandbox *sandbox = run->box->sandbox;
    struct sandbox_exec exec = {
        .run = run->id,
        .command = &run->command,
        .last = run->owner,
        .stdio = {-1, -1, -1},
    };
    int r = run->command.tty ? 0 : run_make_pipes(run, exec.stdio);

    if (r == 0)
        return sandbox->ops->exec(sandbox, &exec, err);
    for (int i = 0; i < 3; i++)
        fd_close(&exec.stdio[i]);
    return err_sys(err, r, "run", "cannot connect the command's streams");
}

static int start(struct hutch_run *run, const struct hutch_command *command,
                 struct hutch_error *err)
{
    const struct plan *plan = run->box->plan;

    for (int i = 0; i < 2; i++)
        capture_init(&run->capture[i], plan->limits.output_bytes);
    monitor_init(&run->monitor, plan, &run->box->disk);
    int r = disk_start(&run->box->disk, plan, &run->box->plan->arena);
    if (r == 0)
        r = run_take_caller_fds(run, command);
    if (r == 0)
        r = run_open_loop(run);
    if (r < 0)
        return err_sys(err, r, "run", "cannot prepare the run");
    return start_command(run, err);
}

static void run_init(struct hutch_run *run, hutch_event_fn *on_event, void *arg,
                     const struct hutch_command *command)
{
    *run = (struct hutch_run){
        .loop = LOOP_INIT,
        .wake = -1,
        .terminal = -1,
        .stdin_open = command->stdin_open,
        .stdin_fd = -1,
        .caller = {-1, -1, -1},
        .pipes = {-1, -1, -1},
        .input = RELAY_INIT,
        .output = {RELAY_INIT, RELAY_INIT},
        .on_event = on_event,
        .arg = arg,
    };
    arena_init(&run->own_arena);
    run->arena = &run->own_arena;
}

static void join_box(struct hutch_run *run, struct hutch_sandbox *box)
{
    run->box = box;
    run->id = ++box->last_run;
    run->next = box->runs;
    box->runs = run;
    box->run_count++;
}

static void leave_box(struct hutch_run *run)
{
    struct hutch_run **at = &run->box->runs;

    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    run->box->run_count--;
    run->box = NULL;
}

/* Start a new run in the sandbox that it has joined; it is freed when that fails. */
static int start_joined(struct hutch_run *run, const struct hutch_command *command,
                        struct hutch_run **ret, struct hutch_error *err)
{
    struct hutch_sandbox *box = run->box;

    int r = plan_command_build(box->plan, command, run->arena, &run->command, err);
    /* One of its own comes first: it sets itself up while this side does the rest. */
    if (r == 0 && run->owner)
        r = box_start(box, err);
    if (r == 0)
        r = start(run, command, err);
    if (r < 0) {
        run_free(run);
        return r;
    }
    *ret = run;
    return 0;
}

int run_start(const struct policy *policy, const struct hutch_command *command,
              hutch_event_fn *on_event, void *arg, struct hutch_run **ret, struct hutch_error *err)
{
    struct hutch_sandbox *box;
    int r = box_new(policy, false, on_event, arg, &box, err);

    if (r < 0)
        return r;
    struct hutch_run *run = arena_alloc(&box->plan->arena, sizeof *run);
    if (!run) {
        box_free(box);
        return err_oom(err);
    }
    run_init(run, on_event, arg, command);
    run->owner = true;
    run->arena = &box->plan->arena; /* which has room, and ends with it */
    join_box(run, box);
    return start_joined(run, command, ret, err);
}

int run_start_in(struct hutch_sandbox *box, const struct hutch_command *command,
                 hutch_event_fn *on_event, void *arg, struct hutch_run **ret,
                 struct hutch_error *err)
{
    if (box->error.code) {
        if (err)
            *err = box->error;
        return box->error.code;
    }
    if (box->gone)
        return err_set(err, HUTCH_ESTATE, "sandbox", "the sandbox has ended");
    struct hutch_run *run = malloc(sizeof *run);
    if (!run)
        return err_oom(err);
    run_init(run, on_event ? on_event : box->on_event, on_event ? arg : box->arg, command);
    join_box(run, box);
    return start_joined(run, command, ret, err);
}

/* ---- Requests ---- */

int run_no_box(struct hutch_error *err)
{
    return err_set(err, HUTCH_ESTATE, "run", "its sandbox was closed");
}

uint32_t run_id(const struct hutch_run *run)
{
    return run->id;
}

int run_fd(struct hutch_run *run)
{
    run->loop_known = true;
    return run->loop.epoll;
}

int run_signal(struct hutch_run *run, int signal, struct hutch_error *err)
{
    if (run->state != RUN_RUNNING && run->state != RUN_SETTING_UP)
        return 0;
    if (!run->box)
        return run_no_box(err);
    /* Limits that are looked at are kept by who steps it: a sandbox that is stopped must be so whole. */
    bool whole = run->owner && (signal == SIGSTOP || signal == SIGCONT);
    struct sandbox *sandbox = run->box->sandbox;
    return sandbox->ops->signal(sandbox, run->id, signal, whole ? SCOPE_ALL : SCOPE_GROUP, err);
}

int run_result(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err)
{
    if (!run->result)
        return err_set(err, HUTCH_ESTATE, "run", "the run has no result (yet, or any more)");
    *ret = run->result;
    run->result = NULL;
    return 0;
}

/* ---- Freeing ---- */

void run_free(struct hutch_run *run)
{
    struct hutch_sandbox *own = NULL;

    if (!run)
        return;
    relay_stop(&run->input);
    for (int i = 0; i < 2; i++) {
        relay_stop(&run->output[i]);
        capture_clear(&run->capture[i]);
    }
    for (int i = 0; i < 3; i++) {
        fd_close(&run->caller[i]);
        fd_close(&run->pipes[i]);
    }
    fd_close(&run->stdin_fd);
    fd_close(&run->terminal);
    if (run->box && !run->owner)
        run_abandon(run);
    run_close_loop(run);
    result_free(run->result);
    arena_clear(&run->own_arena);
    if (run->box) {
        own = run->owner ? run->box : NULL;
        leave_box(run);
    }
    /* Late: what a sandbox of its own has to wait for goes on meanwhile. The run is in that one's memory. */
    if (own)
        box_free(own);
    else
        free(run);
}

void run_leave(struct hutch_run *run)
{
    if (!run || !run->owner || !run->box || run->state != RUN_OVER ||
        !run->box->sandbox->ops->leave(run->box->sandbox))
        run_free(run);
}
