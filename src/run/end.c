/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ends a run, other than its command's own will: a deadline, a limit, the caller. And what a command
 * that ended by itself died of.
 */
#include <errno.h>
#include <signal.h>

#include "base/err.h"
#include "base/num.h"
#include "run/run.h"
#include "run/state.h"

#define GRACE_MS 2000
#define LAST_MS 1000 /* for what was killed to be gone; a moment, unless the machine is busy */
#define LASTING_LAST_MS 10000 /* in a sandbox that has others than this run's */

static void end_with(struct hutch_run *run, enum hutch_reason reason)
{
    if (run->ending == HUTCH_EXITED && !run->exited)
        run->ending = reason;
}

static int signal_run(struct hutch_run *run, int signal, enum sandbox_scope scope)
{
    struct sandbox *sandbox = run->box->sandbox;

    return sandbox->ops->signal(sandbox, run->id, signal, scope, NULL);
}

/* All that is this run's to end. */
static enum sandbox_scope own_scope(const struct hutch_run *run)
{
    return run->owner ? SCOPE_ALL : SCOPE_TREE;
}

/*
 * The sandbox: asked to end and, when it has not in time, killed. The time is this run's own: other runs may
 * have asked a moment ago.
 */
static void kill_sandbox(struct hutch_run *run)
{
    struct sandbox *sandbox = run->box->sandbox;
    bool timed = timer_set(&run->loop.timer, TIMER_DEADLINE, LASTING_LAST_MS) == 0;

    sandbox->ops->kill(sandbox, run->ends_box || !timed);
    run->ends_box = true;
}

/*
 * Kill everything but init, which still has things to put right and the usage to report; when it does
 * not in time, or when nothing runs yet in a sandbox of the run's own, init too.
 */
static void kill_all(struct hutch_run *run, enum sandbox_scope scope)
{
    uint64_t last_ms = run->owner ? LAST_MS : LASTING_LAST_MS;
    bool asked = (run->state == RUN_RUNNING || !run->owner) && !run->last_chance &&
                 signal_run(run, SIGKILL, scope) == 0 &&
                 timer_set(&run->loop.timer, TIMER_DEADLINE, last_ms) == 0;

    run->last_chance = true;
    if (!asked)
        kill_sandbox(run);
}

/* ---- Deadline ---- */

int run_start_deadline(struct hutch_run *run)
{
    bool ends = run->in_grace || run->last_chance; /* then the timer is for that */

    if (ends || run->command.timeout_ms == NUM_NO_LIMIT)
        return 0;
    return timer_set(&run->loop.timer, TIMER_DEADLINE, run->command.timeout_ms);
}

/* First a request to everything in the sandbox, then, after the grace, no more requests. */
void run_on_deadline(struct hutch_run *run)
{
    if (run->exited || run->box->gone)
        return;
    if (run->in_grace || run->last_chance) {
        kill_all(run, own_scope(run));
        return;
    }
    end_with(run, HUTCH_TIMEOUT);
    run->in_grace = true;
    run_emit(run, (struct hutch_event){.type = HUTCH_EVENT_RUN_TIMEOUT});
    /* Not started yet, not reachable, or no timer for the grace: then there is none. */
    if (run->state != RUN_RUNNING || signal_run(run, SIGTERM, own_scope(run)) < 0 ||
        timer_set(&run->loop.timer, TIMER_DEADLINE, GRACE_MS) < 0)
        kill_all(run, own_scope(run));
}

/* ---- Limits ---- */

static void emit_finding(struct hutch_run *run, const struct monitor_finding *finding)
{
    run_emit(run, (struct hutch_event){.type = finding->reason == HUTCH_EXITED
                                                   ? HUTCH_EVENT_LIMIT_WARNING
                                                   : HUTCH_EVENT_LIMIT_EXCEEDED,
                                       .limit = finding->limit,
                                       .current = finding->current,
                                       .max = finding->max});
}

void run_warn_of_absurd(struct hutch_run *run)
{
    struct plan_limit_row rows[PLAN_LIMIT_ROWS];

    plan_limit_rows(run->box->plan, rows);
    for (size_t i = 0; i < PLAN_LIMIT_ROWS; i++)
        if (rows[i].max != NUM_NO_LIMIT && rows[i].max > rows[i].host)
            emit_finding(run, &(struct monitor_finding){.limit = rows[i].name,
                                                        .current = rows[i].host,
                                                        .max = rows[i].max});
}

/* What is passed on is not limited. */
static void count_output(struct hutch_run *run)
{
    for (int i = 0; i < 2; i++)
        if (run->output[i].capture && run->output[i].bytes > run->monitor.output_bytes)
            run->monitor.output_bytes = run->output[i].bytes;
}

int run_on_monitor(struct hutch_run *run, struct hutch_error *err)
{
    struct monitor_finding findings[LIMIT_COUNT + 1];
    uint64_t next_ms;

    if (run->exited || run->box->gone)
        return 0;
    count_output(run);
    int count = monitor_step(&run->monitor, run->box->sandbox, findings, &next_ms);
    int r = count < 0 ? 0 : timer_set(&run->loop.timer, TIMER_MONITOR, next_ms);
    if (r < 0)
        return err_sys(err, r, "limits", "cannot set the timer of the command");
    if (count == -E2BIG)
        return err_set(
            err, HUTCH_EUNSUPPORTED, "limits",
            "more than %d file systems are mounted below what the sandbox may write to, and "
            "its disk limit cannot be kept on all of them: grant less, or disk \"unlimited\"",
            DISK_ROOTS_MAX);
    if (count < 0)
        return err_sys(err, count, "limits", "cannot measure what the sandbox uses");
    run->box->usage = run->monitor.usage;
    for (int i = 0; i < count; i++) {
        bool first = run->ending == HUTCH_EXITED;
        if (findings[i].reason == HUTCH_EXITED || first)
            emit_finding(run, &findings[i]);
        if (findings[i].reason != HUTCH_EXITED && first) {
            end_with(run, findings[i].reason);
            /* Time is each run's own; what else there is, is all of the sandbox's. */
            kill_all(run, findings[i].reason == HUTCH_CPU_TIME ? own_scope(run) : SCOPE_ALL);
        }
    }
    return 0;
}

void run_judge_end(struct hutch_run *run)
{
    struct monitor_finding findings[LIMIT_COUNT + 1];

    if (run->monitored)
        return;
    run->monitored = true;
    count_output(run);
    size_t count = monitor_end(&run->monitor, run->box->sandbox, &run->exit, findings);
    run->box->usage = run->monitor.usage;
    for (size_t i = 0; i < count && run->ending == HUTCH_EXITED; i++) {
        run->ending = findings[i].reason;
        emit_finding(run, &findings[i]);
    }
}

/* ---- The caller ---- */

int run_cancel(struct hutch_run *run, struct hutch_error *err)
{
    bool ended = run->exited || run->exec_errno || run->state >= RUN_OVER;

    if (!run->box)
        return run_no_box(err);
    end_with(run, HUTCH_CANCELLED);
    /* Once: what is to be done when that does not help, the timer does. */
    if (!ended && !run->last_chance && !run->box->gone)
        kill_all(run, own_scope(run));
    return 0;
}

void run_abandon(struct hutch_run *run)
{
    bool ended = run->exited || run->error.code || run->box->gone;

    if (!ended && run->loop.epoll >= 0)
        signal_run(run, SIGKILL, SCOPE_TREE);
    run->box->sandbox->ops->forget(run->box->sandbox, run->id);
}
