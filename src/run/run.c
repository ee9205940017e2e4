/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *              STARTED              EXITED, or init gone          all streams at their end
 *   SETTING_UP ───────► RUNNING ─────────────────────► DRAINING ─────────────────────────► OVER
 *        │                 │ deadline: SIGTERM to the tree, GRACE_MS later SIGKILL
 *        └─ FAILED: step returns the error, nothing has run
 *
 * A one-shot sandbox ends with its command: before it says EXITED, init kills and reaps what the
 * command left behind, and then every pipe has an end. So DRAINING terminates, and when a run is
 * OVER no process of it exists. Init itself ends meanwhile, its namespaces with it; run_free() waits
 * for that.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
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

/* What an epoll event is about. */
enum run_tag {
    TAG_EVENTS,
    TAG_EXIT,
    TAG_TIMER,
    TAG_MONITOR,
    TAG_STDIN,
    TAG_STDOUT,
    TAG_STDERR,
};

/* ---- Events ---- */

static void emit(struct hutch_run *run, struct hutch_event event)
{
    if (!run->on_event)
        return;
    event.size = sizeof event;
    event.time_ms = sys_clock_ns(CLOCK_REALTIME) / 1000000U;
    event.sandbox = run->plan->id;
    run->on_event(run->arg, &event);
}

static void emit_output(struct hutch_run *run, int stream, const char *data, size_t len)
{
    emit(run, (struct hutch_event){.type = HUTCH_EVENT_RUN_OUTPUT,
                                   .run = RUN_ID,
                                   .stream = stream,
                                   .data = data,
                                   .data_len = len});
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

    if (run->caller[0] < 0) {
        fd_close(dst);
        return 0;
    }
    int r = nonblocking(*dst);
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
    run->epoll = ret_errno(epoll_create1(EPOLL_CLOEXEC));
    if (run->epoll < 0)
        return run->epoll;
    int r = watch(run, run->sandbox->events_fd, TAG_EVENTS);
    if (r == 0)
        r = watch(run, run->sandbox->exit_fd, TAG_EXIT);
    if (r < 0)
        return r;
    run->timer = ret_errno(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (run->timer < 0)
        return run->timer;
    if (run->plan->limits.timeout_ms != NUM_NO_LIMIT)
        r = set_timer(run, run->plan->limits.timeout_ms);
    return r < 0 ? r : watch(run, run->timer, TAG_TIMER);
}

static int start_command(struct hutch_run *run, struct hutch_error *err)
{
    struct sandbox_exec exec = {
        .run = RUN_ID,
        .command = &run->command,
        .last = true,
        .stdio = {-1, -1, -1},
    };
    int r = run->command.tty ? 0 : start_pipes(run, exec.stdio);

    if (r == 0)
        return run->sandbox->ops->exec(run->sandbox, &exec, err);
    for (int i = 0; i < 3; i++)
        fd_close(&exec.stdio[i]);
    return err_sys(err, r, "run", "cannot connect the command's streams");
}

static int start(struct hutch_run *run, const struct hutch_command *command,
                 struct hutch_error *err)
{
    int r = plan_command_build(run->plan, command, &run->command, err);
    if (r < 0)
        return r;

    /* The sandbox first: it sets itself up while this side does the rest. */
    r = backend_choose(run->plan, &run->backend, err);
    if (r == 0)
        r = run->backend->start(run->plan, &run->sandbox, err);
    if (r < 0)
        return r;
    r = monitor_init(&run->monitor, run->plan);
    if (r == 0)
        r = take_caller_fds(run, command);
    if (r == 0)
        r = open_loop(run);
    if (r < 0)
        return err_sys(err, r, "run", "cannot prepare the run");
    return start_command(run, err);
}

int run_start(struct plan **plan, const struct hutch_command *command, hutch_event_fn *on_event,
              void *arg, struct hutch_run **ret, struct hutch_error *err)
{
    struct hutch_run *run = calloc(1, sizeof *run);

    if (!run) {
        plan_free(*plan);
        *plan = NULL;
        return err_oom(err);
    }
    *run = (struct hutch_run){
        .plan = *plan,
        .epoll = -1,
        .timer = -1,
        .terminal = -1,
        .monitor = {.timer = -1},
        .caller = {-1, -1, -1},
        .input = RELAY_INIT,
        .output = {RELAY_INIT, RELAY_INIT},
        .on_event = on_event,
        .arg = arg,
    };
    *plan = NULL;
    capture_init(&run->capture[0], run->plan->limits.output_bytes);
    capture_init(&run->capture[1], run->plan->limits.output_bytes);

    int r = start(run, command, err);
    if (r < 0) {
        run_free(run);
        return r;
    }
    *ret = run;
    return 0;
}

/* ---- Ending ---- */

static void end_with(struct hutch_run *run, enum hutch_reason reason)
{
    if (run->ending == HUTCH_EXITED && !run->exited)
        run->ending = reason;
}

/*
 * Kill everything but init, which still has things to put right and the usage to report; when it does
 * not within LAST_MS, or when nothing runs yet, init too.
 */
static void kill_all(struct hutch_run *run)
{
    bool asked = run->state == RUN_RUNNING && !run->last_chance &&
                 run->sandbox->ops->signal(run->sandbox, RUN_ID, SIGKILL, true, NULL) == 0 &&
                 set_timer(run, LAST_MS) == 0;

    run->last_chance = true;
    if (!asked)
        run->sandbox->ops->kill(run->sandbox);
}

/* First a request to everything in the sandbox, then, after the grace, no more requests. */
static void on_deadline(struct hutch_run *run)
{
    uint64_t expirations;

    if (read(run->timer, &expirations, sizeof expirations) < 0 || run->exited || run->gone)
        return;
    if (run->in_grace || run->last_chance) {
        kill_all(run);
        return;
    }
    end_with(run, HUTCH_TIMEOUT);
    run->in_grace = true;
    emit(run, (struct hutch_event){.type = HUTCH_EVENT_RUN_TIMEOUT, .run = RUN_ID});
    /* Not started yet, not reachable, or no timer for the grace: then there is none. */
    if (run->state != RUN_RUNNING ||
        run->sandbox->ops->signal(run->sandbox, RUN_ID, SIGTERM, true, NULL) < 0 ||
        set_timer(run, GRACE_MS) < 0)
        kill_all(run);
}

/* ---- Limits ---- */

static void emit_finding(struct hutch_run *run, const struct monitor_finding *finding)
{
    emit(run,
         (struct hutch_event){.type = finding->reason == HUTCH_EXITED ? HUTCH_EVENT_LIMIT_WARNING
                                                                      : HUTCH_EVENT_LIMIT_EXCEEDED,
                              .run = RUN_ID,
                              .limit = finding->limit,
                              .current = finding->current,
                              .max = finding->max});
}

/* A limit that the host itself is below is worth a word: it will never be what ends the run. */
static void warn_of_absurd(struct hutch_run *run)
{
    struct plan_limit_row rows[PLAN_LIMIT_ROWS];

    plan_limit_rows(run->plan, rows);
    for (size_t i = 0; i < PLAN_LIMIT_ROWS; i++)
        if (rows[i].max != NUM_NO_LIMIT && rows[i].max > rows[i].host)
            emit_finding(run, &(struct monitor_finding){.limit = rows[i].name,
                                                        .current = rows[i].host,
                                                        .max = rows[i].max});
}

static int on_monitor(struct hutch_run *run, struct hutch_error *err)
{
    struct monitor_finding findings[LIMIT_COUNT + 1];

    if (run->exited || run->gone)
        return 0;
    run->monitor.output_bytes = 0;
    for (int i = 0; i < 2; i++) /* what is passed on is not limited */
        if (run->output[i].capture && run->output[i].bytes > run->monitor.output_bytes)
            run->monitor.output_bytes = run->output[i].bytes;
    int count = monitor_step(&run->monitor, run->sandbox, findings);
    if (count < 0)
        return err_sys(err, count, "limits", "cannot measure what the sandbox uses");
    for (int i = 0; i < count; i++) {
        bool first = run->ending == HUTCH_EXITED;
        if (findings[i].reason == HUTCH_EXITED || first)
            emit_finding(run, &findings[i]);
        if (findings[i].reason != HUTCH_EXITED && first) {
            end_with(run, findings[i].reason);
            kill_all(run);
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
    enum hutch_reason reason = monitor_end(&run->monitor, run->sandbox, &run->exit, &finding);
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

static void on_ready(struct hutch_run *run, const struct sandbox_event *event)
{
    if (run->ready)
        return;
    run->ready = true;
    memcpy(run->setup, event->setup, sizeof run->setup);
    for (const struct hutch_step *step = run->setup; step->name; step++)
        run->setup_total_ms += step->ms;
    emit(run, (struct hutch_event){.type = HUTCH_EVENT_SANDBOX_STARTED});
}

static void on_started(struct hutch_run *run, struct sandbox_event *event)
{
    on_ready(run, event);
    run->state = RUN_RUNNING;
    run->started_ns = event->at_ns;
    emit(run, (struct hutch_event){
                  .type = HUTCH_EVENT_RUN_STARTED, .run = RUN_ID, .argv = run->command.argv});
    warn_of_absurd(run);
    if ((event->terminal >= 0 && start_terminal(run, &event->terminal) < 0) ||
        monitor_start(&run->monitor, run->sandbox, run->started_ns) < 0 ||
        watch(run, run->monitor.timer, TAG_MONITOR) < 0)
        run_cancel(run, NULL);
    fd_close(&event->terminal);
}

/* Kept in the plan's arena, up to a bound; the rest is counted. */
static void on_violation(struct hutch_run *run, const struct sandbox_violation *seen)
{
    struct arena *arena = &run->plan->arena;
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
    emit(run, (struct hutch_event){
                  .type = HUTCH_EVENT_VIOLATION, .run = RUN_ID, .violation = &violation});
}

/* All that the sandbox has to say. */
static int on_events(struct hutch_run *run, struct hutch_error *err)
{
    struct sandbox_event event;
    int r;

    while ((r = run->sandbox->ops->next(run->sandbox, &event, err)) > 0) {
        switch (event.type) {
        case SANDBOX_READY: on_ready(run, &event); break;
        case SANDBOX_FAILED:
            run->error = event.error;
            run->state = RUN_FAILED;
            break;
        case SANDBOX_STARTED: on_started(run, &event); break;
        case SANDBOX_EXEC_FAILED:
            on_ready(run, &event);
            run->error = event.error;
            run->exec_errno = event.exec_errno;
            run->state = run->exec_errno ? RUN_DRAINING : RUN_FAILED;
            break;
        case SANDBOX_VIOLATION: on_violation(run, &event.violation); break;
        case SANDBOX_EXITED:
            run->violation_total += event.unreported;
            monitor_saw(&run->monitor, event.left + 1);
            on_exited(run, &event.exit, event.at_ns);
            break;
        }
    }
    return r;
}

/* Init has ended, and with it everything in the sandbox. */
static int on_gone(struct hutch_run *run, struct hutch_error *err)
{
    struct sys_exit ended;
    int r = on_events(run, err); /* its last words may still be in the socket */

    if (r < 0)
        return r;
    r = run->sandbox->ops->wait(run->sandbox, &ended);
    if (r == -EAGAIN)
        return 0;
    if (r < 0)
        return err_sys(err, r, "run", "cannot wait for the sandbox");
    epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->sandbox->exit_fd, NULL);
    epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->sandbox->events_fd, NULL);
    run->gone = true;
    if (run->exited || run->exec_errno || run->state == RUN_FAILED)
        return 0;
    if (run->ending == HUTCH_EXITED && run->state == RUN_RUNNING)
        judge_end(run); /* the kernel may have ended all of it for its memory */
    if (run->ending == HUTCH_EXITED)
        return err_set(err, HUTCH_EINTERNAL, "sandbox",
                       "the sandbox's first process ended unexpectedly (%s %d): the host may be "
                       "out of memory",
                       ended.signal ? "signal" : "status",
                       ended.signal ? ended.signal : ended.code);
    /* We killed it: its usage includes its children's. */
    on_exited(run, &ended, sys_clock_ns(CLOCK_MONOTONIC));
    return 0;
}

/* ---- Stepping ---- */

static int finish(struct hutch_run *run, struct hutch_error *err)
{
    int r = run_report(run, &run->result, err);

    if (r < 0)
        return r;
    run->state = RUN_OVER;
    emit(run, (struct hutch_event){
                  .type = HUTCH_EVENT_RUN_EXITED, .run = RUN_ID, .result = run->result});
    emit(run, (struct hutch_event){.type = HUTCH_EVENT_SANDBOX_STOPPED});
    return 1;
}

static int dispatch(struct hutch_run *run, enum run_tag tag, struct hutch_error *err)
{
    int r = 0;

    switch (tag) {
    case TAG_EVENTS: return on_events(run, err);
    case TAG_EXIT: return on_gone(run, err);
    case TAG_TIMER: on_deadline(run); return 0;
    case TAG_MONITOR: return on_monitor(run, err);
    case TAG_STDIN: r = relay_step(&run->input); break;
    case TAG_STDOUT:
    case TAG_STDERR:
        /* A command may be quicker than the word that it has started; that word comes first. */
        if (run->on_event && run->state == RUN_SETTING_UP) {
            r = on_events(run, err);
            if (r < 0 || run->state == RUN_SETTING_UP)
                return r;
        }
        r = relay_step(&run->output[tag == TAG_STDOUT ? 0 : 1]);
        break;
    }
    return r < 0 ? err_sys(err, r, "run", "cannot relay the command's streams") : 0;
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
            epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->sandbox->events_fd, NULL);
    }
    if (run->state == RUN_FAILED) {
        if (err)
            *err = run->error;
        return run->error.code;
    }
    if ((run->exited || run->exec_errno || run->gone) && relay_is_over(&run->output[0]) &&
        relay_is_over(&run->output[1]))
        return finish(run, err);
    return 0;
}

int run_step(struct hutch_run *run, int timeout_ms, struct hutch_error *err)
{
    sigset_t pipe_set;
    sigset_t old;
    const struct timespec no_time = {0};

    if (run->state == RUN_OVER)
        return 1;
    if (run->state == RUN_FAILED)
        return err_set(err, HUTCH_ESTATE, "run", "the run has failed already");

    /*
     * A receiver of output that goes away must not kill the program we live in. Its handlers are
     * not ours to change, but this thread's mask is, for as long as we hold it.
     */
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    int r = step(run, timeout_ms, err);
    if (!sigismember(&old, SIGPIPE)) {
        while (sigtimedwait(&pipe_set, NULL, &no_time) < 0 && errno == EINTR)
            ;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    if (r < 0)
        run->state = RUN_FAILED;
    return r;
}

/* ---- Requests ---- */

int run_fd(const struct hutch_run *run)
{
    return run->epoll;
}

int run_signal(struct hutch_run *run, int signal, struct hutch_error *err)
{
    if (run->state != RUN_RUNNING && run->state != RUN_SETTING_UP)
        return 0;
    return run->sandbox->ops->signal(run->sandbox, RUN_ID, signal, false, err);
}

int run_resize(struct hutch_run *run, uint16_t rows, uint16_t cols, struct hutch_error *err)
{
    int r = run->terminal >= 0 ? sys_terminal_resize(run->terminal, rows, cols) : 0;

    return r < 0 ? err_sys(err, r, "tty", "cannot resize the terminal") : 0;
}

int run_cancel(struct hutch_run *run, struct hutch_error *err)
{
    (void)err;
    end_with(run, HUTCH_CANCELLED);
    if (!run->gone)
        kill_all(run);
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
    if (!run || run->state != RUN_OVER || !run->sandbox->ops->leave(run->sandbox))
        run_free(run);
}

void run_free(struct hutch_run *run)
{
    if (!run)
        return;
    relay_stop(&run->input);
    for (int i = 0; i < 2; i++) {
        relay_stop(&run->output[i]);
        capture_clear(&run->capture[i]);
    }
    for (int i = 0; i < 3; i++)
        fd_close(&run->caller[i]);
    fd_close(&run->terminal);
    monitor_clear(&run->monitor);
    fd_close(&run->timer);
    fd_close(&run->epoll);
    result_free(run->result);
    if (run->sandbox) /* late: what it has to wait for goes on meanwhile */
        run->sandbox->ops->free(run->sandbox);
    plan_free(run->plan);
    free(run);
}
