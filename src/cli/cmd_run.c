/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hutch run: one command in a sandbox of its own.
 *
 * The library does the running and relays input and output; this file is the loop around it. It
 * hands signals and window sizes on, keeps the caller's terminal in order, and at the end turns the
 * result into an exit status and, where the contract asks for it, one line that says why.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hutch.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/str.h"
#include "cli/events.h"
#include "cli/explain.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/out.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/usage.h"

/* The same signal this often means "now": the command may be ignoring it. */
enum { INSIST = 3 };

int run_failed(const struct options *options, const struct hutch_error *error)
{
    struct hutch_result *result = NULL;
    str_auto char *json = NULL;

    if (options->json && !options->dry_run && hutch_result_from_error(error, &result, NULL) == 0 &&
        hutch_result_to_json(result, &json, NULL) == 0) {
        puts(json);
        out_finish(CLI_RUN_FAILED, CLI_RUN_FAILED);
    } else {
        out_error(error);
    }
    hutch_result_free(result);
    return CLI_RUN_FAILED;
}

static int open_input(const char *path, int *ret, struct hutch_error *err)
{
    fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;

    if (fd < 0)
        return err_sys(err, -errno, "--stdin", "cannot open '%s'", path);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return err_sys(err, -EISDIR, "--stdin", "cannot read '%s'", path);
    *ret = fd_take(&fd);
    return 0;
}

/* Both are stopped, the command first: nobody would keep its limits in the meantime. */
static int suspend(struct hutch_run *run, struct hutch_error *err)
{
    if (hutch_run_signal(run, SIGSTOP, err) < 0)
        return hutch_run_cancel(run, err);
    signals_act(SIGTSTP);
    return hutch_run_signal(run, SIGCONT, err) < 0 ? hutch_run_cancel(run, err) : 0;
}

/* A signal from outside. One that cannot be passed on ends the run: the sender wants an end. */
static int pass_on(struct hutch_run *run, int signal, unsigned counts[NSIG],
                   struct hutch_error *err)
{
    if (signal == SIGWINCH) {
        uint16_t rows = 0, cols = 0;

        terminal_size(&rows, &cols);
        if (rows)
            hutch_run_resize(run, rows, cols, NULL); /* a wrong size is no reason to end the run */
        return 0;
    }
    if (signal == SIGTSTP)
        return suspend(run, err);
    if (++counts[signal] < INSIST && hutch_run_signal(run, signal, err) == 0)
        return 0;
    return hutch_run_cancel(run, err);
}

/* The kernel's number of the pid namespace that it booted with (include/linux/proc_ns.h). */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCU

/*
 * What is left of the sandbox ends a moment after us, and is PID 1's to wait for. A system's own does
 * that. That of a container may be an application which never had such a child: there we wait.
 */
static bool has_reaper(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_PID_NAMESPACE;
}

enum reaper { REAPER_UNKNOWN, REAPER_NONE, REAPER_THERE };

static void look_for_reaper(enum reaper *reaper)
{
    if (*reaper == REAPER_UNKNOWN)
        *reaper = has_reaper() ? REAPER_THERE : REAPER_NONE;
}

/* Step the run until it has ended. */
static int drive(struct hutch_run *run, struct signals *signals, enum reaper *reaper,
                 struct hutch_error *err)
{
    unsigned counts[NSIG] = {0};
    struct pollfd fds[] = {
        {.fd = hutch_run_fd(run), .events = POLLIN},
        {.fd = signals->fd, .events = POLLIN},
    };

    for (;;) {
        int r = poll(fds, ARRAY_LEN(fds), -1);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return err_sys(err, -errno, "run", "cannot wait for the command");

        int signal;
        while (fds[1].revents && (signal = signals_next(signals)) != 0) {
            r = pass_on(run, signal, counts, err);
            if (r < 0)
                return r;
        }
        if (fds[0].revents && (r = hutch_run_step(run, 0, err)) != 0)
            return r;
        look_for_reaper(reaper); /* while the command runs there is time */
    }
}

static void leave(struct hutch_run *run, enum reaper reaper)
{
    static struct hutch_run *volatile kept; /* what looks for leaks sees that it is known */

    look_for_reaper(&reaper);
    if (reaper == REAPER_THERE)
        hutch_run_leave(kept = run);
    else
        hutch_run_free(run);
}

/* Run to the end. *ret_run is the caller's to leave(), also when this fails; NULL: it never started. */
static int run_to_end(const struct options *options, const struct hutch_command *command,
                      struct events *events, struct hutch_run **ret_run, enum reaper *reaper,
                      struct hutch_error *err)
{
    signals_auto struct signals signals = SIGNALS_INIT;
    terminal_auto struct terminal terminal = {0};

    signals.stop = !command->tty; /* with a terminal of its own Ctrl-Z is the command's */
    int r = signals_open(&signals, err);
    if (r < 0)
        return r;

    r = hutch_run_start(options->policy, command, events_wanted(events) ? events_write : NULL,
                        events, ret_run, err);
    if (r < 0)
        return r;
    if (command->tty && command->stdin_fd == STDIN_FILENO && !options->json)
        terminal_make_raw(&terminal);
    return drive(*ret_run, &signals, reaper, err);
}

/* The limit of this name that was in force. */
static uint64_t limit_of(const struct hutch_result *result, const char *name)
{
    for (const struct hutch_limit *limit = result->limits; limit && limit->name; limit++) {
        if (str_eq(limit->name, name))
            return limit->max;
    }
    return USAGE_NONE;
}

static void say_limit(const struct hutch_result *result)
{
    uint64_t limit = limit_of(result, hutch_reason_name(result->reason));
    char text[NUM_TEXT_MAX];

    switch (result->reason) {
    case HUTCH_TIMEOUT: out_line("timed out after %s", num_format_duration(limit, text)); break;
    case HUTCH_CPU_TIME:
        out_line("used up its CPU time of %s", num_format_duration(limit, text));
        break;
    case HUTCH_MEMORY:
        out_line("ran out of memory: the limit is %s", num_format_size(limit, text));
        break;
    case HUTCH_DISK:
        out_line("ran out of disk space: the limit is %s", num_format_size(limit, text));
        break;
    default: out_line("failed after it was refused a process: the limit is %" PRIu64, limit);
    }
}

/* In the unit that the limit of this name has. */
static const char *limit_text(const char *name, uint64_t value, char out[NUM_TEXT_MAX])
{
    if (str_eq(name, "cpus"))
        return num_format_cpus(value, out);
    if (!str_eq(name, "processes") && !str_eq(name, "open_files"))
        return num_format_size(value, out);
    snprintf(out, NUM_TEXT_MAX, "%" PRIu64, value);
    return out;
}

static void say_absurd(const struct hutch_result *result)
{
    char limit[NUM_TEXT_MAX];
    char host[NUM_TEXT_MAX];

    for (const struct hutch_limit *row = result->limits; row && row->name; row++)
        if (row->max > row->host)
            out_line("warning: the limit on %s is %s, this host has %s", row->name,
                     limit_text(row->name, row->max, limit),
                     limit_text(row->name, row->host, host));
}

/* What the command made and does not find again: it would look for a fault of its own. */
static void say_undone(const struct hutch_result *result)
{
    enum { SHOWN = 3 };
    size_t count = 0;

    for (size_t i = 0; i < result->violation_count; i++) {
        const struct hutch_violation *violation = &result->violations[i];
        if (str_eq(violation->kind, "protect") && ++count <= SHOWN)
            out_line("removed '%s': it is protected (filesystem.protect)", violation->detail);
    }
    if (count > SHOWN)
        out_line("removed %zu protected paths in all", count);
}

/* The line on stderr about an end that is not simply the command's own. */
static void say_why(const struct hutch_result *result)
{
    struct hutch_error error = result->error;

    error.where[0] = '\0'; /* the message names the command; the step that failed says no more */
    if (error.code)
        out_error(&error);
    else if (result->reason == HUTCH_TIMEOUT || result->reason >= HUTCH_CPU_TIME)
        say_limit(result);
    else if (result->reason == HUTCH_CANCELLED)
        out_line("cancelled, the sandbox was ended");
    else if (result->signal == SIGKILL)
        out_line("the command was killed (SIGKILL)");
}

static int report(const struct options *options, const struct hutch_result *result)
{
    struct hutch_error err;
    str_auto char *json = NULL;

    if (!options->json || !options->events_path) /* else the events say it */
        say_absurd(result);
    if (!options->json) {
        say_undone(result);
        say_why(result);
        if (!result->output_errno)
            return result->status;
        out_line("the command's output could not be written: %s", strerror(result->output_errno));
        return result->status ? result->status : CLI_FAILED;
    }
    if (hutch_result_to_json(result, &json, &err) < 0) {
        out_error(&err);
        return CLI_RUN_FAILED;
    }
    puts(json);
    return out_finish(result->status, CLI_RUN_FAILED);
}

static struct usage usage_of(const struct hutch_result *result)
{
    return (struct usage){
        .cpu_ms = result->user_ms + result->system_ms,
        .wall_ms = result->duration_ms,
        .memory_bytes = result->peak_memory_bytes,
        .memory_limit = limit_of(result, "memory"),
        .processes = result->peak_processes,
        .process_limit = limit_of(result, "processes"),
        .disk_bytes = result->disk_bytes,
        .disk_limit = limit_of(result, "disk"),
    };
}

static void say_usage(const struct hutch_result *result)
{
    struct usage usage = usage_of(result);
    buf_auto struct buf line;

    buf_init(&line, SIZE_MAX);
    usage_put(&line, &usage);
    buf_puts(&line, "\n");
    if (!line.failed)
        fputs(line.data, stderr);
}

/* All there is to say about a run. Returns what to exit with. */
static int tell(const struct options *options, const struct hutch_result *result)
{
    int status = report(options, result);

    if (options->usage && result->reason != HUTCH_SETUP)
        say_usage(result);
    return status;
}

int run_options(const struct options *options, struct hutch_error *err)
{
    fd_auto int input = -1;
    events_auto struct events events = EVENTS_INIT;
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;
    struct hutch_run *run = NULL;
    enum reaper reaper = REAPER_UNKNOWN;

    int r = options->stdin_path ? open_input(options->stdin_path, &input, err) : 0;
    if (r == 0)
        r = events_open(&events, options->events_path, err);
    if (r < 0)
        return r;

    command.argv = options->argv;
    command.cwd = options->cwd;
    command.stdin_fd = input >= 0 ? input : STDIN_FILENO;
    if (!options->json) {
        command.stdout_fd = STDOUT_FILENO;
        command.stderr_fd = STDERR_FILENO;
    }
    command.tty = options->tty;
    if (command.tty)
        terminal_size(&command.rows, &command.cols);

    r = run_to_end(options, &command, &events, &run, &reaper, err);
    if (r >= 0)
        r = hutch_run_result(run, &result, err);
    events_report(&events);
    int status = r < 0 ? r : tell(options, result);
    /* After the answer: to take a sandbox's groups apart takes time that nobody has to wait for. */
    if (run)
        leave(run, reaper);
    hutch_result_free(result);
    return status;
}

int cmd_run(const struct cli_command *self, char **args)
{
    options_auto struct options options;
    struct hutch_error err;

    /* With `hutch run ... | head` the write fails and the run ends in order, instead of dying. */
    signal(SIGPIPE, SIG_IGN);

    int r = options_parse(self, args, &options, &err);
    if (r < 0)
        return run_failed(&options, &err);
    if (options.help) {
        help_command(self);
        return out_finish(0, CLI_RUN_FAILED);
    }
    if (options.dry_run) {
        r = explain_print(&options, &err);
        return r < 0 ? run_failed(&options, &err) : out_finish(0, CLI_RUN_FAILED);
    }

    r = run_options(&options, &err);
    if (r < 0)
        return run_failed(&options, &err);
    exit(r); /* at once: the kernel frees the policy quicker than we do */
}
