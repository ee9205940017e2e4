/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract between a plan and whoever enforces it.
 *
 * check() answers whether this backend on this host enforces all of the plan; after a yes, start()
 * can only fail at run time. No backend ever weakens a plan.
 *
 * A sandbox is then driven by descriptors: when `events_fd` is readable, call next(); when `exit_fd`
 * is, everything of it is gone and wait() gives what it used.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <hutch.h>

#include "plan/plan.h"
#include "sys/process.h"

struct sandbox;

/* A command to start, with the ends of its standard streams. */
struct sandbox_exec {
    uint32_t run;
    const struct plan_command *command;
    bool last;    /* the sandbox ends with this command */
    int stdio[3]; /* given away: closed by exec() in every case; -1 all three with a terminal */
};

/* Whom a signal is for. */
enum sandbox_scope {
    SCOPE_GROUP, /* the process group of a run */
    SCOPE_TREE,  /* its session, and whatever descends from its command */
    SCOPE_ALL,   /* every process of the sandbox */
};

enum sandbox_event_type {
    SANDBOX_READY,       /* set up; not sent when a command was already waiting to be started */
    SANDBOX_FAILED,      /* could not be set up: `error`; nothing has run */
    SANDBOX_STARTED,     /* the command has been executed; `terminal` when it has one */
    SANDBOX_EXEC_FAILED, /* the command could not be executed: `error`, `exec_errno` */
    SANDBOX_EXITED,      /* the command ended: `exit` */
    SANDBOX_VIOLATION,   /* something was refused: `violation` */
};

/* Something that a command tried and that was refused. */
struct sandbox_violation {
    const char *kind; /* "syscall", "socket", "protect" */
    const char *name; /* static: of the call */
    char detail[160]; /* its decisive arguments, or a path; printable */
    int pid;          /* inside */
    char command[16]; /* printable */
    const char *hint; /* static: what the policy would need to say */
};

#define SANDBOX_STEPS_MAX 12

struct sandbox_event {
    enum sandbox_event_type type;
    uint32_t run;
    uint64_t at_ns; /* STARTED, EXITED: when it happened (CLOCK_MONOTONIC) */
    int terminal;   /* master end, the receiver's; -1 when none */
    pid_t pid;      /* STARTED: the command's, inside */
    int exec_errno;
    struct sys_exit exit;
    uint32_t unreported; /* EXITED: violations that were only counted */
    uint32_t left;       /* EXITED, the last: processes that lived on, and were ended */
    struct hutch_error error;
    struct sandbox_violation violation;
    struct hutch_step setup[SANDBOX_STEPS_MAX]; /* of the sandbox, ends with a NULL name */
};

#define SANDBOX_UNKNOWN UINT64_MAX

/* What everything in a sandbox uses, with all that has ended already. SANDBOX_UNKNOWN: not measured. */
struct sandbox_usage {
    uint64_t user_us;
    uint64_t system_us;
    uint64_t memory_bytes; /* now, tmpfs included */
    uint64_t peak_memory_bytes;
    uint64_t processes; /* now, threads too, without init */
    uint64_t peak_processes;
    uint64_t disk_bytes; /* added to the disk and to tmpfs, now */
    uint64_t read_bytes; /* from and to devices */
    uint64_t written_bytes;
    uint64_t memory_kills;     /* so often the kernel has killed because of the memory limit */
    uint64_t process_refusals; /* so often it has refused a process because of the limit on them */
    bool disk_full;            /* nothing more fits into its tmpfs */
};

struct sandbox_ops {
    int (*exec)(struct sandbox *sandbox, struct sandbox_exec *exec, struct hutch_error *err);
    /* Returns 1 with an event, 0 when there is none, negative when the sandbox broke its word. */
    int (*next)(struct sandbox *sandbox, struct sandbox_event *ret, struct hutch_error *err);
    int (*signal)(struct sandbox *sandbox, uint32_t run, int signal, enum sandbox_scope scope,
                  struct hutch_error *err);
    /* Nobody is interested in this run any more, whose command may be gone. */
    void (*forget)(struct sandbox *sandbox, uint32_t run);
    /*
     * What it uses now, as often as its cost allows; or, `last`, what it has used when no process of
     * it is left.
     */
    int (*measure)(struct sandbox *sandbox, bool last, struct sandbox_usage *ret);
    /*
     * CPU time of the processes of one run now: the session of its command, which has the pid `leader`
     * inside, what descends from that, and what those waited for.
     */
    int (*measure_run)(struct sandbox *sandbox, pid_t leader, uint64_t *ret_us);
    /*
     * Everything dies; exit_fd tells when it has. The sandbox may put things right before, also when it is
     * asked again; with `now` it may not. Does not block.
     */
    void (*kill)(struct sandbox *sandbox, bool now);
    /* Reap; -EAGAIN before exit_fd is readable. */
    int (*wait)(struct sandbox *sandbox, struct sys_exit *ret);
    /*
     * After the last command: undo what this process may not leave behind when it exits now. False
     * when only free() can do that.
     */
    bool (*leave)(struct sandbox *sandbox);
    /* Kill what lives, wait for it, free. */
    void (*free)(struct sandbox *sandbox);
};

struct sandbox {
    const struct sandbox_ops *ops;
    int events_fd;
    int exit_fd;
    int proc_fd; /* its own /proc, which lists its processes and no others; -1 before READY or STARTED */
    int root_fd; /* what is "/" inside; as proc_fd */
    const pid_t *
        spare; /* inside: a process of ours that waits for the next command; NULL: there never is one */
};

struct backend {
    const char *name;
    enum policy_level level;
    int (*check)(const struct plan *plan, struct hutch_error *err);
    /* The plan, and what is put into `arena`, must outlive the sandbox. On success the caller owns *ret (ops->free). */
    int (*start)(const struct plan *plan, struct arena *arena, struct sandbox **ret,
                 struct hutch_error *err);
    /* What it enforces of this plan; ends with a NULL name. NULL when out of memory. */
    const struct hutch_fact *(*enforced)(const struct plan *plan, struct arena *arena);
    /* The fact of these that a failure of its own shows to be missing; NULL: none, or not its own. */
    const char *(*blamed_fact)(const struct hutch_error *error);
};

extern const struct backend backend_native;

/* The strongest backend that enforces all of `plan`. */
int backend_choose(const struct plan *plan, const struct backend **ret, struct hutch_error *err);

/* The fact of `enforced` that this host does not give, as a set-up that failed shows; NULL: not one of them. */
const char *backend_blamed_fact(const struct hutch_error *error);
