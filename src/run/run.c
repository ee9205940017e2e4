/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *              STARTED              EXITED, or init gone             streams at their end
 *   SETTING_UP ───────► RUNNING ─────────────────────► DRAINING ─────────────────────────► OVER
 *        │                 │ deadline: SIGTERM to the tree, GRACE_MS later SIGKILL
 *        └─ FAILED: step returns the error, nothing has run
 *
 * A sandbox of a run's own ends with its command: before it says EXITED, init kills and reaps what the
 * command left behind, and then every pipe has an end. So DRAINING terminates, and when such a run is
 * OVER no process of it exists. Init itself ends meanwhile, its namespaces with it; run_free() waits
 * for that.
 *
 * In a sandbox that lasts, what a command left behind lives on and may hold its pipes open. There
 * DRAINING ends when nothing more is in them.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/num.h"
#include "run/result.h"
#include "run/state.h"
#include "sys/clock.h"
#include "sys/ret.h"
#include "sys/terminal.h"

#define GRACE_MS 2000
#define LAST_MS 1000
#define END_OF_TRANSMISSION 4

/* What an epoll event is about. */
enum run_tag {
    TAG_EVENTS,
    TAG_EXIT,
    TAG_TIMER,
    TAG_MONITOR,
    TAG_STDIN,
    TAG_STDOUT,
    TAG_STDERR,
    TAG_WAKE,
    TAG_ROOM, /* for input that the caller writes */
};

/* ---- Events ---- */

static void emit(struct hutch_run *run, struct hutch_event event)
{
    if (!run->on_event)
        return;
    event.size = sizeof event;
    event.time_ms = sys_clock_ns(CLOCK_REALTIME) / 1000000U;
    event.sandbox = run->box->plan->id;
    event.run = run->id;
    run->on_event(run->arg, &event);
}

static void emit_output(struct hutch_run *run, int stream, const char *data, size_t len)
{
    emit(run, (struct hutch_event){
                  .type = HUTCH_EVENT_RUN_OUTPUT, .stream = stream, .data = data, .data_len = len});
}

static void on_stdout(void *arg, const char *data, size_t len)
{
    emit_output(arg, 1, data, len);
}

static void on_stderr(void *arg, const char *data, size_t len)
{
    emit_output(arg, 2, data, len);
}

/* ---- Starting ---- */

static int watch(struct hutch_run *run, int fd, enum run_tag tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = tag};

    return ret_errno(epoll_ctl(run->epoll, EPOLL_CTL_ADD, fd, &event));
}

static int set_timer(struct hutch_run *run, uint64_t ms)
{
    struct itimerspec spec = {
        .it_value = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000}};

    return ret_errno(timerfd_settime(run->timer, 0, &spec, NULL));
}

static int nonblocking(int fd)
{
    return ret_errno(fcntl(fd, F_SETFL, O_NONBLOCK));
}

/* Connect the engine's end of an output stream. Takes *src. */
static int start_output(struct hutch_run *run, int stream, int *src)
{
    struct relay_ends ends = {
        .src = src,
        .on_output = !run->on_event ? NULL
                     : stream == 1  ? on_stdout
                                    : on_stderr,
        .arg = run,
    };

    if (run->caller[stream] >= 0)
        ends.dst = &run->caller[stream];
    else
        ends.capture = &run->capture[stream - 1];
    int r = nonblocking(*src);
    return r < 0 ? r
                 : relay_start(&run->output[stream - 1], run->epoll,
                               stream == 1 ? TAG_STDOUT : TAG_STDERR, &ends);
}

/* Connect the caller's input to `dst`. Takes *dst. Without input the command sees its end. */
static int start_input(struct hutch_run *run, int *dst, bool terminal)
{
    struct relay_ends ends = {.src = &run->caller[0], .dst = dst, .terminal_in = terminal};

    if (run->caller[0] < 0 && !run->stdin_open) {
        fd_close(dst);
        return 0;
    }
    int r = nonblocking(*dst);
    if (r == 0 && run->stdin_open) {
        run->stdin_fd = fd_take(dst);
        return 0;
    }
    return r < 0 ? r : relay_start(&run->input, run->epoll, TAG_STDIN, &ends);
}

/* Three pipes: our ends go to relays, the other ends to the command. */
static int start_pipes(struct hutch_run *run, int stdio[3])
{
    for (int i = 0; i < 3; i++) {
        int ends[2];
        int r = ret_errno(pipe2(ends, O_CLOEXEC));
        if (r < 0)
            return r;
        fd_auto int ours = ends[i == 0];
        stdio[i] = ends[i != 0];
        r = i == 0 ? start_input(run, &ours, false) : start_output(run, i, &ours);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The terminal was made inside; its master end has arrived. Takes *master. */
static int start_terminal(struct hutch_run *run, int *master)
{
    fd_auto int out = ret_errno(fcntl(*master, F_DUPFD_CLOEXEC, 3));
    if (out < 0)
        return out;
    fd_auto int in = ret_errno(fcntl(*master, F_DUPFD_CLOEXEC, 3));
    if (in < 0)
        return in;
    run->terminal = fd_take(master);

    int r = start_output(run, 1, &out);
    return r < 0 ? r : start_input(run, &in, true);
}

/* The caller's descriptors are duplicated: it may close or reuse its own at any time. */
static int take_caller_fds(struct hutch_run *run, const struct hutch_command *command)
{
    const int given[3] = {command->stdin_fd, command->stdout_fd, command->stderr_fd};

    for (int i = 0; i < 3; i++) {
        if (given[i] < 0)
            continue;
        run->caller[i] = ret_errno(fcntl(given[i], F_DUPFD_CLOEXEC, 3));
        if (run->caller[i] < 0)
            return run->caller[i];
    }
    return 0;
}

static int open_loop(struct hutch_run *run)
{
    const struct sandbox *sandbox = run->box->sandbox;

    run->epoll = ret_errno(epoll_create1(EPOLL_CLOEXEC));
    if (run->epoll < 0)
        return run->epoll;
    int r = watch(run, sandbox->events_fd, TAG_EVENTS);
    if (r == 0)
        r = watch(run, sandbox->exit_fd, TAG_EXIT);
    if (r == 0 && !run->owner) {
        r = run->wake = ret_errno(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (r >= 0)
            r = watch(run, run->wake, TAG_WAKE);
    }
    if (r < 0)
        return r;
    run->timer = ret_errno(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (run->timer < 0)
        return run->timer;
    if (run->command.timeout_ms != NUM_NO_LIMIT)
        r = set_timer(run, run->command.timeout_ms);
    return r < 0 ? r : watch(run, run->timer, TAG_TIMER);
}

static int start_command(struct hutch_run *run, struct hutch_error *err)
{
    struct sandbox *sandbox = run->box->sandbox;
    struct sandbox_exec exec = {
        .run = run->id,
        .command = &run->command,
        .last = run->owner,
        .stdio = {-1, -1, -1},
    };
    int r = run->command.tty ? 0 : start_pipes(run, exec.stdio);

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
    int r = monitor_init(&run->monitor, plan);
    if (r == 0)
        r = take_caller_fds(run, command);
    if (r == 0)
        r = open_loop(run);
    if (r < 0)
        return err_sys(err, r, "run", "cannot prepare the run");
    return start_command(run, err);
}

static struct hutch_run *run_new(hutch_event_fn *on_event, void *arg,
                                 const struct hutch_command *command)
{
    struct hutch_run *run = calloc(1, sizeof *run);

    if (!run)
        return NULL;
    *run = (struct hutch_run){
        .epoll = -1,
        .wake = -1,
        .timer = -1,
        .terminal = -1,
        .stdin_open = command->stdin_open,
        .stdin_fd = -1,
        .monitor = {.timer = -1},
        .caller = {-1, -1, -1},
        .input = RELAY_INIT,
        .output = {RELAY_INIT, RELAY_INIT},
        .on_event = on_event,
        .arg = arg,
    };
    arena_init(&run->own_arena);
    run->arena = &run->own_arena;
    return run;
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
    struct hutch_sandbox *box = NULL;
    struct hutch_run *run = run_new(on_event, arg, command);

    if (!run)
        return err_oom(err);
    int r = box_new(policy, false, on_event, arg, &box, err);
    if (r < 0) {
        run_free(run);
        return r;
    }
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
    struct hutch_run *run = on_event ? run_new(on_event, arg, command)
                                     : run_new(box->on_event, box->arg, command);
    if (!run)
        return err_oom(err);
    join_box(run, box);
    return start_joined(run, command, ret, err);
}

/* ---- Ending ---- */

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
 * Kill everything but init, which still has things to put right and the usage to report; when it does
 * not within LAST_MS, or when nothing runs yet in a sandbox of the run's own, init too.
 */
static void kill_all(struct hutch_run *run, enum sandbox_scope scope)
{
    bool asked = (run->state == RUN_RUNNING || !run->owner) && !run->last_chance &&
                 signal_run(run, SIGKILL, scope) == 0 && set_timer(run, LAST_MS) == 0;

    run->last_chance = true;
    if (!asked)
        run->box->sandbox->ops->kill(run->box->sandbox);
}

/* First a request to everything in the sandbox, then, after the grace, no more requests. */
static void on_deadline(struct hutch_run *run)
{
    uint64_t expirations;

    if (read(run->timer, &expirations, sizeof expirations) < 0 || run->exited || run->box->gone)
        return;
    if (run->in_grace || run->last_chance) {
        kill_all(run, own_scope(run));
        return;
    }
    end_with(run, HUTCH_TIMEOUT);
    run->in_grace = true;
    emit(run, (struct hutch_event){.type = HUTCH_EVENT_RUN_TIMEOUT});
    /* Not started yet, not reachable, or no timer for the grace: then there is none. */
    if (run->state != RUN_RUNNING || signal_run(run, SIGTERM, own_scope(run)) < 0 ||
        set_timer(run, GRACE_MS) < 0)
        kill_all(run, own_scope(run));
}

/* ---- Limits ---- */

static void emit_finding(struct hutch_run *run, const struct monitor_finding *finding)
{
    emit(run,
         (struct hutch_event){.type = finding->reason == HUTCH_EXITED ? HUTCH_EVENT_LIMIT_WARNING
                                                                      : HUTCH_EVENT_LIMIT_EXCEEDED,
                              .limit = finding->limit,
                              .current = finding->current,
                              .max = finding->max});
}

/* A limit that the host itself is below is worth a word: it will never be what ends the run. */
static void warn_of_absurd(struct hutch_run *run)
{
    struct plan_limit_row rows[PLAN_LIMIT_ROWS];

    plan_limit_rows(run->box->plan, rows);
    for (size_t i = 0; i < PLAN_LIMIT_ROWS; i++)
        if (rows[i].max != NUM_NO_LIMIT && rows[i].max > rows[i].host)
            emit_finding(run, &(struct monitor_finding){.limit = rows[i].name,
                                                        .current = rows[i].host,
                                                        .max = rows[i].max});
}

static int on_monitor(struct hutch_run *run, struct hutch_error *err)
{
    struct monitor_finding findings[LIMIT_COUNT + 1];

    if (run->exited || run->box->gone)
        return 0;
    run->monitor.output_bytes = 0;
    for (int i = 0; i < 2; i++) /* what is passed on is not limited */
        if (run->output[i].capture && run->output[i].bytes > run->monitor.output_bytes)
            run->monitor.output_bytes = run->output[i].bytes;
    int count = monitor_step(&run->monitor, run->box->sandbox, findings);
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

/* The command's own end may have been a limit's doing. */
static void judge_end(struct hutch_run *run)
{
    struct monitor_finding finding;

    if (run->monitored)
        return;
    run->monitored = true;
    enum hutch_reason reason = monitor_end(&run->monitor, run->box->sandbox, &run->exit, &finding);
    run->box->usage = run->monitor.usage;
    if (reason == HUTCH_EXITED || run->ending != HUTCH_EXITED)
        return;
    run->ending = reason;
    emit_finding(run, &finding);
}

static void on_exited(struct hutch_run *run, const struct sys_exit *ended, uint64_t at_ns)
{
    run->exited = true;
    run->exit = *ended;
    run->ended_ns = at_ns;
    run->state = RUN_DRAINING; /* pipes may still hold output */
    relay_stop(&run->input);
    judge_end(run);
}

static void on_started(struct hutch_run *run, struct sandbox_event *event)
{
    run->state = RUN_RUNNING;
    run->started_ns = event->at_ns;
    emit(run, (struct hutch_event){.type = HUTCH_EVENT_RUN_STARTED, .argv = run->command.argv});
    warn_of_absurd(run);
    if ((event->terminal >= 0 && start_terminal(run, &event->terminal) < 0) ||
        monitor_start(&run->monitor, run->box->sandbox, run->started_ns, &run->box->usage) < 0 ||
        watch(run, run->monitor.timer, TAG_MONITOR) < 0)
        run_cancel(run, NULL);
    fd_close(&event->terminal);
}

/* Kept up to a bound; the rest is counted. */
static void on_violation(struct hutch_run *run, const struct sandbox_violation *seen)
{
    struct arena *arena = run->arena;
    struct hutch_violation violation = {
        .kind = seen->kind,
        .name = seen->name,
        .detail = arena_strdup(arena, seen->detail),
        .pid = seen->pid,
        .command = arena_strdup(arena, seen->command),
        .hint = seen->hint,
    };

    run->violation_total++;
    if (run->violation_count >= VIOLATIONS_MAX)
        return;
    struct hutch_violation *list = arena_grow(arena, run->violations, run->violation_count,
                                              &run->violation_cap, sizeof *list);
    if (!list || arena_failed(arena))
        return;
    run->violations = list;
    list[run->violation_count++] = violation;
    emit(run, (struct hutch_event){.type = HUTCH_EVENT_VIOLATION, .violation = &violation});
}

void run_on_event(struct hutch_run *run, struct sandbox_event *event)
{
    switch (event->type) {
    case SANDBOX_READY:
    case SANDBOX_FAILED: break; /* the sandbox's own */
    case SANDBOX_STARTED: on_started(run, event); break;
    case SANDBOX_EXEC_FAILED:
        run->error = event->error;
        run->exec_errno = event->exec_errno;
        run->state = run->exec_errno ? RUN_DRAINING : RUN_FAILED;
        break;
    case SANDBOX_VIOLATION: on_violation(run, &event->violation); break;
    case SANDBOX_EXITED:
        run->violation_total += event->unreported;
        monitor_saw(&run->monitor, event->left + 1);
        on_exited(run, &event->exit, event->at_ns);
        break;
    }
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

    epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->box->sandbox->exit_fd, NULL);
    epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->box->sandbox->events_fd, NULL);
    if (run->exited || run->exec_errno || run->state == RUN_FAILED)
        return 0;
    if (run->ending == HUTCH_EXITED && run->state == RUN_RUNNING)
        judge_end(run); /* the kernel may have ended all of it for its memory */
    if (run->ending == HUTCH_EXITED)
        return err_set(err, HUTCH_EINTERNAL, "sandbox",
                       "the sandbox's first process ended unexpectedly (%s %d): the host may be "
                       "out of memory",
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
    emit(run, (struct hutch_event){.type = HUTCH_EVENT_RUN_EXITED, .result = run->result});
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
 * Whether all output has been passed on: at its end, or as far as there is any when what holds it open
 * is not this run's any more.
 */
static bool is_drained(const struct hutch_run *run, const struct relay *output)
{
    return relay_is_over(output) || (!run->owner && relay_is_idle(output));
}

static int dispatch(struct hutch_run *run, enum run_tag tag, struct hutch_error *err)
{
    int r = 0;

    switch (tag) {
    case TAG_EVENTS: return box_pump(run->box, run, err);
    case TAG_EXIT: return box_reap(run->box, run, err);
    case TAG_WAKE: on_wake(run); return 0;
    case TAG_ROOM: return 0; /* the caller is told by coming here */
    case TAG_TIMER: on_deadline(run); return 0;
    case TAG_MONITOR: return on_monitor(run, err);
    case TAG_STDIN: r = relay_step(&run->input); break;
    case TAG_STDOUT:
    case TAG_STDERR:
        /* A command may be quicker than the word that it has started; that word comes first. */
        if (run->on_event && run->state == RUN_SETTING_UP) {
            r = box_pump(run->box, run, err);
            if (r < 0 || run->state == RUN_SETTING_UP)
                return r;
        }
        r = relay_step(&run->output[tag == TAG_STDOUT ? 0 : 1]);
        break;
    }
    return r < 0 ? err_sys(err, r, "run", "cannot relay the command's streams") : 0;
}

/* What follows from all that was seen. */
static int conclude(struct hutch_run *run, struct hutch_error *err)
{
    const struct hutch_error *error = run->state == RUN_FAILED ? &run->error : &run->box->error;

    if (run->box->gone && !run->told) {
        run->told = true;
        int r = on_gone(run, err);
        if (r < 0)
            return r;
    }
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
    int count = epoll_wait(run->epoll, events, 8, timeout_ms);

    if (count < 0 && errno != EINTR)
        return err_sys(err, -errno, "run", "cannot wait for the sandbox");
    for (int i = 0; i < count; i++) {
        int r = dispatch(run, (enum run_tag)events[i].data.u32, err);
        if (r < 0)
            return r;
        /* Init's socket ends before init does. All of it was read; it would only keep us busy. */
        if (events[i].data.u32 == TAG_EVENTS && (events[i].events & EPOLLHUP))
            epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->box->sandbox->events_fd, NULL);
    }
    return conclude(run, err);
}

/*
 * A receiver of output that goes away must not kill the program we live in. Its handlers are not ours to
 * change, but this thread's mask is, for as long as we hold it.
 */
struct quiet {
    sigset_t pipe_set;
    sigset_t old;
};

static void begin_quiet(struct quiet *quiet)
{
    sigemptyset(&quiet->pipe_set);
    sigaddset(&quiet->pipe_set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &quiet->pipe_set, &quiet->old);
}

static void end_quiet(const struct quiet *quiet)
{
    const struct timespec no_time = {0};

    if (sigismember(&quiet->old, SIGPIPE))
        return;
    while (sigtimedwait(&quiet->pipe_set, NULL, &no_time) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &quiet->old, NULL);
}

static int no_box(struct hutch_error *err)
{
    return err_set(err, HUTCH_ESTATE, "run", "its sandbox was closed");
}

int run_step(struct hutch_run *run, int timeout_ms, struct hutch_error *err)
{
    struct quiet quiet;

    if (run->state == RUN_OVER)
        return 1;
    if (run->state == RUN_FAILED)
        return err_set(err, HUTCH_ESTATE, "run", "the run has failed already");
    if (!run->box)
        return no_box(err);

    begin_quiet(&quiet);
    int r = step(run, timeout_ms, err);
    end_quiet(&quiet);
    if (r < 0)
        run->state = RUN_FAILED;
    return r;
}

/* ---- Requests ---- */

uint32_t run_id(const struct hutch_run *run)
{
    return run->id;
}

int run_fd(const struct hutch_run *run)
{
    return run->epoll;
}

int run_signal(struct hutch_run *run, int signal, struct hutch_error *err)
{
    if (run->state != RUN_RUNNING && run->state != RUN_SETTING_UP)
        return 0;
    if (!run->box)
        return no_box(err);
    return run->box->sandbox->ops->signal(run->box->sandbox, run->id, signal, SCOPE_GROUP, err);
}

int run_resize(struct hutch_run *run, uint16_t rows, uint16_t cols, struct hutch_error *err)
{
    int r = run->terminal >= 0 ? sys_terminal_resize(run->terminal, rows, cols) : 0;

    return r < 0 ? err_sys(err, r, "tty", "cannot resize the terminal") : 0;
}

int run_cancel(struct hutch_run *run, struct hutch_error *err)
{
    if (!run->box)
        return no_box(err);
    end_with(run, HUTCH_CANCELLED);
    if (!run->box->gone)
        kill_all(run, own_scope(run));
    return 0;
}

/* ---- Input that the caller writes ---- */

static int no_reader(struct hutch_error *err)
{
    return err_set(err, HUTCH_ESTATE, "stdin", "nobody reads it: the command has no input, or %s",
                   "does not want any more");
}

int run_write(struct hutch_run *run, const void *data, size_t len, struct hutch_error *err)
{
    struct epoll_event room = {.events = EPOLLOUT | EPOLLONESHOT, .data.u32 = TAG_ROOM};
    struct quiet quiet;

    if (run->stdin_open && run->stdin_fd < 0 && run->state == RUN_SETTING_UP)
        return 0; /* a terminal is made inside, and not here yet */
    if (run->stdin_fd < 0)
        return no_reader(err);
    begin_quiet(&quiet);
    ssize_t done = write(run->stdin_fd, data, len < INT_MAX ? len : INT_MAX);
    int error = done < 0 ? errno : 0;
    end_quiet(&quiet);
    if (error && error != EAGAIN && error != EINTR) {
        fd_close(&run->stdin_fd);
        return no_reader(err);
    }
    if ((size_t)(done < 0 ? 0 : done) < len &&
        epoll_ctl(run->epoll, EPOLL_CTL_MOD, run->stdin_fd, &room) < 0 &&
        epoll_ctl(run->epoll, EPOLL_CTL_ADD, run->stdin_fd, &room) < 0)
        return err_sys(err, -errno, "stdin", "cannot wait for room");
    return done < 0 ? 0 : (int)done;
}

int run_close_stdin(struct hutch_run *run, struct hutch_error *err)
{
    const char eot = END_OF_TRANSMISSION;

    if (!run->stdin_open || (run->stdin_fd < 0 && run->state == RUN_SETTING_UP))
        return err_set(err, HUTCH_ESTATE, "stdin", "there is none to close yet");
    if (run->terminal >= 0 && run->stdin_fd >= 0 && write(run->stdin_fd, &eot, 1) < 0)
        errno = 0; /* a terminal that takes no more has nobody reading from it either */
    fd_close(&run->stdin_fd);
    return 0;
}

int run_result(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err)
{
    if (!run->result)
        return err_set(err, HUTCH_ESTATE, "run", "the run has no result (yet, or any more)");
    *ret = run->result;
    run->result = NULL;
    return 0;
}

void run_leave(struct hutch_run *run)
{
    if (!run || !run->owner || !run->box || run->state != RUN_OVER ||
        !run->box->sandbox->ops->leave(run->box->sandbox))
        run_free(run);
}

/* A run in a sandbox that lasts, and that nobody will hear of any more. */
static void abandon(struct hutch_run *run)
{
    bool ended = run->exited || run->exec_errno || run->state == RUN_FAILED || run->box->gone;

    if (!ended && run->epoll >= 0)
        signal_run(run, SIGKILL, SCOPE_TREE);
    run->box->sandbox->ops->forget(run->box->sandbox, run->id);
}

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
    for (int i = 0; i < 3; i++)
        fd_close(&run->caller[i]);
    fd_close(&run->stdin_fd);
    fd_close(&run->terminal);
    monitor_clear(&run->monitor);
    fd_close(&run->timer);
    fd_close(&run->wake);
    if (run->box && !run->owner)
        abandon(run);
    fd_close(&run->epoll);
    result_free(run->result);
    if (run->box) {
        own = run->owner ? run->box : NULL;
        leave_box(run);
    }
    box_free(own); /* late: what it has to wait for goes on meanwhile */
    arena_clear(&run->own_arena);
    free(run);
}
