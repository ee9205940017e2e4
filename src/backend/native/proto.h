/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine and init say to each other, one message a packet, over one seqpacket socket.
 *
 *   engine                                  init
 *     MAPPED      ids are mapped ─────────►   (waits for it before it makes files)
 *     EXEC        run this, with its stdio ►
 *                                         ◄─ READY        set up; how long each step took
 *                                         ◄─ FAILED       not set up: step, index, errno
 *                                         ◄─ STARTED      executed; master of its terminal
 *                                         ◄─ EXEC_FAILED  could not be executed: errno
 *                                         ◄─ VIOLATION    something was refused
 *     SIGNAL      to a run or to all ─────►
 *                                         ◄─ EXITED       status and usage
 *
 * EXEC may be sent before READY has come, so that a one-shot run waits for nothing; when it is there
 * by the time init is ready, its answer says so too and READY is not sent. The end of the socket is
 * an order too: init ends when the engine's end is gone, and with it everything else.
 */
#pragma once

#include <stdint.h>
#include <sys/resource.h>

enum proto_type {
    PROTO_MAPPED = 1,
    PROTO_EXEC,
    PROTO_SIGNAL,
    PROTO_READY,
    PROTO_FAILED,
    PROTO_STARTED,
    PROTO_EXEC_FAILED,
    PROTO_EXITED,
    PROTO_VIOLATION,
};

/* The steps of set-up, in order; `setup_ms` of a result has their names (describe.c). */
enum proto_step {
    STEP_CLONE,
    STEP_PROCESS,
    STEP_IDS,
    STEP_PRIVILEGES,
    STEP_MOUNTS,
    STEP_ENTER,
    STEP_LANDLOCK,
    STEP_DESCRIPTORS,
    STEP_FILTER,
    STEP_NETWORK, /* made beside the others; what is left of it then */
    STEP_COUNT,
};

/* Where starting a command failed; EXEC_FAILED says which. */
enum proto_exec_step {
    EXEC_STEP_REQUEST, /* the message itself */
    EXEC_STEP_ROOM,    /* init serves as many as it can: running (EBUSY), or left behind (EMFILE) */
    EXEC_STEP_TERMINAL,
    EXEC_STEP_FORK,
    EXEC_STEP_LIMITS,
    EXEC_STEP_CWD,
    EXEC_STEP_LOCKS, /* Landlock and filters */
    EXEC_STEP_EXEC,
    EXEC_STEP_COUNT,
};

enum proto_violation_kind {
    VIOLATION_SYSCALL, /* `nr` was refused */
    VIOLATION_SOCKET,  /* a connection to `text` was refused */
    VIOLATION_PROTECT, /* `text` was created although protected, and removed again */
};

/* One thing that was refused. */
struct proto_violation {
    uint32_t kind;
    uint32_t pid; /* inside */
    int32_t nr;
    uint64_t args[3];
    char command[16];
    char text[112];
};

/* engine → init. EXEC is followed by its strings, unless they come in a memfd. */
#define PROTO_JOINS_MAX 4

struct proto_request {
    uint32_t type;
    uint32_t run;
    int32_t signal;    /* SIGNAL */
    uint32_t scope;    /* SIGNAL: enum sandbox_scope */
    uint32_t last;     /* EXEC: init ends with this command */
    uint32_t tty;      /* EXEC: on a terminal; else three descriptors come along */
    uint16_t rows;     /* EXEC */
    uint16_t cols;     /* EXEC */
    uint32_t argc;     /* EXEC: the strings are cwd, argc arguments, envc variables, each with */
    uint32_t envc;     /*       its NUL */
    uint64_t text_len; /* EXEC: bytes of them */
    uint32_t in_memfd; /* EXEC: they are in one more descriptor, after stdio */
    uint32_t joins;    /* EXEC: so many more, of groups that the command joins before it starts */
};

/* init → engine. */
struct proto_answer {
    uint32_t type;
    uint32_t run;
    uint32_t step;                /* FAILED: enum proto_step; EXEC_FAILED: enum proto_exec_step */
    uint32_t index;               /* FAILED at STEP_MOUNTS: which of plan->mounts */
    int32_t error;                /* FAILED, EXEC_FAILED: errno */
    int32_t pid;                  /* STARTED: the command's, inside */
    int32_t code;                 /* EXITED: as in struct sys_exit */
    int32_t signal;               /* EXITED */
    uint32_t unreported;          /* EXITED: violations that were only counted */
    uint32_t left;                /* EXITED, the last: processes that had to be ended */
    uint64_t at_ns;               /* STARTED, EXITED: CLOCK_MONOTONIC, as init saw it happen */
    struct rusage usage;          /* EXITED */
    uint64_t step_ns[STEP_COUNT]; /* READY, STARTED, EXEC_FAILED: how long set-up took */
    struct proto_violation violation; /* VIOLATION */
};

/*
 * What comes with READY, or with STARTED when that is the first answer, before a terminal: descriptors
 * by which the engine measures.
 */
enum proto_fd {
    PROTO_FD_PROC,   /* the sandbox's /proc */
    PROTO_FD_MEMORY, /* the file system of all that is its own */
    PROTO_FD_ROOT,   /* what is "/" inside */
    /*
     * Its mount namespace. Without a process and without this it would go, and mounts come apart: whoever
     * still has its root would see what lies below what hides and protects.
     */
    PROTO_FD_MOUNTS,
    PROTO_FD_COUNT,
};

/* Commands that one sandbox can have at a time. */
#define PROTO_RUNS_MAX 64

/* Commands that it can have with processes: running ones, and those that left some behind. */
#define PROTO_LISTENERS_MAX 256

/* Strings longer than this travel in a memfd; the socket's buffer would not take them. */
#define PROTO_TEXT_INLINE 32768
