/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the subjects of the benchmark share. Each is one file: it measures, keeps what it found, and
 * prints that as text and as JSON. Anything that goes wrong ends the program with a message: half a
 * measurement is none.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <hutch.h>

struct bench {
    size_t iterations;
    const char *hutch;    /* the command */
    char root[PATH_MAX];  /* a directory that is removed in the end */
    char empty[PATH_MAX]; /* one in it, without anything */
};

struct subject {
    const char *name;
    void (*measure)(const struct bench *bench);
    void (*print_text)(void);
    void (*print_goals)(void); /* may be NULL */
    void (*print_json)(void);  /* members of an object: "key": value, ... */
};

extern const struct subject subject_spawn;
extern const struct subject subject_engine;
extern const struct subject subject_relay;
extern const struct subject subject_warm;
extern const struct subject subject_trips;
extern const struct subject subject_many;
extern const struct subject subject_files;

/* Ends the program in an orderly way: what atexit() has been told is done. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);
/* Ends it when somebody wants it to end. For loops that take long. */
void check_stop(void);

/* ---- Files ---- */

/* Make a directory `name` in `parent`; `path` of PATH_MAX bytes gets its path. */
void make_dir(char *path, const char *parent, const char *name);

/* ---- Processes ---- */

/* Start argv in `cwd`; what is -1 becomes /dev/null, but standard error stays what it is. */
pid_t start(const char *const *argv, const char *cwd, int in, int out, int error);
void finish(pid_t pid, const char *name);
void make_pipe(int fds[2]);
/* From start to end, with both of its outputs captured; it must succeed. */
void run_captured(const char *const *argv, const char *cwd);

/* ---- Sandboxes ---- */

/* The default policy with another workspace, as the flag --workspace takes it. */
struct hutch_policy *make_policy(const char *workspace);
/* Open one; there is one at a time. It is closed in the end, also by die(). */
struct hutch_sandbox *open_sandbox(const char *workspace);
void close_sandbox(void);
/* Run a command in it that must succeed. */
void exec_in(struct hutch_sandbox *sandbox, const char *const *argv);

/* ---- hutch rpc ---- */

/* Start a server and open a sandbox in it; there is one at a time. It is ended in the end, also by die(). */
void rpc_open(const struct bench *bench, const char *workspace);
void rpc_close(void);
/* A request about that sandbox, with parameters as json_pack() takes them. Free it with free(). */
char *rpc_line(const char *method, const char *format, ...);
/* Send it, and wait for an answer that has `wanted` in it. */
void rpc_call(const char *line, const char *wanted);

/* ---- Numbers ---- */

double now_us(void);
/* Room for `count` numbers. */
double *make_numbers(size_t count);
/* Sorts `values`. */
double percentile(double *values, size_t n, unsigned percent);
/* Put `order` into another order, the same ones in every run of the benchmark. */
void shuffle(int *order, int count, unsigned *state);
/* Cases that take turns, each time in another order; the first is what the others are compared with. */
struct turn {
    const char *name;
    const char *key; /* in JSON */
    double p50;      /* out: us */
    double p90;      /* out */
};
typedef void turn_fn(const struct bench *bench, int which);
void take_turns(const struct bench *bench, struct turn *turns, int count, turn_fn *run);
void print_turns(const char *title, const struct turn *turns, int count, size_t rounds);
void print_turns_json(const char *title, const struct turn *turns, int count);

void print_goal(const char *what, double value, const char *relation, double goal);
