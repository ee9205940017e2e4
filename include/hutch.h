/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hutch: run code you do not trust, on your own machine.
 *
 * This header is the whole API, in order of use:
 *
 *     struct hutch_policy *policy;
 *     struct hutch_result *result;
 *     struct hutch_command command = HUTCH_COMMAND_INIT;
 *
 *     command.argv = (const char *const[]){"python3", "task.py", NULL};
 *     hutch_policy_new("default", &policy, &err);
 *     hutch_run(policy, &command, &result, &err);
 *     printf("%d\n%s", result->exit_code, result->stdout_data);
 *
 * Rules that hold for every function:
 *  - It returns 0 (or what it says), or a negative code from enum hutch_code; then *err, unless err
 *    is NULL, says why, and out-parameters are untouched.
 *  - Arguments are borrowed for the call and copied when kept.
 *  - A handle belongs to one thread at a time; different handles may be used at the same time. Calls about
 *    the files of a sandbox are free of that: see there.
 *  - A thread that calls it needs 128 KiB of stack.
 *  - The library never prints, exits, installs signal handlers, reaps children it did not start, or
 *    changes the working directory, umask or environment of its process.
 *
 * Stability: everything here may still change before 1.0; structs grow at their end only.
 */
#ifndef HUTCH_H
#define HUTCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HUTCH_VERSION_MAJOR 0
#define HUTCH_VERSION_MINOR 1
#define HUTCH_VERSION_PATCH 0
#define HUTCH_VERSION "0.1.0"

#define HUTCH_API __attribute__((visibility("default")))

/* A number that is not known, or a limit that there is none of. */
#define HUTCH_UNKNOWN UINT64_MAX

/* The version of the library that is running, as "0.1.0". Any thread. */
HUTCH_API const char *hutch_version(void);

/* ---- Errors -------------------------------------------------------------------------------- */

enum hutch_code {
    HUTCH_OK = 0,
    HUTCH_EINVALID = -1,     /* a bad argument of this call */
    HUTCH_EPOLICY = -2,      /* the policy is wrong: unknown key, bad value, bad path */
    HUTCH_EUNSUPPORTED = -3, /* this host or this version cannot enforce what was asked */
    HUTCH_EDENIED = -4,      /* the host refused permission */
    HUTCH_ESYSTEM = -5,      /* a system call failed; see sys_errno */
    HUTCH_ENOMEM = -6,
    HUTCH_EBUSY = -7,
    HUTCH_ENOTFOUND = -8,
    HUTCH_ESTATE = -9,     /* the handle is not in a state that allows this */
    HUTCH_EINTERNAL = -10, /* a bug in hutch */
};

/*
 * Why a call failed. Plain bytes owned by the caller: nothing to free.
 * `msg` is one line without a full stop, and has the reason that the system gave; `where` is a flag, a JSON
 * pointer, a path or a set-up step.
 */
struct hutch_error {
    int code;      /* enum hutch_code */
    int sys_errno; /* 0 when no system call failed */
    char where[120];
    char msg[384];
};

/* The stable lower-case word for a code ("policy", "unsupported", ...). Any thread. */
HUTCH_API const char *hutch_code_name(int code);

/*
 * What kind of failure it is, for callers that branch: "not_found", "denied", "exists", "is_directory" (or
 * a directory that is not empty), "not_directory", "too_large", "state" (busy, gone, out of time),
 * "unsupported", "invalid" (the caller's mistake), or "system". Finer than the code, and fewer words than
 * errno has. NULL when there is no error: `error` is NULL or its code is 0. Any thread.
 */
HUTCH_API const char *hutch_error_word(const struct hutch_error *error);

/* ---- Host: what can be enforced here ------------------------------------------------------- */

enum hutch_host_state {
    HUTCH_HOST_UNKNOWN = 0, /* only a sandbox that runs would show it, and none does */
    HUTCH_HOST_OK = 1,
    HUTCH_HOST_WEAKER = 2, /* by lesser means than on other hosts, or in an old version */
    HUTCH_HOST_MISSING = 3,
};

/* The stable word for a state: "ok", "weaker", "missing", "unknown". Any thread. */
HUTCH_API const char *hutch_host_state_name(enum hutch_host_state state);

/*
 * How this host keeps one thing that a sandbox needs. Names and values are those of `enforced` in a result, but
 * for "workspace": whether the current directory can be one. Texts are one line without a full stop.
 */
struct hutch_host_fact {
    size_t size;
    const char *name;
    const char *value; /* "true", "cgroup", "6"; NULL when it is not known */
    enum hutch_host_state state;
    const char *reason; /* why it is so; NULL: nothing to say */
    const char *help;   /* what would make it better; NULL: nothing known */
};

/* What this host can enforce. Owned by whoever received it; read only. */
struct hutch_host {
    size_t size;
    bool ok;                  /* sandboxes run here, and what the facts say is enforced */
    struct hutch_error error; /* what they fail with when they do not; else code 0 */
    const char *kernel;       /* "6.12.9-amd64" */
    const char *machine;      /* "x86_64" */
    const struct hutch_host_fact *const *facts; /* ends with NULL */
};

/*
 * Find out what this host can enforce for this caller: `true` is run under the profile `default`, with the
 * current directory as its workspace and, where that can be had, half a processor. When that fails it is run in
 * memory, in the layout `minimal`, to tell the host from the directory. Nothing is left behind.
 *
 * That no sandbox can be run is an answer and not an error: `ok` is false, `error` says why, and so does the fact
 * that is to blame, if one is. On success the caller owns *ret; free it with hutch_host_free(). Blocks for as long as
 * one small command takes, or two; for a minute when the user's systemd does not answer. Any thread.
 */
HUTCH_API int hutch_doctor(struct hutch_host **ret, struct hutch_error *err);

/* Free it. NULL is accepted. Any thread. */
HUTCH_API void hutch_host_free(struct hutch_host *host);

/* The same as one JSON object. The caller owns *ret; free it with free(). */
HUTCH_API int hutch_host_to_json(const struct hutch_host *host, char **ret,
                                 struct hutch_error *err);

/* ---- Policy: what is asked ----------------------------------------------------------------- */

struct hutch_policy;

/*
 * Make a policy from the profile called `name` (NULL means "default").
 * On success the caller owns *ret; free it with hutch_policy_free().
 */
HUTCH_API int hutch_policy_new(const char *name, struct hutch_policy **ret,
                               struct hutch_error *err);

/* Free a policy. NULL is accepted. */
HUTCH_API void hutch_policy_free(struct hutch_policy *policy);

/*
 * Merge the JSON document `json` of `len` bytes over the policy: single values replace, lists append.
 * `source` names the document in messages (a file name, "-").
 * On failure the policy must not be used any more except to be freed.
 */
HUTCH_API int hutch_policy_merge(struct hutch_policy *policy, const char *json, size_t len,
                                 const char *source, struct hutch_error *err);

/*
 * Set one option as a flag of the command line does. `flag` is a flag of hutch_options(), with its
 * dashes; `value` is its text, NULL for a flag without one. `origin` names it in messages; NULL
 * means `flag`.
 * On failure the policy must not be used any more except to be freed.
 */
HUTCH_API int hutch_policy_set(struct hutch_policy *policy, const char *flag, const char *value,
                               const char *origin, struct hutch_error *err);

/* One limit as a policy says it: "memory" and "2G". */
struct hutch_suggested_limit {
    const char *name;
    const char *value;
};

/* Limits that fit a command. They go by its name alone: nothing is run or looked at. */
struct hutch_suggestion {
    const char *kind;    /* "compiler", "test runner"; "unknown" */
    const char *reason;  /* one line */
    const char *command; /* what was recognized: "npm install"; NULL when nothing was */
    const struct hutch_suggested_limit *limits; /* ends with a NULL name */
};

/*
 * Suggest limits for the command `argv`, which ends with NULL. Those for a command that is not known are
 * the limits of the profile `default`. On success the caller owns *ret; free it with free().
 */
HUTCH_API int hutch_suggest(const char *const *argv, struct hutch_suggestion **ret,
                            struct hutch_error *err);

/*
 * Give the policy the limits that hutch_suggest() has for `argv`; those it has stay when the command is
 * not known. They replace what was set before: call this right after hutch_policy_new(), and what
 * documents and flags say later wins.
 */
HUTCH_API int hutch_policy_suggest(struct hutch_policy *policy, const char *const *argv,
                                   struct hutch_error *err);

/*
 * The merged policy as a JSON document, every key that has a value.
 * On success the caller owns *ret; free it with free().
 */
HUTCH_API int hutch_policy_to_json(const struct hutch_policy *policy, char **ret,
                                   struct hutch_error *err);

/* One option that sets a policy. Help, man pages and completions are made from these rows. */
struct hutch_option {
    const char *flag;       /* "--timeout" */
    const char *short_flag; /* "-w", or NULL */
    const char *argument;   /* "T", or NULL when it takes none */
    const char *key;        /* "limits.timeout" */
    const char *variable;   /* environment variable with a default: "HUTCH_TIMEOUT", or NULL */
    const char *values;     /* "none|host|allow" when only these are taken, or NULL */
    const char *help;       /* one line */
};

/* All options, in the order help shows them; *count gets their number. Static memory. Any thread. */
HUTCH_API const struct hutch_option *hutch_options(size_t *count);

/* The JSON Schema of a policy document. The caller owns *ret; free it with free(). */
HUTCH_API int hutch_schema(char **ret, struct hutch_error *err);

/* One profile that can be named: shipped with hutch, or installed on this host. */
struct hutch_profile {
    const char *name;
    const char *path;        /* where it was found; NULL for a shipped one */
    const char *description; /* one line, may be empty */
};

/*
 * All profiles by name. On success the caller owns *ret, an array of *count rows in one allocation;
 * free it with free().
 */
HUTCH_API int hutch_profile_list(struct hutch_profile **ret, size_t *count,
                                 struct hutch_error *err);

/* The JSON text of one profile, as written. The caller owns *ret; free it with free(). */
HUTCH_API int hutch_profile_text(const char *name, char **ret, struct hutch_error *err);

/* ---- Command: what is to run --------------------------------------------------------------- */

/* Start from HUTCH_COMMAND_INIT and set what you need. */
struct hutch_command {
    size_t size;             /* set by HUTCH_COMMAND_INIT */
    const char *const *argv; /* ends with NULL; argv[0] is looked up in the sandbox's PATH */
    const char *cwd;         /* inside; NULL: the workspace */
    int stdin_fd;            /* read from and relayed; -1: empty input. Stays the caller's. */
    int stdout_fd;           /* output is relayed to it; -1: captured in the result */
    int stderr_fd;           /* the same for standard error */
    bool tty;                /* give the command a terminal; all output arrives as stdout */
    uint16_t rows;           /* size of that terminal; 0: 24 and 80 */
    uint16_t cols;
    const char *const *env; /* "NAME=value", over the policy's; ends with NULL; NULL: none */
    uint64_t timeout_ms;    /* 0: the policy's; HUTCH_UNKNOWN: none */
    bool stdin_open;        /* input comes by hutch_run_write(); not with stdin_fd */
};

#define HUTCH_COMMAND_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(struct hutch_command), .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1,    \
    }

/* ---- Plan: what would happen --------------------------------------------------------------- */

enum hutch_format {
    HUTCH_TEXT = 0,
    HUTCH_JSON = 1,
};

/*
 * Say what a run of `command` under `policy` would be on this host, and run nothing.
 * The caller owns *ret; free it with free().
 */
HUTCH_API int hutch_explain(const struct hutch_policy *policy, const struct hutch_command *command,
                            enum hutch_format format, char **ret, struct hutch_error *err);

/* ---- Events -------------------------------------------------------------------------------- */

enum hutch_event_type {
    HUTCH_EVENT_SANDBOX_STARTED = 1,
    HUTCH_EVENT_SANDBOX_STOPPED = 2,
    HUTCH_EVENT_RUN_STARTED = 3,
    HUTCH_EVENT_RUN_OUTPUT = 4,
    HUTCH_EVENT_RUN_TIMEOUT = 5,
    HUTCH_EVENT_RUN_EXITED = 6,
    HUTCH_EVENT_VIOLATION = 7,
    /* Once for each limit, at 80 % of it; and at the start where it is more than the host has. */
    HUTCH_EVENT_LIMIT_WARNING = 8,
    HUTCH_EVENT_LIMIT_EXCEEDED = 9, /* the run is ended because of it */
    HUTCH_EVENT_SHELL_STARTED = 10,
    HUTCH_EVENT_SHELL_STOPPED = 11,
    HUTCH_EVENT_FILE_WRITTEN = 12, /* by hutch_file_write(), _edit() or _upload() */
};

struct hutch_result;

/* Something that the command tried and that was refused. Text is printable. */
struct hutch_violation {
    const char *kind;    /* "syscall", "socket", "protect" */
    const char *name;    /* "mount", "connect", "create" */
    const char *detail;  /* its decisive arguments, or a path */
    int pid;             /* inside; 0 when not known */
    const char *command; /* name of the program, may be empty */
    const char *hint;    /* what the policy would need to say */
};

/* Something that happened. Borrowed for the callback. */
struct hutch_event {
    size_t size;
    enum hutch_event_type type;
    uint64_t time_ms; /* since 1970 */
    const char *sandbox;
    uint32_t run;                            /* 0 for events of the sandbox itself */
    const char *const *argv;                 /* run.started */
    int stream;                              /* run.output: 1 or 2 */
    const char *data;                        /* run.output */
    size_t data_len;                         /* run.output */
    const struct hutch_result *result;       /* run.exited */
    const struct hutch_violation *violation; /* violation */
    const char *limit;                       /* limit.*: "memory" */
    uint64_t current;                        /* limit.*: in the unit of struct hutch_limit */
    uint64_t max;
    const char *shell;   /* shell.*, and what is about a run of a shell: its id */
    const char *path;    /* file.written: absolute inside */
    uint64_t file_bytes; /* file.written: the size of the file; "size" in JSON */
};

/*
 * Called from within the call that makes it happen, and on its thread: one that starts or steps a run, opens or
 * closes a sandbox or a shell, or writes a file.
 */
typedef void hutch_event_fn(void *arg, const struct hutch_event *event);

/* The stable word for a type ("run.exited", ...), "unknown" for one that there is not. Any thread. */
HUTCH_API const char *hutch_event_name(enum hutch_event_type type);

/* One event as one line of JSON without the newline. The caller owns *ret; free it with free(). */
HUTCH_API int hutch_event_to_json(const struct hutch_event *event, char **ret,
                                  struct hutch_error *err);

/* ---- Result: what happened ----------------------------------------------------------------- */

enum hutch_reason {
    HUTCH_EXITED = 0,
    HUTCH_SIGNALED = 1,
    HUTCH_TIMEOUT = 2,
    HUTCH_CANCELLED = 3,
    HUTCH_SETUP = 4, /* hutch could not start the command; see `error` */
    HUTCH_CPU_TIME = 5,
    HUTCH_MEMORY = 6,
    HUTCH_PROCESSES = 7, /* it failed after it was refused a process */
    HUTCH_DISK = 8,      /* it wrote more than it may, or failed after its tmpfs was full */
};

/* The stable word for a reason ("exited", "timeout", ...). Any thread. */
HUTCH_API const char *hutch_reason_name(enum hutch_reason reason);

/* One measured step of the set-up. */
struct hutch_step {
    const char *name;
    double ms;
};

/* One fact about what was enforced: "pidns" → "true", "backend" → "native". */
struct hutch_fact {
    const char *name;
    const char *value; /* "true" and "false" stand for themselves in JSON */
};

/* One limit that was in force. */
struct hutch_limit {
    const char *name; /* as in a policy: "memory", "cpu_time" */
    uint64_t max;     /* bytes, milliseconds, a number; thousandths of processors for "cpus" */
    uint64_t host;    /* how much of it the host has; HUTCH_UNKNOWN for most */
};

/* What happened to one command. Owned by whoever received it; read only. */
struct hutch_result {
    size_t size;
    enum hutch_reason reason;
    int exit_code;  /* -1 when a signal ended it or it never ran */
    int signal;     /* 0 when it exited */
    int status;     /* what `hutch run` exits with: 0..255 */
    bool truncated; /* captured output went past its limit */
    double duration_ms;
    double user_ms;
    double system_ms;
    /*
     * Of all processes at once, where it can be measured. HUTCH_UNKNOWN when the command was over before that and
     * has had less than the caller, which it begins as a copy of.
     */
    uint64_t peak_memory_bytes;
    const char *stdout_data; /* captured; NUL-terminated, may contain NULs */
    size_t stdout_len;
    uint64_t stdout_bytes; /* written by the command, kept or not */
    const char *stderr_data;
    size_t stderr_len;
    uint64_t stderr_bytes;
    int output_errno; /* not 0: output could not be written to the descriptor it was relayed to */
    const struct hutch_fact *enforced; /* ends with a NULL name */
    const struct hutch_step *setup;    /* ends with a NULL name */
    double setup_total_ms;
    const char *sandbox;
    uint32_t run;
    const struct hutch_violation *violations; /* the first 100 or so */
    size_t violation_count;                   /* how many of them */
    uint64_t violation_total;                 /* with those that were only counted */
    struct hutch_error
        error;               /* code 0 unless reason is HUTCH_SETUP, or the command's exec failed */
    uint64_t peak_processes; /* with threads; HUTCH_UNKNOWN when not measured, as below */
    uint64_t disk_bytes;     /* added to the disk and held in memory */
    uint64_t read_bytes;     /* from devices */
    uint64_t written_bytes;  /* to devices */
    const struct hutch_limit *limits; /* ends with a NULL name */
};

/* Free a result. NULL is accepted. */
HUTCH_API void hutch_result_free(struct hutch_result *result);

/* The result as one JSON object. The caller owns *ret; free it with free(). */
HUTCH_API int hutch_result_to_json(const struct hutch_result *result, char **ret,
                                   struct hutch_error *err);

/*
 * The result that says hutch itself failed with `error`, so that a program which prints results can
 * print this one too. On success the caller owns *ret; free it with hutch_result_free().
 */
HUTCH_API int hutch_result_from_error(const struct hutch_error *error, struct hutch_result **ret,
                                      struct hutch_error *err);

/* ---- Run ----------------------------------------------------------------------------------- */

/*
 * Run one command in a sandbox of its own and wait for it.
 *
 * The command's own failure (exit 3, a signal, a time-out, not found) is a result, not an error.
 * On success the caller owns *ret; free it with hutch_result_free(). Blocks.
 */
HUTCH_API int hutch_run(const struct hutch_policy *policy, const struct hutch_command *command,
                        struct hutch_result **ret, struct hutch_error *err);

struct hutch_run;

/*
 * The same for programs with their own loop: start the command, then call hutch_run_step() whenever
 * hutch_run_fd() is readable, until it returns 1. Events, unless `on_event` is NULL, go to it.
 * On success the caller owns *ret; free it with hutch_run_free().
 */
HUTCH_API int hutch_run_start(const struct hutch_policy *policy,
                              const struct hutch_command *command, hutch_event_fn *on_event,
                              void *arg, struct hutch_run **ret, struct hutch_error *err);

/* A descriptor that is readable when there is something to do. Owned by the run. */
HUTCH_API int hutch_run_fd(struct hutch_run *run);

/*
 * Do what there is to do, waiting at most `timeout_ms` for it (-1: for ever, 0: not at all).
 * Returns 1 when the run has ended and no process of it is left, 0 before that; hutch_run_free() waits
 * for the rest of its sandbox. A failure to set up the sandbox is a negative return; nothing has run
 * then.
 */
HUTCH_API int hutch_run_step(struct hutch_run *run, int timeout_ms, struct hutch_error *err);

/*
 * Send a signal to the command and its process group; SIGSTOP and SIGCONT, where the sandbox is the run's own, to
 * all of its processes.
 */
HUTCH_API int hutch_run_signal(struct hutch_run *run, int signal, struct hutch_error *err);

/*
 * Give the command input, where `stdin_open` was asked for. Returns how many bytes it took, which may be
 * fewer than `len` and none: it reads slowly, or nothing runs yet. Try again when hutch_run_fd() has
 * become readable. HUTCH_ESTATE when it reads no more.
 */
HUTCH_API int hutch_run_write(struct hutch_run *run, const void *data, size_t len,
                              struct hutch_error *err);

/* No more input: the command sees its end; one with a terminal gets Ctrl-D. */
HUTCH_API int hutch_run_close_stdin(struct hutch_run *run, struct hutch_error *err);

/* The number of a run in its sandbox, as events have it. */
HUTCH_API uint32_t hutch_run_id(const struct hutch_run *run);

/* Change the size of the command's terminal, or that which it will have. Nothing without one. */
HUTCH_API int hutch_run_resize(struct hutch_run *run, uint16_t rows, uint16_t cols,
                               struct hutch_error *err);

/*
 * End the run now, and with it a sandbox of its own; the result's reason is HUTCH_CANCELLED. Keep
 * stepping.
 */
HUTCH_API int hutch_run_cancel(struct hutch_run *run, struct hutch_error *err);

/*
 * Step a run until it has ended, then take its result as hutch_run_result() does; with `ret` NULL that is
 * left to do. Fails as hutch_run_step() does. The run stays the caller's to free either way. Blocks, on
 * the thread that uses the run; input that was asked for by `stdin_open` stays open.
 */
HUTCH_API int hutch_run_finish(struct hutch_run *run, struct hutch_result **ret,
                               struct hutch_error *err);

/* Take the result of a run that has ended. The caller owns *ret; free it with hutch_result_free(). */
HUTCH_API int hutch_run_result(struct hutch_run *run, struct hutch_result **ret,
                               struct hutch_error *err);

/* Free a run. One that has not ended is killed first, its whole tree. NULL is accepted. */
HUTCH_API void hutch_run_free(struct hutch_run *run);

/*
 * The same for a program that is about to exit: where the run has ended, the sandbox's first process is
 * not waited for, which has nothing left to do and takes a moment to do it, nor are its control groups
 * removed before. That may outlive this program by that moment, and is then the system's to reap. Memory is
 * left for the exit to free.
 */
HUTCH_API void hutch_run_leave(struct hutch_run *run);

/* ---- Sandbox: one that lasts --------------------------------------------------------------- */

struct hutch_sandbox;

/*
 * Open a sandbox and wait until it is set up; then run as many commands in it as you like, also at the
 * same time. Files, /tmp and processes that a command leaves behind stay until it is closed. Events of
 * it and its runs, unless `on_event` is NULL, go to that.
 *
 * Limits on memory, processes and disk are the whole sandbox's, those on time and output each run's: the
 * CPU time of a run is that of its session, of what descends from it, and of what those waited for. What is
 * not the kernel's to keep (info's `enforced` says "sampled" or "supervisor") is looked at while a run is
 * stepped; processes that a command left behind are bound by it again when the next one runs. At most 64
 * commands run at a time, and 256 may have left processes behind: HUTCH_EBUSY. The policy is not needed after
 * the call. On success the caller owns *ret; free it with
 * hutch_sandbox_close(). Blocks for about as long as three bare processes take.
 */
HUTCH_API int hutch_sandbox_open(const struct hutch_policy *policy, hutch_event_fn *on_event,
                                 void *arg, struct hutch_sandbox **ret, struct hutch_error *err);

/* What a sandbox is. Start from HUTCH_SANDBOX_INFO_INIT. What it points to lives as long as the sandbox. */
struct hutch_sandbox_info {
    size_t size;                       /* set by HUTCH_SANDBOX_INFO_INIT */
    const char *id;                    /* as in events and results */
    const char *cwd;                   /* where commands start: the workspace, inside */
    const struct hutch_fact *enforced; /* ends with a NULL name */
    const struct hutch_step *setup;    /* ends with a NULL name */
    double setup_total_ms;
    size_t run_count;       /* runs that have been started and not freed */
    bool gone;              /* it has ended by itself: nothing can be run in it any more */
    const char *const *env; /* "NAME=value": what commands get; ends with NULL */
};

#define HUTCH_SANDBOX_INFO_INIT                                                                    \
    {                                                                                              \
        .size = sizeof(struct hutch_sandbox_info),                                                 \
    }

/* Say what a sandbox is, now: fills as much of *ret as its size says. On the thread that uses it. */
HUTCH_API int hutch_sandbox_info(const struct hutch_sandbox *sandbox,
                                 struct hutch_sandbox_info *ret, struct hutch_error *err);

/* Run one command in it and wait for that. As hutch_run(), but that the sandbox stays. */
HUTCH_API int hutch_sandbox_exec(struct hutch_sandbox *sandbox, const struct hutch_command *command,
                                 struct hutch_result **ret, struct hutch_error *err);

/*
 * Start one command in it. Step the run as any other, on the thread that uses the sandbox; a step of one
 * run also takes what there is for others, whose hutch_run_fd() then becomes readable. A run is over when
 * its command has ended and what that had written by then has been read: processes that it left behind
 * live on, but nobody reads their output any more.
 *
 * A time-out, and hutch_run_cancel(), end the command and all of its processes that have not left its
 * session. Events go to `on_event`, or with NULL to the sandbox's. Free the run before the sandbox.
 */
HUTCH_API int hutch_sandbox_start(struct hutch_sandbox *sandbox,
                                  const struct hutch_command *command, hutch_event_fn *on_event,
                                  void *arg, struct hutch_run **ret, struct hutch_error *err);

/*
 * End everything in the sandbox, and wait for that. Runs that have not been freed can only be freed
 * then. NULL is accepted.
 */
HUTCH_API void hutch_sandbox_close(struct hutch_sandbox *sandbox);

/* ---- Files of a sandbox -------------------------------------------------------------------- */

/*
 * Files read and changed from outside, without a command. A path leads where it would lead a command in
 * the sandbox, and what a command may not do there is refused: paths are absolute inside, or relative
 * to where commands start; what the policy hides and protects is hidden and protected. Other than for a
 * command, neither the magic links of /proc are followed nor its files about processes read, and only
 * regular files are opened: nothing waits for a FIFO or wakes a device. Slashes at the end of a path
 * say nothing. Names are bytes, not text.
 *
 * For every function here:
 *  - On success the caller owns *ret; free it with hutch_file_free(). It may outlive the sandbox.
 *  - `options` may be NULL: all as its _INIT has it. Numbers in it bound what one call costs, whatever
 *    lies in the sandbox; 0 is none, not no bound.
 *  - On failure err->where is the path, or the name of the argument to blame; hutch_error_word() tells
 *    what kind of failure it is. HUTCH_ESTATE: the sandbox is gone.
 *  - The sandbox's event callback is told of every file that one has written: file.written. What commands
 *    write is not told, and neither is what is deleted.
 *  - It blocks. Any thread may call it, also several at the same time, and while another one uses the
 *    sandbox: starts and steps runs and shells, but does not close it before the call has returned. What two
 *    calls do to one file comes in any order.
 *  - When root calls, the calling thread has the sandbox's rights for the time of the call, and no others.
 */

/* Free what a function of this section gave. NULL is accepted. Any thread. */
HUTCH_API void hutch_file_free(void *result);

enum hutch_file_type {
    HUTCH_FILE_REGULAR = 0,
    HUTCH_FILE_DIRECTORY = 1,
    HUTCH_FILE_SYMLINK = 2,
    HUTCH_FILE_OTHER = 3,
};

/* The stable word for a type: "file", "directory", "symlink", "other". Any thread. */
HUTCH_API const char *hutch_file_type_name(enum hutch_file_type type);

struct hutch_file_entry {
    const char *name; /* in its directory; of a match: from where the search began */
    const char *path; /* absolute inside, as it was asked for: ".." and links are not resolved */
    enum hutch_file_type type;
    uint64_t size;
    int64_t modified_ns; /* since 1970 */
    uint32_t mode;       /* permissions, 07777 */
};

struct hutch_file_entries {
    const struct hutch_file_entry *items; /* sorted by path, as bytes */
    size_t count;
    bool truncated; /* there is more */
};

struct hutch_file_stat_options {
    size_t size; /* set by HUTCH_FILE_STAT_INIT */
    bool follow; /* say of a link what it leads to, when that is somewhere inside */
};
#define HUTCH_FILE_STAT_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(struct hutch_file_stat_options),                                            \
    }

/* What one path is. */
HUTCH_API int hutch_file_stat(struct hutch_sandbox *sandbox, const char *path,
                              const struct hutch_file_stat_options *options,
                              struct hutch_file_entry **ret, struct hutch_error *err);

struct hutch_file_list_options {
    size_t size;        /* set by HUTCH_FILE_LIST_INIT */
    size_t limit;       /* entries; when there are more, any of them */
    bool follow;        /* as in struct hutch_file_stat_options */
    uint64_t budget_ms; /* time; what it leaves out is `truncated`, not an error */
};
#define HUTCH_FILE_LIST_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(struct hutch_file_list_options), .limit = 10000, .budget_ms = 5000,         \
    }

/* What is in a directory (NULL: where commands start), hidden names too. */
HUTCH_API int hutch_file_list(struct hutch_sandbox *sandbox, const char *path,
                              const struct hutch_file_list_options *options,
                              struct hutch_file_entries **ret, struct hutch_error *err);

struct hutch_file_read_options {
    size_t size;         /* set by HUTCH_FILE_READ_INIT */
    uint64_t offset;     /* the first line wanted, from 0; with `bytes` the first byte */
    uint64_t limit;      /* how many lines; with `bytes` how many bytes */
    size_t max_bytes;    /* most bytes of content */
    uint64_t scan_bytes; /* most bytes that are looked at to find and count lines */
    bool bytes;          /* the file as it is: no lines, nothing detected */
};
#define HUTCH_FILE_READ_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(struct hutch_file_read_options), .limit = 2000,                             \
        .max_bytes = (size_t)500 << 10, .scan_bytes = (uint64_t)256 << 20,                         \
    }

struct hutch_file_content {
    const char *data; /* bytes as in the file, with their line ends; a NUL behind them */
    size_t len;
    uint64_t size;        /* of the file when it was opened */
    int64_t modified_ns;  /* since 1970 */
    bool binary;          /* its start has a NUL or is not UTF-8: `data` is from byte 0, no lines */
    bool utf8;            /* `data` is valid UTF-8 */
    bool truncated;       /* max_bytes left out some of what was asked for */
    uint64_t start_line;  /* from 1; 0 when there is no line in `data` */
    uint64_t end_line;    /* the last one that is whole (a first line that is too long: cut) */
    bool more;            /* next_offset is where to go on */
    uint64_t next_offset; /* in the unit of `offset` */
    bool total_known;     /* total_lines was counted */
    uint64_t total_lines;
};

/*
 * Read a file, or some lines of it. A line ends with "\n"; the last one need not. An offset behind the
 * end is no error: there are no lines then, and total_lines says why. EFBIG ("too_large"): the offset is
 * farther away than scan_bytes.
 */
HUTCH_API int hutch_file_read(struct hutch_sandbox *sandbox, const char *path,
                              const struct hutch_file_read_options *options,
                              struct hutch_file_content **ret, struct hutch_error *err);

struct hutch_file_write_options {
    size_t size;    /* set by HUTCH_FILE_WRITE_INIT */
    uint32_t mode;  /* 0: as the file has it, 0644 for a new one; at most 0777; no umask */
    bool exclusive; /* EEXIST ("exists") when it is there already */
};
#define HUTCH_FILE_WRITE_INIT                                                                      \
    {                                                                                              \
        .size = sizeof(struct hutch_file_write_options),                                           \
    }

struct hutch_file_written {
    const char *path; /* absolute inside */
    uint64_t size;
    bool created;
    bool in_place; /* not atomic: its directory does not allow to put a new file there */
};

/*
 * Write a whole file. Directories on the way are made (0755). The new content appears at once, under a
 * new inode, so that hard links keep the old one. Links at the end are followed. `ret` may be NULL.
 */
HUTCH_API int hutch_file_write(struct hutch_sandbox *sandbox, const char *path, const void *data,
                               size_t len, const struct hutch_file_write_options *options,
                               struct hutch_file_written **ret, struct hutch_error *err);

struct hutch_file_edit_options {
    size_t size;      /* set by HUTCH_FILE_EDIT_INIT */
    bool all;         /* replace every occurrence; otherwise there must be exactly one */
    size_t max_bytes; /* of the file, before and after */
};
#define HUTCH_FILE_EDIT_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(struct hutch_file_edit_options), .max_bytes = (size_t)64 << 20,             \
    }

struct hutch_file_edited {
    const char *path;     /* absolute inside */
    uint64_t occurrences; /* that were replaced */
    uint64_t size;        /* of the file now */
};

/*
 * Replace `old_text` by `new_text`, literally. When `old_text` is not found as it is, once more with
 * "\n" as "\r\n" in both, then the other way round; text that goes into a file whose lines all end in
 * "\r\n" gets such ends too. An empty `old_text` is for an empty file only. Refused with where "old" and
 * sys_errno ENOMSG (not found) or ENOTUNIQ (more than one); EILSEQ: the file is binary.
 * Written as hutch_file_write() does; what others wrote meanwhile is lost. `ret` may be NULL.
 */
HUTCH_API int hutch_file_edit(struct hutch_sandbox *sandbox, const char *path, const char *old_text,
                              const char *new_text, const struct hutch_file_edit_options *options,
                              struct hutch_file_edited **ret, struct hutch_error *err);

struct hutch_file_delete_options {
    size_t size;        /* set by HUTCH_FILE_DELETE_INIT */
    bool recursive;     /* also directories that are not empty */
    uint64_t budget_ms; /* ETIMEDOUT after this long */
};
#define HUTCH_FILE_DELETE_INIT                                                                     \
    {                                                                                              \
        .size = sizeof(struct hutch_file_delete_options), .budget_ms = 30000,                      \
    }

/*
 * Remove a file, a link, or a directory. Links are never followed. Stops at the first thing that cannot
 * be removed: what is gone by then is gone. A path that the policy names is a mount point: EBUSY.
 */
HUTCH_API int hutch_file_delete(struct hutch_sandbox *sandbox, const char *path,
                                const struct hutch_file_delete_options *options,
                                struct hutch_error *err);

struct hutch_file_glob_options {
    size_t size;      /* set by HUTCH_FILE_GLOB_INIT */
    bool directories; /* directories match too, not only files */
    bool hidden;   /* wildcards match a dot at the start of a name, "**" enters such directories */
    bool anchored; /* a pattern without a slash is for `path` itself, not for every directory */
    size_t limit;  /* matches */
    uint64_t budget_ms; /* time; what it or `limit` leaves out is `truncated`, not an error */
};
#define HUTCH_FILE_GLOB_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(struct hutch_file_glob_options), .limit = 10000, .budget_ms = 5000,         \
    }

/*
 * Files below `path` (NULL: where commands start) that match: "*" and "?" within a name, "[a-z]",
 * "[!a]", "[^a]", "[[:alpha:]]", "\" before a character that means itself, "{a,b}", and "**" for any
 * number of directories. A slash at the start anchors like `anchored`; one at the end wants directories.
 * Links count as what they lead to, inside; a search goes through those in the part before the first
 * wildcard only. /proc, /sys and paths too long to open are left out, and from "/" the directories of the
 * host that the layout shows, such as /usr.
 */
HUTCH_API int hutch_file_glob(struct hutch_sandbox *sandbox, const char *path, const char *pattern,
                              const struct hutch_file_glob_options *options,
                              struct hutch_file_entries **ret, struct hutch_error *err);

struct hutch_file_grep_options {
    size_t size;        /* set by HUTCH_FILE_GREP_INIT */
    bool regex;         /* POSIX extended, with \d \s \w \b; otherwise literal */
    bool ignore_case;   /* of a literal: that of ASCII */
    size_t context;     /* lines before and after, at most 100 */
    const char *glob;   /* only these files; without a slash it is for names. NULL: all */
    size_t limit;       /* matches in all */
    size_t line_bytes;  /* longer lines are cut to this in the result */
    size_t file_bytes;  /* only the start of longer files is searched */
    size_t total_bytes; /* text in all */
    uint64_t budget_ms; /* time */
};
#define HUTCH_FILE_GREP_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(struct hutch_file_grep_options), .limit = 1000,                             \
        .line_bytes = (size_t)16 << 10, .file_bytes = (size_t)32 << 20,                            \
        .total_bytes = (size_t)8 << 20, .budget_ms = 10000,                                        \
    }

/* Lines are without their ends. They have no NUL, but need not be UTF-8. */
struct hutch_file_match {
    const char *path; /* absolute inside */
    uint64_t line;    /* from 1 */
    const char *text;
    const char *const *before; /* the oldest first */
    const char *const *after;
    size_t before_count;
    size_t after_count;
};

struct hutch_file_matches {
    const struct hutch_file_match *items; /* by file; a directory's files before those below it */
    size_t count;
    bool truncated; /* something was left out; matches that are exactly `limit` are not */
};

/*
 * Lines that match, in the file or below the directory `path` (NULL: where commands start). Hidden files
 * too; links and other things than files are passed over, and so are binary files, those that may not
 * be read, and what hutch_file_glob() leaves out (unless the search starts there).
 */
HUTCH_API int hutch_file_grep(struct hutch_sandbox *sandbox, const char *path, const char *pattern,
                              const struct hutch_file_grep_options *options,
                              struct hutch_file_matches **ret, struct hutch_error *err);

/* One file to write. */
struct hutch_file_source {
    const char *path;
    const void *data;
    size_t len;
    uint32_t mode; /* as in struct hutch_file_write_options */
};

/* What became of one file of many. */
struct hutch_file_transfer {
    const char *path;         /* as it was given */
    struct hutch_error error; /* code 0: it worked */
    const char *data;         /* of a download that worked; a NUL behind the bytes */
    size_t len;
};

struct hutch_file_transfers {
    const struct hutch_file_transfer *items; /* one for each that was given, in order */
    size_t count;
};

/*
 * Write many files, each as hutch_file_write() does. What happens to one says nothing about the others:
 * the call itself fails only when it could begin with none.
 */
HUTCH_API int hutch_file_upload(struct hutch_sandbox *sandbox,
                                const struct hutch_file_source *files, size_t count,
                                struct hutch_file_transfers **ret, struct hutch_error *err);

struct hutch_file_download_options {
    size_t size;        /* set by HUTCH_FILE_DOWNLOAD_INIT */
    size_t max_bytes;   /* of one file; EFBIG ("too_large") for a larger one */
    size_t total_bytes; /* of all; the same for those that do not fit any more */
};
#define HUTCH_FILE_DOWNLOAD_INIT                                                                   \
    {                                                                                              \
        .size = sizeof(struct hutch_file_download_options), .max_bytes = (size_t)64 << 20,         \
        .total_bytes = (size_t)256 << 20,                                                          \
    }

/* Read many whole files, byte for byte. Fails as hutch_file_upload() does. */
HUTCH_API int hutch_file_download(struct hutch_sandbox *sandbox, const char *const *paths,
                                  size_t count, const struct hutch_file_download_options *options,
                                  struct hutch_file_transfers **ret, struct hutch_error *err);

/* ---- Shells -------------------------------------------------------------------------------- */

/*
 * A shell that lasts, in a sandbox that lasts. There are two kinds.
 *
 * HUTCH_SHELL_EXEC, the default: each command is a process tree of its own and begins with the state that
 * the one before it left: working directory, variables (exported or not), functions, options, umask,
 * aliases. A command has ended when its process has: nothing that it prints, and no process that it
 * leaves behind, can pretend that. Its result is an ordinary one.
 *
 * State is saved when the shell ends in order (also by `exit`, a failed command under `set -e`, a
 * syntax error). A command that keeps its shell from that (`exec`, SIGKILL, `exit` with an EXIT trap of
 * its own, a full disk, more than 8 MiB of state) saves nothing: the next one begins with the last
 * state that was saved, and hutch_shell_state() says so. After a time-out it is the one or the other:
 * that begins with SIGTERM, at which bash saves what it has by then unless it is deaf to it, and other
 * shells do not. A state that a shell cannot take back (variables it needs itself were made read-only)
 * costs the next command, which then ends with status 1 or 2 without having run; that state is dropped.
 * Traps, jobs, limits set by `ulimit` and positional parameters are not carried over; where the shell
 * is not bash, functions neither. The state is kept in the sandbox's own /tmp: code that runs there can
 * change it, as it can change every file there, and it never has a meaning outside.
 *
 * HUTCH_SHELL_PTY: the same on a terminal, for programs that want one. Every command has a new one, as its
 * standard streams and its controlling terminal; its end is that of its process here too. The terminal is
 * hung up then, as when a window is closed: what the command has left in the background without `setsid` or
 * `nohup` gets SIGHUP, and who goes on writing to it an error. What all of them show is one stream, which
 * hutch_shell_read() reads; a command's part of it is also the standard output of its result.
 *
 * An interactive shell is one more such command (hutch_shell_start() without one). It begins in the
 * directory and with the exported variables of the state, and leaves it as it was. When something has ended
 * that was typed at its prompt is not known here: all there is to go by is its output, which can be made to
 * look like anything. Run as a command what you wait for; hutch_shell_wait() waits for silence.
 */
struct hutch_shell;

enum hutch_shell_mode {
    HUTCH_SHELL_EXEC = 0,
    HUTCH_SHELL_PTY = 1,
};

/* Start from HUTCH_SHELL_OPTIONS_INIT and set what you need. */
struct hutch_shell_options {
    size_t size; /* set by HUTCH_SHELL_OPTIONS_INIT */
    enum hutch_shell_mode mode;
    const char *program;    /* looked up in the sandbox's PATH; NULL: bash, else sh */
    const char *cwd;        /* where it starts, inside; NULL: the workspace */
    const char *const *env; /* "NAME=value", over the policy's; ends with NULL; NULL: none */
    uint16_t rows;          /* PTY: size of the terminal; 0: 24 and 80 */
    uint16_t cols;
    size_t buffer_bytes; /* PTY: so much of the last output is kept; 0: 256 KiB */
};

#define HUTCH_SHELL_OPTIONS_INIT                                                                   \
    {                                                                                              \
        .size = sizeof(struct hutch_shell_options),                                                \
    }

/*
 * Open a shell. `options` may be NULL. Events of the shell and its runs go to `on_event`, with the
 * shell's id; that a run has started with the command as it was given (`argv`: the shell, "-c", the
 * command; of an interactive one the shell and "-i"). When `on_event` is NULL, those of the runs of
 * HUTCH_SHELL_EXEC go to the sandbox's, as of any other run, and there are no others.
 *
 * On success the caller owns *ret; close it with hutch_shell_close() before the sandbox is closed.
 * HUTCH_ENOTFOUND when there is no such program or no such directory. Blocks for the time of a small
 * command or two. A shell is used on the thread that uses its sandbox.
 */
HUTCH_API int hutch_shell_open(struct hutch_sandbox *sandbox,
                               const struct hutch_shell_options *options, hutch_event_fn *on_event,
                               void *arg, struct hutch_shell **ret, struct hutch_error *err);

/*
 * Run `command`, a text of the shell's language of at most 1 MiB, and wait for its end. Its input is
 * empty; a terminal's is open, and nobody types while this waits: for a program that asks something use
 * hutch_shell_start(). `timeout_ms` is as in struct hutch_command. That it fails, is killed or makes no
 * sense is a result, not an error. HUTCH_EBUSY while another one runs.
 *
 * On success the caller owns *ret; free it with hutch_result_free(). Blocks. For where the shell is
 * afterwards see hutch_shell_state().
 */
HUTCH_API int hutch_shell_exec(struct hutch_shell *shell, const char *command, uint64_t timeout_ms,
                               struct hutch_result **ret, struct hutch_error *err);

/*
 * The same for programs with their own loop. Step hutch_shell_run() until it has ended, or a step has
 * failed, then call hutch_shell_finish(), before which the shell takes no other command. PTY: `command` NULL
 * is the interactive shell.
 */
HUTCH_API int hutch_shell_start(struct hutch_shell *shell, const char *command, uint64_t timeout_ms,
                                struct hutch_error *err);

/*
 * The run of the command that was started and not finished, or of the interactive shell. NULL when
 * there is none. To step, poll, signal and cancel it; with a PTY also to write to it, which is to type.
 * It stays the shell's: do not free it, and do not take its result.
 */
HUTCH_API struct hutch_run *hutch_shell_run(const struct hutch_shell *shell);

/*
 * Take the result of that run, which must have ended (HUTCH_ESTATE otherwise). The caller owns *ret; free
 * it with hutch_result_free(). A run of which a step has failed has no result: it is freed, the return is
 * negative. The shell takes the next command either way.
 */
HUTCH_API int hutch_shell_finish(struct hutch_shell *shell, struct hutch_result **ret,
                                 struct hutch_error *err);

/*
 * Change the working directory. HUTCH_ENOTFOUND, with the shell's message, when it cannot; where
 * the shell is has not changed then. Blocks for the time of a small command.
 */
HUTCH_API int hutch_shell_cd(struct hutch_shell *shell, const char *dir, struct hutch_error *err);

/*
 * Set a variable and export it; with `value` NULL unset it. HUTCH_EINVALID when `name` is not one,
 * HUTCH_EDENIED when the shell refuses (it is read-only). Blocks for the time of a small command.
 */
HUTCH_API int hutch_shell_setenv(struct hutch_shell *shell, const char *name, const char *value,
                                 struct hutch_error *err);

/*
 * What a shell says about itself. `pid`, `cwd` and `env` come from inside: they are what code in the
 * sandbox wants them to be, of any bytes, good to show and not to decide by.
 */
struct hutch_shell_state {
    size_t size;
    const char *id; /* as in events */
    enum hutch_shell_mode mode;
    bool running; /* a command, or the interactive shell, has not ended or is not finished */
    bool saved;   /* the last command that ended left its state */
    int pid; /* inside, of the last command that did, or of the interactive shell; 0: not known */
    const char *cwd;            /* absolute, inside */
    const char *const *env;     /* "NAME=value"; ends with NULL. Empty before the first command */
    const char *const *history; /* the last commands, at most 1,000 of 1 MiB; ends with NULL */
    uint64_t command_count;     /* all that were started */
};

/*
 * Ask for the state. On success the caller owns *ret; free it with hutch_shell_state_free(). When nothing
 * sensible can be had from inside, `cwd` is where the sandbox starts and `env` empty. HUTCH_ESTATE when
 * the sandbox is gone. Runs nothing: some files are read.
 */
HUTCH_API int hutch_shell_state(struct hutch_shell *shell, struct hutch_shell_state **ret,
                                struct hutch_error *err);

/* Free a state. NULL is accepted. */
HUTCH_API void hutch_shell_state_free(struct hutch_shell_state *state);

/*
 * PTY: change the size of the terminal, now and for all that follows. Does not block.
 */
HUTCH_API int hutch_shell_resize(struct hutch_shell *shell, uint16_t rows, uint16_t cols,
                                 struct hutch_error *err);

/*
 * PTY: copy output from position `cursor` on, counted in bytes since the shell was opened, to `data`.
 * Returns how many bytes that were, 0 when there are no more yet; *next is the cursor to go on with. When
 * it is more than `cursor` and the return together, so much was lost because it was not read in time.
 * HUTCH_EINVALID for a cursor that is ahead. Takes nothing from the terminal: step the run, or wait.
 */
HUTCH_API int hutch_shell_read(struct hutch_shell *shell, uint64_t cursor, void *data, size_t size,
                               uint64_t *next, struct hutch_error *err);

/*
 * PTY: step what runs until it has printed nothing for `quiet_ms`, for at most `timeout_ms` in all.
 * Returns 1 when it was quiet, 0 when the time was up, 2 when nothing runs any more. Blocks.
 */
HUTCH_API int hutch_shell_wait(struct hutch_shell *shell, uint32_t quiet_ms, uint32_t timeout_ms,
                               struct hutch_error *err);

/*
 * Close a shell; what runs in it is killed. Processes that earlier commands left behind live on in the
 * sandbox. NULL is accepted. Blocks until what it killed is gone.
 */
HUTCH_API void hutch_shell_close(struct hutch_shell *shell);

/* ---- Languages ----------------------------------------------------------------------------- */

/*
 * Python and Node in a workspace: packages are its own (.venv and node_modules in it), caches are the
 * sandbox's own and go with it. So two workspaces with different versions of the same never meet.
 * Nothing here needs a network. Everything runs as a command in the sandbox, under its policy, with
 * programs from the PATH of that policy.
 *
 * For every function here:
 *  - `options` may be NULL: all as its _INIT has it.
 *  - On failure err->where is the file, the program or the argument to blame. HUTCH_ENOTFOUND: a program
 *    is not in the sandbox, and the message says which; HUTCH_EINVALID: the workspace has something else
 *    under the name of .venv or package.json, or an argument is wrong; HUTCH_ESTATE: the sandbox is gone.
 *  - It is called on the thread that uses the sandbox. All but those that start a run block.
 */

/* What a workspace has for one language. */
struct hutch_language {
    size_t size;
    bool created;        /* by this call */
    const char *program; /* the interpreter; absolute inside */
    const char *manager; /* what installs packages: uv or pip, bun or npm; NULL: there is none */
};

struct hutch_python_options {
    size_t size;         /* set by HUTCH_PYTHON_INIT */
    const char *python;  /* the one to build on: "python3.12", or a path inside; NULL: python3 */
    uint64_t timeout_ms; /* as in struct hutch_command */
    bool without_pip;    /* leave pip out, which takes most of the time */
};
#define HUTCH_PYTHON_INIT                                                                          \
    {                                                                                              \
        .size = sizeof(struct hutch_python_options),                                               \
    }

/*
 * Make sure that the workspace has a Python environment, .venv: with uv where the sandbox has it, else
 * with Python's own venv; without pip where Python lacks the means to put it in. One that is there is
 * kept as it is, which is quick; one that is incomplete is completed. What fails half-way leaves nothing
 * behind. On success the caller owns *ret; free it with free(). `ret` may be NULL.
 */
HUTCH_API int hutch_python_init(struct hutch_sandbox *sandbox,
                                const struct hutch_python_options *options,
                                struct hutch_language **ret, struct hutch_error *err);

struct hutch_node_options {
    size_t size;      /* set by HUTCH_NODE_INIT */
    const char *name; /* of a new project */
};
#define HUTCH_NODE_INIT                                                                            \
    {                                                                                              \
        .size = sizeof(struct hutch_node_options), .name = "workspace",                            \
    }

/*
 * Make sure that the workspace is a Node project: a package.json that is there is kept as it is. The
 * sandbox must have node or bun. On success the caller owns *ret; free it with free(). `ret` may be NULL.
 */
HUTCH_API int hutch_node_init(struct hutch_sandbox *sandbox,
                              const struct hutch_node_options *options, struct hutch_language **ret,
                              struct hutch_error *err);

/*
 * The variables that code in a language gets beside the policy's: caches, prefixes, and PATH with the
 * workspace's programs before all others. For struct hutch_command, to run other commands in the same
 * environment; the lists of several languages may be put one after the other.
 * On success the caller owns *ret, "NAME=value" and a NULL at the end, in one allocation; free it with
 * free(). It may outlive the sandbox.
 */
HUTCH_API int hutch_python_env(struct hutch_sandbox *sandbox, const char ***ret,
                               struct hutch_error *err);
HUTCH_API int hutch_node_env(struct hutch_sandbox *sandbox, const char ***ret,
                             struct hutch_error *err);

struct hutch_code_options {
    size_t size; /* set by HUTCH_CODE_INIT */
    const char *const
        *args;              /* of the program, or for the test runner; ends with NULL; NULL: none */
    const char *cwd;        /* these five as in struct hutch_command */
    const char *const *env; /* over the language's */
    uint64_t timeout_ms;
    int stdout_fd;
    int stderr_fd;
};
#define HUTCH_CODE_INIT                                                                            \
    {                                                                                              \
        .size = sizeof(struct hutch_code_options), .stdout_fd = -1, .stderr_fd = -1,               \
    }

/*
 * Run `len` bytes of Python and wait: with the workspace's .venv, or the sandbox's python3 where the
 * workspace has none that works. The program finds no input: its code is what comes by standard input. Modules are
 * looked for in the working directory too. An exception is a result with exit status 1.
 * On success the caller owns *ret; free it with hutch_result_free().
 */
HUTCH_API int hutch_python_exec(struct hutch_sandbox *sandbox, const char *code, size_t len,
                                const struct hutch_code_options *options, struct hutch_result **ret,
                                struct hutch_error *err);

/* The same for JavaScript, with the sandbox's node, or bun where there is no node. */
HUTCH_API int hutch_node_exec(struct hutch_sandbox *sandbox, const char *code, size_t len,
                              const struct hutch_code_options *options, struct hutch_result **ret,
                              struct hutch_error *err);

/*
 * Start the same; step it as what hutch_sandbox_start() gives. The code is not needed after the call.
 * On success the caller owns *ret; free it with hutch_run_free(), before the sandbox.
 */
HUTCH_API int hutch_python_start(struct hutch_sandbox *sandbox, const char *code, size_t len,
                                 const struct hutch_code_options *options, hutch_event_fn *on_event,
                                 void *arg, struct hutch_run **ret, struct hutch_error *err);
HUTCH_API int hutch_node_start(struct hutch_sandbox *sandbox, const char *code, size_t len,
                               const struct hutch_code_options *options, hutch_event_fn *on_event,
                               void *arg, struct hutch_run **ret, struct hutch_error *err);

/*
 * Run the tests in the file or directory `path` (NULL: the workspace) and wait. What is there says how:
 *  - Python, where `path` is or holds test_*.py or *_test.py: pytest of the .venv, else that of the
 *    sandbox, else unittest, which knows its own kind of tests only;
 *  - Node, where it is JavaScript or holds package.json or *.test.js and the like: the project's "test"
 *    script with npm or bun, else `node --test` or `bun test`.
 * Python comes first where both are there. HUTCH_ENOTFOUND: `path` is not there, or holds no tests.
 * Failing tests are a result with another exit status than 0, and so is when none was found to run.
 * `options`' cwd must be NULL. On success the caller owns *ret; free it with hutch_result_free().
 */
HUTCH_API int hutch_run_tests(struct hutch_sandbox *sandbox, const char *path,
                              const struct hutch_code_options *options, struct hutch_result **ret,
                              struct hutch_error *err);

/* Start the same, as hutch_python_start() does. */
HUTCH_API int hutch_run_tests_start(struct hutch_sandbox *sandbox, const char *path,
                                    const struct hutch_code_options *options,
                                    hutch_event_fn *on_event, void *arg, struct hutch_run **ret,
                                    struct hutch_error *err);

#ifdef __cplusplus
}
#endif

#endif
