/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a run: what its descriptors and its sandbox say, and what follows from that. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/err.h"
#include "run/run.h"
#include "run/state.h"
#include "sys/clock.h"
#include "sys/ret.h"

/* Runs that are in a sandbox together take what there is for each other. */
static int open_wakes(const struct hutch_sandbox *box)
{
    int r = 0;

    for (struct hutch_run *run = box->runs; r >= 0 && run; run = run->next) {
        if (run->wake >= 0 || run->loop.epoll < 0)
            continue;
        r = run->wake = ret_errno(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (r >= 0)
            r = loop_watch(&run->loop, run->wake, TAG_WAKE);
    }
    return r < 0 ? r : 0;
}

int run_open_loop(struct hutch_run *run)
{
    struct hutch_sandbox *box = run->box;
    int r = 0;

    if (box->loop.epoll >= 0)
        run->loop = loop_take(&box->loop);
    else
        r = loop_open(&run->loop, box->sandbox);
    if (r == 0 && box->run_count > 1)
        r = open_wakes(box);
    return r < 0 ? r : run_start_deadline(run);
}

/* For the next run, if it is as it was in the beginning and nobody else knows it. */
void run_close_loop(struct hutch_run *run)
{
    struct hutch_sandbox *box = run->box;
    bool keep = box && !run->owner && run->state == RUN_OVER && !run->loop_known &&
                !run->stdin_open && !box->gone && box->loop.epoll < 0;

    if (run->wake >= 0)
        loop_unwatch(&run->loop, run->wake);
    fd_close(&run->wake);
    if (keep)
        box->loop = loop_take(&run->loop);
    loop_close(&run->loop);
}

/* ---- What the sandbox says ---- */

static void on_exited(struct hutch_run *run, const struct sys_exit *ended, uint64_t at_ns)
{
    run->exited = true;
    run->exit = *ended;
    run->ended_ns = at_ns;
    run->state = RUN_DRAINING; /* pipes may still hold output */
    relay_stop(&run->input);
    run_judge_end(run);
}

static void on_started(struct hutch_run *run, struct sandbox_event *event)
{
    run->state = RUN_RUNNING;
    run->started_ns = event->at_ns;
    run_emit(run, (struct hutch_event){.type = HUTCH_EVENT_RUN_STARTED, .argv = run->command.argv});
    run_warn_of_absurd(run);
    monitor_start(&run->monitor, run->box->sandbox,
                  &(struct monitor_started){
                      .at_ns = event->at_ns,
                      .leader = event->pid,
                      .timeout_ms = run->command.timeout_ms,
                      .before = &run->box->usage,
                  });
    if (event->terminal >= 0)
        run->streams_error = run_start_terminal(run, &event->terminal);
    fd_close(&event->terminal);
}

/* Once the command has started. Of one that is over already, only what it has left in its pipes. */
static int connect_streams(struct hutch_run *run, struct hutch_error *err)
{
    int r = run->streams_error;

    if (r == 0)
        r = run_connect_pipes(run, run->exited || run->box->gone);
    return r < 0 ? err_sys(err, r, "run", "cannot relay the command's streams") : 0;
}

/* Not before all that was said has been heard: a short command may be over. */
static int begin_to_supervise(struct hutch_run *run, struct hutch_error *err)
{
    int r = run_start_deadline(run);
    /* Nothing is looked at yet: most commands are over before that, and should not wait for us. */
    if (r == 0)
        r = timer_set(&run->loop.timer, TIMER_MONITOR, MONITOR_FIRST_MS);
    run->supervised = true;
    return r < 0 ? err_sys(err, r, "run", "cannot set the timers of the command") : 0;
}

struct hutch_violation run_violation(const struct sandbox_violation *seen)
{
    return (struct hutch_violation){
        .kind = seen->kind,
        .name = seen->name,
        .detail = seen->detail,
        .pid = seen->pid,
        .command = seen->command,
        .hint = seen->hint,
    };
}

/* Kept up to a bound; the rest is counted. */
static void on_violation(struct hutch_run *run, const struct sandbox_violation *seen)
{
    struct arena *arena = run->arena;

    run->violation_total++;
    if (run->violation_count >= VIOLATIONS_MAX)
        return;
    struct hutch_violation violation = run_violation(seen);
    violation.detail = arena_strdup(arena, seen->detail);
    violation.command = arena_strdup(arena, seen->command);

    struct hutch_violation *list = arena_grow(arena, run->violations, run->violation_count,
                                              &run->violation_cap, sizeof *list);
    if (!list || arena_failed(arena))
        return;
    run->violations = list;
    list[run->violation_count++] = violation;
    run_emit(run, (struct hutch_event){.type = HUTCH_EVENT_VIOLATION, .violation = &violation});
}

/* Whether the event can come now: init lives next to the untrusted. */
static bool is_in_turn(const struct hutch_run *run, enum sandbox_event_type type)
{
    switch (type) {
    case SANDBOX_STARTED:
    case SANDBOX_EXEC_FAILED: return run->state == RUN_SETTING_UP && !run->error.code;
    case SANDBOX_EXITED: return run->state == RUN_RUNNING;
    default: return true;
    }
}

int run_on_event(struct hutch_run *run, struct sandbox_event *event)
{
    if (run->state == RUN_FAILED || !is_in_turn(run, event->type)) {
        fd_close(&event->terminal);
        return run->state == RUN_FAILED ? 0 : -EPROTO;
    }
    switch (event->type) {
    case SANDBOX_READY:
    case SANDBOX_FAILED: break; /* the sandbox's own */
    case SANDBOX_STARTED: on_started(run, event); break;
    case SANDBOX_EXEC_FAILED:
        run->error = event->error;
        run->exec_errno = event->exec_errno;
        if (run->exec_errno)
            run->state = RUN_DRAINING;
        break;
    case SANDBOX_VIOLATION: on_violation(run, &event->violation); break;
    case SANDBOX_EXITED:
        run->violation_total += event->unreported;
        monitor_saw(&run->monitor, event->left + 1);
        on_exited(run, &event->exit, event->at_ns);
        break;
    }
    return 0;
}

void run_wake(const struct hutch_run *run)
{
    uint64_t one = 1;

    /* It can only fail because it is readable already. */
    if (run->wake >= 0 && write(run->wake, &one, sizeof one) < 0)
        errno = 0;
}

/* Init is gone, and with it everything: the run is over, whether that was said or not. */
static int on_gone(struct hutch_run *run, struct hutch_error *err)
{
    const struct sys_exit *ended = &run->box->exit;

    loop_unwatch(&run->loop, run->box->sandbox->exit_fd);
    loop_unwatch(&run->loop, run->box->sandbox->events_fd);
    if (run->exited || run->error.code)
        return 0;
    if (run->ending == HUTCH_EXITED && run->state == RUN_RUNNING)
        run_judge_end(run); /* the kernel may have ended all of it for its memory */
    if (run->ending == HUTCH_EXITED)
        return err_set(err, HUTCH_EINTERNAL, "sandbox",
                       "the sandbox's first process ended unexpectedly (%s %d): the host may be "
                       "out of memory, or the limit on it too low for any program",
                       ended->signal ? "signal" : "status",
                       ended->signal ? ended->signal : ended->code);
    /* We killed it: its usage includes its children's. */
    on_exited(run, ended, sys_clock_ns(CLOCK_MONOTONIC));
    return 0;
}

/* ---- Stepping ---- */

static int finish(struct hutch_run *run, struct hutch_error *err)
{
    int r = run_report(run, &run->result, err);

    if (r < 0)
        return r;
    run->state = RUN_OVER;
    run_emit(run, (struct hutch_event){.type = HUTCH_EVENT_RUN_EXITED, .result = run->result});
    if (run->owner)
        box_emit(run->box, (struct hutch_event){.type = HUTCH_EVENT_SANDBOX_STOPPED});
    return 1;
}

static void on_wake(const struct hutch_run *run)
{
    uint64_t count;

    if (read(run->wake, &count, sizeof count) < 0)
        errno = 0;
}

/*
 * Whether all output has been passed on. What holds a pipe open after the end of its command is init, or not
 * this run's any more. A terminal may have more than it shows: that of a sandbox that ends comes to its end.
 */
static bool is_drained(const struct hutch_run *run, const struct relay *output)
{
    bool ends = run->owner && run->terminal >= 0;

    return relay_is_over(output) || (!ends && relay_is_idle(output));
}

static int on_timer(struct hutch_run *run, struct hutch_error *err)
{
    int due = timer_take(&run->loop.timer);

    if (due < 0)
        return err_sys(err, due, "run", "cannot set the timers of the command");
    if (due & 1 << TIMER_DEADLINE)
        run_on_deadline(run);
    return due & 1 << TIMER_MONITOR ? run_on_monitor(run, err) : 0;
}

static int dispatch(struct hutch_run *run, enum run_tag tag, struct hutch_error *err)
{
    int r = 0;

    switch (tag) {
    case TAG_EVENTS: return box_pump(run->box, run, err);
    case TAG_EXIT: return box_reap(run->box, run, err);
    case TAG_WAKE: on_wake(run); return 0;
    case TAG_ROOM: return 0; /* the caller is told by coming here */
    case TAG_TIMER: return on_timer(run, err);
    case TAG_STDIN: r = relay_step(&run->input); break;
    case TAG_STDOUT:
    case TAG_STDERR: r = relay_step(&run->output[tag == TAG_STDOUT ? 0 : 1]); break;
    }
    return r < 0 ? err_sys(err, r, "run", "cannot relay the command's streams") : 0;
}

/* What follows from all that was seen. */
static int conclude(struct hutch_run *run, struct hutch_error *err)
{
    const struct hutch_error *error = run->error.code ? &run->error : &run->box->error;

    int r = run->started_ns ? connect_streams(run, err) : 0;

    if (r == 0 && run->state == RUN_RUNNING && !run->supervised && !run->box->gone)
        r = begin_to_supervise(run, err);
    if (r == 0 && run->box->gone && !run->told) {
        run->told = true;
        r = on_gone(run, err);
    }
    if (r < 0)
        return r;
    if (error->code && !run->exited && !run->exec_errno) {
        if (err)
            *err = *error;
        return error->code;
    }
    if ((run->exited || run->exec_errno || run->box->gone) && is_drained(run, &run->output[0]) &&
        is_drained(run, &run->output[1]))
        return finish(run, err);
    return 0;
}

static int step(struct hutch_run *run, int timeout_ms, struct hutch_error *err)
{
    struct epoll_event events[8];
    int count = epoll_wait(run->loop.epoll, events, 8, timeout_ms);

    if (count < 0 && errno != EINTR)
        return err_sys(err, -errno, "run", "cannot wait for the sandbox");
    for (int i = 0; i < count; i++) {
        int r = dispatch(run, (enum run_tag)events[i].data.u32, err);
        if (r < 0)
            return r;
        /* Init's socket ends before init does. All of it was read; it would only keep us busy. */
        if (events[i].data.u32 == TAG_EVENTS && (events[i].events & EPOLLHUP)) {
            loop_unwatch(&run->loop, run->box->sandbox->events_fd);
            run->loop_known = true;
        }
    }
    return conclude(run, err);
}

int run_step(struct hutch_run *run, int timeout_ms, struct hutch_error *err)
{
    struct run_quiet quiet;

    if (run->state == RUN_OVER)
        return 1;
    if (run->state == RUN_FAILED)
        return err_set(err, HUTCH_ESTATE, "run", "the run has failed already");
    if (!run->box)
        return run_no_box(err);

    run_begin_quiet(&quiet);
    int r = step(run, timeout_ms, err);
    run_end_quiet(&quiet);
    if (r < 0)
        run->state = RUN_FAILED;
    return r;
}
