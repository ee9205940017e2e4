/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run `hutch` under ptrace: write down the system calls that it and its sandbox make until the
 * command is executed and after, or make one of them fail.
 *
 * A call is named by who makes it, its number, and how often that process has made it before: that
 * stays the same from run to run even where processes take turns differently.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum trace_role {
    ROLE_ENGINE,  /* hutch itself, from reading its policy on */
    ROLE_HELPER,  /* its other children: what holds a user namespace open */
    ROLE_INIT,    /* PID 1 of the sandbox */
    ROLE_COMMAND, /* init's child, before it has executed the command */
    ROLE_COUNT,
    ROLE_PAYLOAD = ROLE_COUNT, /* the command itself: nobody's business */
    ROLE_ANY,
};

struct trace_call {
    enum trace_role role;
    long nr;
    unsigned nth; /* from 1; in a fault, 0: every time */
    bool late;    /* after the engine had nothing left to do but wait, or the command ran */
};

struct trace_log {
    struct trace_call *calls;
    size_t count;
    size_t cap;
};

struct trace_fault {
    struct trace_call call;
    int error;  /* errno */
    bool after; /* let the call happen and then report the error, as close(2) does */
};

struct trace_end {
    int status;    /* as a shell has it: 128 + N for a signal */
    bool reached;  /* the fault happened */
    bool executed; /* the command was executed */
    bool hung;     /* it had to be killed */
    bool left;     /* something outlived the engine */
};

struct trace_run {
    char *const *argv;
    const char *begin; /* the engine's calls count once it has opened this file */
    int out;           /* its standard output */
    int err;           /* and standard error */
};

/*
 * Run and wait for everything. `log`, unless NULL, gets every call; `fault`, unless NULL, happens.
 * Returns 0, or -errno when this system does not let us trace.
 */
int trace_run(const struct trace_run *run, struct trace_log *log, const struct trace_fault *fault,
              struct trace_end *ret);

void trace_log_clear(struct trace_log *log);
