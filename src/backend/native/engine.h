/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine knows of a sandbox of the native backend. For its files on the engine's side: native.c
 * (life), idmap.c and clone.c (start), talk.c (requests and answers), measure.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hutch.h>

#include "backend/backend.h"
#include "backend/native/cgroup.h"
#include "backend/native/janitor.h"
#include "backend/native/proto.h"
#include "sys/ids.h"

struct account;

struct native {
    struct sandbox base; /* events_fd: the socket; exit_fd: init's pidfd */
    const struct plan *plan;
    struct {
        uint32_t run; /* 0: free */
        const struct plan_command *command;
    } starting[PROTO_RUNS_MAX]; /* for messages, until they have been started */
    uint32_t last_run;
    bool reaped;
    bool swept;
    struct sys_ids_holder holder; /* released when there is time: on the first answer */
    struct sys_exit exit;         /* when `reaped` */
    struct native_cgroup cgroup;
    struct janitor janitor;
    int joins[CONTROLLER_COUNT]; /* for each command, to be in the groups of v1 */
    size_t join_count;
    pid_t *spare;               /* shared with init; NULL when it has none */
    int memory;                 /* the sandbox's tmpfs; -1 before init has sent it */
    int mounts;                 /* held, never used: see proto.h */
    struct account *account;    /* of what no group counts; NULL: nothing, or not yet */
    uint64_t account_next_ns;   /* not before, or it would cost too much */
    struct sandbox_usage usage; /* as measured last */
};

/*
 * idmap.c: make the tree of each mount that needs one; `trees` has an entry for every mount of the plan,
 * and those are the caller's also on failure. *holder is for sys_ids_release(), when there is time.
 */
int native_make_trees(const struct plan *plan, struct sys_ids_holder *holder, int *trees,
                      struct hutch_error *err);

/* clone.c: start init, which sets itself up while the caller does other things. */
int native_clone_init(struct native *native, int *trees, struct hutch_error *err);

/* talk.c: whether there is a command that was sent and has not been started yet. */
bool native_is_starting(const struct native *native);

/* talk.c, measure.c: of struct sandbox_ops. */
int native_exec(struct sandbox *sandbox, struct sandbox_exec *exec, struct hutch_error *err);
int native_signal(struct sandbox *sandbox, uint32_t run, int signal, enum sandbox_scope scope,
                  struct hutch_error *err);
void native_forget(struct sandbox *sandbox, uint32_t run);
int native_next(struct sandbox *sandbox, struct sandbox_event *ret, struct hutch_error *err);
int native_measure(struct sandbox *sandbox, bool last, struct sandbox_usage *ret);
int native_measure_run(struct sandbox *sandbox, pid_t leader, uint64_t *ret_us);
