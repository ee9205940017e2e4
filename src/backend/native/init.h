/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Init: PID 1 of a sandbox. Trusted code in an untrusted place.
 *
 * From clone to exit it uses only sys/ calls and memory that was there before: another thread of the
 * engine may have held any lock when it was cloned. So no malloc, no stdio.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/native/proto.h"
#include "plan/plan.h"
#include "sys/standing.h"

struct init_args {
    const struct plan *plan;
    int *trees;          /* per plan mount: the detached id-mapped tree, or -1 */
    int sock;            /* init's end */
    int engine_pidfd;    /* readable when the engine has ended */
    uint64_t started_ns; /* when the engine called clone */
    pid_t *
        spare; /* of a sandbox that lasts: shared with the engine, which must tell it from commands */
};

_Noreturn void init_main(const struct init_args *args);

/* files.c: build the plan's file system below a new root. On failure *ret_index is the mount. */
struct init_files {
    dev_t memory;       /* the file system of all that is the sandbox's own */
    int memory_fd;      /* its root */
    int root;           /* what the caller enters; -1: it is in place already */
    bool needs_remount; /* the kernel lacks mount_setattr: call init_files_remount() after */
};
int init_files_build(const struct plan *plan, int *trees, struct init_files *ret,
                     uint32_t *ret_index);

/* remount.c: give every mount its flags by the old call. After the new root was entered. */
int init_files_remount(const struct plan *plan);

/* The flags that the mounts of one step of the plan have. */
unsigned init_mount_flags(const struct plan_mount *mount);

/* landlock.c: the ruleset every command puts on. On failure *ret_index is the mount. */
int init_landlock_build(const struct plan *plan, uint32_t *ret_index);

/*
 * limits.c: lower one limit of this process, or all that each command has; and whether a process (0: this one),
 * which came from init as *init was then, has exactly those, and is scheduled as init was.
 */
int init_limit_set(int what, uint64_t value);
int init_limits_set(const struct plan *plan);
bool init_limits_hold(const struct plan *plan, const struct sys_standing *init, pid_t pid);

/* spawn.c: start a command. */
struct init_spawn {
    const struct plan *plan;
    uint32_t umask;
    const char *cwd;
    char **argv; /* with one free slot before argv[0], for scripts */
    char **envp;
    int stdio[3];
    int terminal; /* slave, or -1 */
    int landlock; /* ruleset, or -1 */
    const int *joins;
    size_t join_count;
    void *stack;
    size_t stack_size;
    int listener; /* out: of the command's filter, init's to serve */
    void (*meanwhile)(
        void *arg); /* called every now and then while a command takes long to start */
    void *arg;
    int error;                 /* out: errno of the step that failed, 0 when it was executed */
    enum proto_exec_step step; /* out */

    /* Of a spare: a child that has put everything on and waits for its command. */
    const struct sys_standing *init; /* as it was when the spare was made; not of the first */
    bool waits;                      /* it has come that far */
    bool checked; /* since the last command ended nobody who did so has changed it */
    bool first;  /* it is there from the beginning, and makes the network if there is one to make */
    int table;   /* with that one: a lock on the descriptors, which init puts into their places */
    int placed;  /* for that one: they are there, and will stay */
    int made;    /* by that one: the network is there, or will not be */
    int network; /* out: its namespace, or why there is none; under `table` */
    uint32_t number; /* comes through `go` when the rest of this is filled in */
    int go[2];       /* pipe */
    pid_t tid;       /* 0 when it has left our memory */
    bool executing;  /* it has come as far as exec */
};

/*
 * Have a child do beforehand what takes long and is the same for every command. It runs beside us; *spawn
 * must stay. Returns its pid or -errno. It then becomes a command by init_spawn_spare(), once the rest of
 * *spawn is filled in; returns false when it was killed before, and sets `error` and `step` when it fails.
 */
int init_spawn_prepare(struct init_spawn *spawn);
bool init_spawn_spare(struct init_spawn *spawn, pid_t pid);
