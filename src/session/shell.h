/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder know of a shell. They use the public API and nothing below it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <hutch.h>

#include "base/arena.h"
#include "base/buf.h"
#include "session/history.h"
#include "session/prelude.h"
#include "session/ring.h"

/* How long what we run for ourselves may take: the user's functions may be in its way. */
#define SHELL_OWN_MS 5000

struct hutch_shell {
    struct hutch_sandbox *sandbox;
    enum hutch_shell_mode mode;
    enum prelude_dialect dialect;
    const char *program; /* in `arena`, as the next two */
    const char *const *env;
    const char *dir; /* of the state, inside */
    struct arena arena;
    char id[17];
    hutch_event_fn *on_event;
    void *arg;
    struct hutch_run *run;
    bool run_over;       /* `run` has ended */
    bool on_terminal;    /* it has one, which is what can be read */
    bool interactive;    /* it is the shell that is typed to */
    uint64_t generation; /* of the last command that was started; 0 before the first */
    uint64_t ended;      /* the last one that has ended */
    uint64_t count;      /* commands the user has started */
    struct history history;
    struct ring output;  /* PTY, as the next two */
    uint16_t rows, cols; /* of the next terminal */
};

/*
 * Run a program with the shell's variables, on a terminal or without; `on_event` hears of it (NULL: as the
 * sandbox's other runs).
 */
int shell_start_run(struct hutch_shell *shell, const char *const *argv, bool terminal,
                    uint64_t timeout_ms, hutch_event_fn *on_event, struct hutch_error *err);

/*
 * Hand on an event of such a run, with the shell's id; what a terminal shows is kept. `argv` is what
 * run.started tells in place of how the shell was made to do that.
 */
void shell_pass_on(struct hutch_shell *shell, const struct hutch_event *event,
                   const char *const *argv);

/* What a program in the sandbox printed to standard error, its first line, fit to be shown. */
const char *shell_complaint(const struct hutch_result *result, char *out, size_t size);

/* As hutch_shell_exec(), for a command that the user has not typed. */
int shell_exec(struct hutch_shell *shell, const char *command, uint64_t timeout_ms,
               struct hutch_result **ret, struct hutch_error *err);
int shell_cd(struct hutch_shell *shell, const char *dir, struct hutch_error *err);

/* The command `number` has ended by itself: drop the state that it began with, if that kept it from it. */
void shell_drop_unfit(struct hutch_shell *shell, uint64_t number);

/* Start the interactive shell. */
int shell_start_interactive(struct hutch_shell *shell, uint64_t timeout_ms,
                            struct hutch_error *err);
