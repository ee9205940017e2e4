/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Languages in a sandbox that lasts, written against hutch.h alone: whatever is looked at is looked at
 * through the calls about files, and whatever is run is run as a command inside. So nothing that a
 * workspace holds (a link, a FIFO, a program of a well-known name) can do more here than it can there.
 *
 * Programs are looked for in the PATH that the policy gave, never in the workspace's own directories:
 * what makes an environment must not come from it.
 */
#pragma once

#include <hutch.h>

#include "base/arena.h"

/* A command that ends with NULL, for as long as the block around it. */
#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

enum language {
    LANGUAGE_PYTHON = 1 << 0,
    LANGUAGE_NODE = 1 << 1,
};

/* Where one call works. Strings of it, and all that is built for the call, live until place_end(). */
struct place {
    struct hutch_sandbox *sandbox;
    const char *workspace; /* inside */
    const char *path;      /* PATH, as the policy has it */
    struct arena arena;
};

/* Where the events of a run go: NULL and NULL for the sandbox's own. */
struct place_events {
    hutch_event_fn *fn;
    void *arg;
};

/* Begin a call. place_end() is needed whatever it returns. */
int place_begin(struct place *place, struct hutch_sandbox *sandbox, struct hutch_error *err);
void place_end(struct place *place);
#define place_auto __attribute__((cleanup(place_end)))

/*
 * What `path` is, in *ret when it is not NULL; with `follow`, what it leads to. Returns 1, or 0 when there
 * is nothing.
 */
int place_stat(struct place *place, const char *path, bool follow, enum hutch_file_type *ret,
               struct hutch_error *err);

/* Whether `path` leads to a file that somebody may execute: 1, 0, or an error. */
int place_is_program(struct place *place, const char *path, struct hutch_error *err);

/* The program `name` of PATH; one with a slash stands for itself. *ret is NULL when there is none. */
int place_find(struct place *place, const char *name, const char **ret, struct hutch_error *err);

/*
 * The same for the first of `names` (which ends with NULL) that there is. When there is none, an error
 * that says so and what would help.
 */
int place_need(struct place *place, const char *const *names, const char **ret,
               struct hutch_error *err);

/* The variables of some languages (a set of enum language), then `more`, which may be NULL. */
const char *const *place_env(struct place *place, unsigned languages, const char *const *more);

/* Lists that end with NULL, one after the other. NULL stands for an empty one. */
const char *const *place_concat(struct place *place, const char *const *first,
                                const char *const *second);

/* The last component of a path. */
const char *place_basename(const char *path);

/*
 * Start `argv` with `options` and those variables. `code`, when it is not NULL, is its standard input.
 * `argv` need not live longer than the call.
 */
int place_start(struct place *place, const char *const *argv, unsigned languages,
                const struct hutch_code_options *options, const char *code, size_t len,
                const struct place_events *events, struct hutch_run **ret, struct hutch_error *err);

/* Run a started command to its end. Takes the run. */
int place_finish(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err);

/* The result of one call of hutch.h, as one allocation. */
int place_give(const struct hutch_language *language, struct hutch_language **ret,
               struct hutch_error *err);

/* ---- What python.c and node.c have for code.c and tests.c ---- */

#define PYTHON_VENV ".venv"
#define NODE_PROJECT "package.json"

/* Whether the workspace has an environment that works: 1, or 0. One that is no directory is an error. */
int python_is_ready(struct place *place, struct hutch_error *err);

/* The interpreter that code is run with: the workspace's own, else the sandbox's. */
int python_program(struct place *place, const char **ret, struct hutch_error *err);
int node_program(struct place *place, const char **ret, struct hutch_error *err);
