/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor knows of one run. For the files of this folder.
 *
 *              STARTED              EXITED, or init gone               streams are empty
 *   SETTING_UP ───────► RUNNING ─────────────────────► DRAINING ─────────────────────────► OVER
 *        │                 │ deadline: SIGTERM to the tree, GRACE_MS later SIGKILL
 *        └─ FAILED: step returns the error, nothing has run
 *
 * A sandbox of a run's own ends with its command: before it says EXITED, init kills and reaps what the
 * command left behind, and what is in the pipes then is all there will be. So DRAINING terminates, and when
 * such a run is OVER no process of it exists. Init itself ends meanwhile, its namespaces with it; run_free()
 * waits for that.
 *
 * In a sandbox that lasts, what a command left behind lives on and may hold its pipes open. There
 * DRAINING ends when nothing more is in them.
 *
 * run.c starts and frees a run, step.c takes it from state to state, streams.c has its standard streams,
 * end.c what ends it, report.c its result.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <hutch.h>

#include "base/fd.h"
#include "run/box.h"
#include "run/capture.h"
#include "run/loop.h"
#include "run/monitor.h"
#include "run/relay.h"

#define VIOLATIONS_MAX 128

enum run_state { RUN_SETTING_UP, RUN_RUNNING, RUN_DRAINING, RUN_OVER, RUN_FAILED };

/* What an epoll event is about. */
enum run_tag {
    TAG_EVENTS,
    TAG_EXIT,
    TAG_TIMER,
    TAG_STDIN,
    TAG_STDOUT,
    TAG_STDERR,
    TAG_WAKE,
    TAG_ROOM, /* for input that the caller writes */
};

struct hutch_run {
    enum run_state state;
    struct hutch_sandbox *box; /* NULL: it was closed before the run was freed */
    struct hutch_run *next;    /* of the same sandbox */
    uint32_t id;
    bool owner; /* the sandbox is this run's own, and ends with it */
    struct arena *arena;
    struct arena own_arena; /* of a run whose sandbox stays */
    struct plan_command command;
    struct loop loop;
    bool loop_known; /* to the caller, in whose sets it may be; or not all is in it any more */
    int wake; /* readable when another run's step has taken something for this one; -1: always alone */
    int terminal;      /* master, for resizing; -1 without one */
    bool resized;      /* before there was one: `command` has the size that it is to get */
    int streams_error; /* -errno: they could not be connected */
    int pipes[3];      /* our ends until the command has started, and relays take them; -1: none */
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
    bool ends_box;    /* the sandbox has been asked to end */
    struct monitor monitor;
    bool supervised; /* its limits are looked at */
    bool monitored;  /* to its end */
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

/* run.c: an event of this run; and the error of one whose sandbox is there no more. */
void run_emit(struct hutch_run *run, struct hutch_event event);
int run_no_box(struct hutch_error *err);

/*
 * step.c: what is waited for, from the start. For box.c: something for this run, -EPROTO when it cannot be
 * true; and that there was.
 */
int run_open_loop(struct hutch_run *run);
void run_close_loop(struct hutch_run *run);
int run_on_event(struct hutch_run *run, struct sandbox_event *event);
void run_wake(const struct hutch_run *run);

/* step.c: what the sandbox has told, as callers are told it. Strings are borrowed. */
struct hutch_violation run_violation(const struct sandbox_violation *seen);

/* streams.c: the caller's descriptors are duplicated: it may close or reuse its own at any time. */
int run_take_caller_fds(struct hutch_run *run, const struct hutch_command *command);

/*
 * Three pipes: the other ends are the command's. Ours are connected when that has started: nothing is read for
 * a command that cannot be, and the one who starts it need not wait for us.
 */
int run_make_pipes(struct hutch_run *run, int stdio[3]);

/* May be called again. `over`: the command has ended, so that only what it has left in them is still to be read. */
int run_connect_pipes(struct hutch_run *run, bool over);

/* The terminal was made inside; its master end has arrived. Takes *master. */
int run_start_terminal(struct hutch_run *run, int *master);

/*
 * A receiver of output that goes away must not kill the program we live in. Its handlers are not ours to
 * change, but this thread's mask is, for as long as we hold it.
 */
struct run_quiet {
    sigset_t pipe_set;
    sigset_t old;
};

void run_begin_quiet(struct run_quiet *quiet);
void run_end_quiet(const struct run_quiet *quiet);

/* end.c: what to do when TAG_TIMER and TAG_MONITOR say that it is time. */
void run_on_deadline(struct hutch_run *run);

/* The command has its time from now on; what the set-up took was not part of it. */
int run_start_deadline(struct hutch_run *run);
int run_on_monitor(struct hutch_run *run, struct hutch_error *err);

/* A limit that the host itself is below is worth a word: it will never be what ends the run. */
void run_warn_of_absurd(struct hutch_run *run);

/* The command's own end may have been a limit's doing. */
void run_judge_end(struct hutch_run *run);

/* A run in a sandbox that lasts, and that nobody will hear of any more. */
void run_abandon(struct hutch_run *run);

/* report.c: the result of a run that is over. */
int run_report(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err);
