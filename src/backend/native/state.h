/* SPDX-License-Identifier: Apache-2.0 */
/* What init knows, from clone to exit. On its stack: there is no other memory it may use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/native/cover.h"
#include "backend/native/init.h"
#include "backend/native/notify.h"
#include "backend/native/proto.h"
#include "backend/native/tree.h"
#include "backend/native/watch.h"

/* The descriptors that are open while init serves. */
enum init_fd {
    FD_SOCKET,
    FD_SIGNALS,  /* signalfd for SIGCHLD and WATCH_SIGNAL */
    FD_ENGINE,   /* pidfd, readable when the engine has ended */
    FD_LANDLOCK, /* ruleset of every command; may be missing */
    FD_GO_READ,  /* pipe: what a spare waits for */
    FD_GO_WRITE,
    FD_PROC,    /* given to the engine with the first answer, and closed */
    FD_MEMORY,  /* the same */
    FD_ROOT,    /* the same, in a sandbox that lasts */
    FD_MOUNTS,  /* the same */
    FD_NETWORK, /* until it is entered, when it was made early */
    FD_COUNT,
};

#define STACK_BYTES (128 * 1024)

/* A copy of the caller's memory of this size is less than programs are measured by, or worth letting go of. */
#define COPY_SMALL_KIB 8192
#define SLOTS_INLINE 1024

/* Violations that were told, and those that were only counted. */
struct init_reports {
    uint32_t told;
    uint32_t untold;
};

/* A command that runs. */
struct init_run {
    uint32_t run;
    pid_t pid; /* 0: free */
    bool last;
    int held[2]; /* its output streams, -1: none */
    struct init_reports reports;
};

struct init {
    const struct init_args *args;
    const struct plan *plan;
    int sock;
    int landlock; /* before it gets its place among enum init_fd */
    mode_t umask;
    struct init_files files;
    uint32_t index;              /* which mount a failed step was about */
    bool ready;                  /* the last step of the set-up is done */
    bool introduced;             /* the engine has had the first answer */
    bool quiet;                  /* no reports any more */
    struct init_reports nobodys; /* of no run that is there, since the last command began */
    struct notify notify;
    struct watch watch;
    struct cover cover;
    struct rusage before; /* what our own children had used before the first command */
    uint64_t step_ns[STEP_COUNT];
    uint64_t last_ns;
    struct init_run runs[PROTO_RUNS_MAX];
    char *stack;                  /* of the child that shares our memory until it is a command */
    struct init_spawn spare;      /* the first command, and in a sandbox that lasts the next */
    pid_t spare_pid;              /* 0: there is none */
    uint32_t spares;              /* that there have been */
    struct sys_standing standing; /* ours */
    bool standing_known;
    bool shed; /* the caller's memory is not here any more */

    /* Last, and never cleared: every page of it that is touched costs a fault. */
    union {
        struct proto_request request;
        char bytes[sizeof(struct proto_request) + PROTO_TEXT_INLINE];
    } in;
    char *slots[SLOTS_INLINE]; /* of arguments and variables, when there are no more */
    struct tree_seen seen;     /* but for its count */
};

/* setup.c: stages 1 to 4 but for the last step. On failure *ret_step and *ret_index say where. */
int init_set_up(struct init *init, enum proto_step *ret_step, uint32_t *ret_index);

/*
 * The last step, STEP_NETWORK, before the first command. The network takes longest: all that can be done
 * comes before the wait for it, also to read what the command is. Does nothing when it is done.
 */
int init_finish_set_up(struct init *init);

/* One step of the set-up is done; how long it took. */
void init_step_done(struct init *init, enum proto_step step);

/* init.c: tell the engine, which is the end when it is gone. */
void init_answer(struct init *init, struct proto_answer message, const int *fds, size_t fd_count);

/* READY or STARTED. The first of them brings the engine what it measures by. */
void init_answer_well(struct init *init, struct proto_answer message, int terminal);

/* The last step of the set-up is done, or nothing will ever run. */
void init_must_be_ready(struct init *init);

/* shed.c: let go of what the caller has in memory, once. */
void init_shed(struct init *init);

/* See to what is hidden, protected or must not come to be. */
void init_look(struct init *init);

/* Whether the engine is gone, or has closed the sandbox. */
bool init_is_over(void);

/* start.c: what all commands have in common. */
struct init_spawn init_new_spawn(struct init *init);

/*
 * The next command's process, unless there is one or this is the only command; that it has ended; and which it is,
 * for the engine too (0: there is none).
 */
int init_make_spare(struct init *init);
void init_drop_spare(struct init *init);
void init_set_spare(struct init *init, pid_t pid);

/* A command has ended: see whether the spare is as it was made. Now, while nobody waits for it. */
void init_check_spare(struct init *init);

/* Start the command of a request, and answer it. */
void init_start(struct init *init, const struct proto_request *request, size_t len, int *fds,
                size_t fd_count);
