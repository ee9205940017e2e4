/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of `hutch rpc`: one client, its sandboxes, their runs, and the requests that wait for
 * something to happen. One loop, on one thread.
 *
 * Theory of operation
 *
 *   stdin ─► lines ─► message ─► method ──────────────► answer ─► outbox ─► stdout
 *                                  │ cannot answer yet     ▲         ▲
 *                                  └─► waiter ─────────────┘         │
 *                 runs ─► step ─► settles waiters;  events ──────────┘
 *
 * A method answers at once or leaves a waiter, which server_settle() answers when its run or sandbox has
 * come that far. Nothing is freed while runs are stepped; what has become useless goes in
 * server_settle().
 *
 * Calls about files are done by other threads (file_call.h), one at a time in a sandbox. What is asked of
 * that sandbox meanwhile waits for its turn, as the line that it is, so that requests for a sandbox begin in
 * the order they came (turn.c). Its runs are stepped all the time.
 *
 * Everything that can pile up has a bound. When the client does not read and OUTBOX_PAUSE bytes wait for
 * it, no more requests are read, no more waiters answered, no more calls about files begun, and runs
 * whose output it has subscribed to are stepped only every THROTTLE_MS: often enough for their limits to be
 * kept, seldom enough to make a flood a trickle. At OUTBOX_DROP bytes output events are counted instead of
 * sent, and the client is told how many when it reads again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <hutch.h>
#include <jansson.h>

#include "base/buf.h"
#include "cli/events.h"
#include "cli/rpc/backlog.h"
#include "cli/rpc/file_call.h"
#include "cli/rpc/lines.h"
#include "cli/rpc/outbox.h"

enum {
    OUTBOX_PAUSE = 1 << 20,
    OUTBOX_DROP = 16 << 20,
    THROTTLE_MS = 100,
    RETRY_MS = 10, /* for a request that came too soon, if no run wakes us before */
    SANDBOXES_MAX = 256,
    SHELLS_MAX = 256,      /* of all sandboxes */
    RUNS_MAX = 256,        /* going on, or ended and not asked for yet; of all sandboxes */
    WAITERS_MAX = 1024,    /* requests that are not answered yet */
    TURNS_BYTES = 8 << 20, /* of requests that wait for their turn: then no more are read */
    INPUT_MAX = 8 << 20,   /* bytes that a command has been sent and has not read */
    COLLECTED_MAX = 8,     /* runs of a sandbox whose end was told and which can be asked again */
    POLL_BYTES = 1 << 20,  /* of output in one answer */
};

struct server_run {
    struct server_run *next;
    struct server_sandbox *sandbox;
    struct server_shell *shell; /* whose run it is; NULL: one of its own */
    struct hutch_run *run;
    uint32_t id;
    bool exec;      /* freed when its request is answered; not for sandbox.poll */
    bool collected; /* its end was told by sandbox.poll */
    bool over;      /* then `result`, or else `error`, says how */
    struct hutch_result *result;
    struct hutch_error error;
    struct backlog backlog;
    struct buf input; /* not taken by the command yet, from `input_sent` on */
    size_t input_sent;
    bool input_eof;   /* no more comes after that */
    bool input_ended; /* and the command has been told */
};

struct server_shell {
    struct server_shell *next;
    struct server_sandbox *sandbox;
    struct hutch_shell *shell;
    char *id;
    bool pty;
    bool used;              /* something was run in it */
    struct server_run *run; /* the command, or the interactive shell; NULL: none */
    bool ended;             /* the last one, as the next two say; -1: not that way */
    int exit_code, signal;
    bool closing; /* as soon as that is over */
};

struct server_sandbox {
    struct server_sandbox *next;
    struct server *server;
    struct hutch_sandbox *sandbox;
    struct hutch_sandbox_info info;
    struct server_run *runs; /* oldest first */
    struct server_shell *shells;
    struct file_call *file_call; /* that goes on, or has not been answered; NULL: none */
    unsigned subscribed;         /* bits by enum hutch_event_type */
    bool closing;                /* as soon as its runs are over */
};

/* A request that is answered later. */
struct server_waiter {
    struct server_waiter *next;
    char *id; /* NULL: nobody wants the answer */
    enum waiter_kind {
        WAIT_EXEC,
        WAIT_POLL,
        WAIT_CLOSE,
        WAIT_SHELL_READ,
        WAIT_SHELL_CLOSE,
        WAIT_FILE, /* for the end of its sandbox's call about files */
        WAIT_TURN, /* to begin */
    } kind;
    struct server_sandbox *sandbox;
    struct server_run *run;     /* of WAIT_EXEC and WAIT_POLL */
    struct server_shell *shell; /* of WAIT_SHELL_READ and WAIT_SHELL_CLOSE */
    uint64_t cursor;            /* WAIT_POLL: answered when there is output behind it... */
    uint64_t deadline_ms;       /* ...or at this time */
    char *line;                 /* WAIT_TURN: the request */
    size_t line_len;
    bool file;      /* WAIT_TURN: it is a call about files */
    bool cancelled; /* WAIT_TURN: it is not to begin */
};

struct server {
    int in;
    struct lines lines;
    struct outbox outbox;
    struct events audit;
    struct server_sandbox *sandboxes; /* oldest first */
    size_t sandbox_count;
    size_t run_count;
    size_t shell_count;
    struct server_waiter *waiters; /* oldest first */
    size_t waiter_count;
    unsigned subscribed; /* to events of all sandboxes */
    uint64_t dropped;    /* output events that were not sent, and not told about yet */
    uint64_t stepped_ms; /* when paused runs had their last turn */
    bool more_lines;     /* there may be some that have arrived */
    bool drained;        /* the client has read: what was held back has its turn at once */
    bool held;           /* the next line has come too soon; it is tried again */
    bool retry;          /* so has one whose turn it was */
    struct file_workers workers;
    size_t file_count;  /* calls about files that go on or have not been answered */
    size_t turns_bytes; /* of requests that wait for their turn */
};

/* One request on its way to its method. */
struct call {
    const char *id; /* NULL: a notification */
    json_t *params;
    const char *line; /* all of it */
    size_t line_len;
};

/* Serve `in` and `out` until the client is gone, or a signal. Returns 0, or a negative code. */
int server_run(int in, int out, struct hutch_error *err);

/* Milliseconds of a clock that only goes forward. */
uint64_t server_now_ms(void);

/* Whether the client must read before it gets more. */
bool server_is_full(const struct server *server);

/*
 * dispatch.c: do what one line asks for, or let it wait for its turn unless that has come. False: not now, it
 * must come again.
 */
bool server_dispatch(struct server *server, const char *line, size_t len, bool turn_has_come);

/* wait.c: answer later. What it waits for may have begun: look first whether one more may wait. */
int server_may_wait(const struct server *server, struct hutch_error *err);
void server_wait(struct server *server, const struct call *call,
                 const struct server_waiter *waiter);
void server_settle(struct server *server);
struct server_waiter *server_find_waiter(const struct server *server, const char *id);
/* Milliseconds until the first waiter's deadline; -1: none has one. */
int server_wait_timeout(const struct server *server);
void server_free_waiter(struct server *server, struct server_waiter **link);
void server_free_waiters(struct server *server);

/* turn.c: requests that must not overtake a call about files. NULL: it is about no sandbox. */
bool turn_is_now(const struct server *server, const struct server_sandbox *sandbox, bool file);
int turn_wait(struct server *server, const struct call *call, struct server_sandbox *sandbox,
              bool file, struct hutch_error *err);
/* Begin it, if it may now; then it is out of the list. */
bool turn_settle(struct server *server, struct server_waiter **link);
/* Whether more may be read from the client. */
bool turn_has_room(const struct server *server);

/* Calls about files that wait or go on. */
int server_begin_file(struct server *server, const struct call *call, file_fn *fn,
                      struct hutch_error *err);
bool server_has_files(const struct server *server);
bool file_settle(struct server *server, const struct server_waiter *waiter);
/* Tell what it had to tell, and forget it. Waits for its end. */
void server_free_file(struct server *server, struct server_sandbox *sandbox);

/* sandbox.c */
int server_find_sandbox(struct server *server, const json_t *params, struct server_sandbox **ret,
                        struct hutch_error *err);
/* That `params` name, or the shell they name; NULL: none, or there is none. */
struct server_sandbox *server_sandbox_of(const struct server *server, const json_t *params);
void server_free_sandbox(struct server *server, struct server_sandbox *sandbox);
bool sandbox_is_idle(const struct server_sandbox *sandbox);

/* run.c */
int server_find_run(struct server *server, const json_t *params, struct server_run **ret,
                    struct hutch_error *err);
void run_step_once(struct server_run *run);
void run_drop(struct server *server, struct server_run *run);
/* Have `run`, with its `run` set, stepped from now on. */
void run_add(struct server *server, struct server_run *run);
/* Whether there is room for one more. */
int run_may_start(const struct server *server, struct hutch_error *err);
/* Input for it: the parameters `data`, `encoding` and `eof`. */
int run_give_input(struct server_run *run, const json_t *params, struct hutch_error *err);

/* shell.c */
bool shell_read_is_ready(const struct server_waiter *waiter);
void shell_read_answer(struct server *server, const struct server_waiter *waiter);
void shell_exec_answer(struct server *server, const struct server_waiter *waiter);
/* Its run is over. */
void shell_run_ended(struct server_shell *shell, const struct hutch_result *result);
void server_free_shell(struct server_shell *shell);

/* poll.c */
bool poll_is_ready(const struct server_waiter *waiter);
void poll_answer(struct server *server, const struct server_waiter *waiter);

/* notify.c: events to the client and the audit log. */
void notify_event(struct server_sandbox *sandbox, const struct hutch_event *event);
void notify_dropped(struct server *server);
/* Whether its output goes to the client as events. */
bool notify_wants_output(const struct server_sandbox *sandbox);
/* The bit of a type of event by its name; 0: there is none. */
unsigned notify_bit(const char *type);

/* policy.c: the parameters `profile` and `policy`. The caller owns *ret. */
int policy_from_params(const json_t *params, struct hutch_policy **ret, struct hutch_error *err);

/*
 * The methods, one for each row of methods.c. Each returns 0, METHOD_LATER with nothing done, an enum
 * rpc_code or a hutch code.
 */
enum { METHOD_LATER = 1 };
typedef int method_fn(struct server *server, const struct call *call, struct hutch_error *err);
method_fn method_cancel, method_server_info;
method_fn method_sandbox_open, method_sandbox_list, method_sandbox_info, method_sandbox_close;
method_fn method_sandbox_exec, method_sandbox_start, method_sandbox_poll, method_sandbox_write;
method_fn method_sandbox_signal, method_sandbox_resize;
method_fn method_file_stat;
method_fn method_shell_cd, method_shell_setenv;
method_fn method_shell_close, method_shell_exec, method_shell_open, method_shell_read;
method_fn method_shell_resize, method_shell_state, method_shell_write;
method_fn method_events_subscribe, method_host_doctor, method_policy_explain;
