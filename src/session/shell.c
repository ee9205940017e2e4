/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing shells. How they keep their state is told in prelude.h. */
#include "session/shell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/err.h"
#include "base/str.h"

static void emit(const struct hutch_shell *shell, enum hutch_event_type type)
{
    struct hutch_sandbox_info info = HUTCH_SANDBOX_INFO_INIT;
    struct timespec now = {0};

    if (!shell->on_event || hutch_sandbox_info(shell->sandbox, &info, NULL) < 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    shell->on_event(shell->arg,
                    &(struct hutch_event){
                        .size = sizeof(struct hutch_event),
                        .type = type,
                        .time_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
                        .sandbox = info.id,
                        .shell = shell->id,
                    });
}

void shell_pass_on(struct hutch_shell *shell, const struct hutch_event *event,
                   const char *const *argv)
{
    struct hutch_event told = *event;

    if (event->type == HUTCH_EVENT_RUN_OUTPUT && shell->on_terminal)
        ring_add(&shell->output, event->data, event->data_len);
    if (event->type == HUTCH_EVENT_RUN_EXITED)
        shell->run_over = true;
    if (!shell->on_event)
        return;
    told.shell = shell->id;
    if (event->type == HUTCH_EVENT_RUN_STARTED)
        told.argv = argv;
    shell->on_event(shell->arg, &told);
}

/* ---- Running ---- */

int shell_start_run(struct hutch_shell *shell, const char *const *argv, bool terminal,
                    uint64_t timeout_ms, hutch_event_fn *on_event, struct hutch_error *err)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;

    command.argv = argv;
    command.env = shell->env;
    command.timeout_ms = timeout_ms;
    command.tty = terminal;
    command.rows = shell->rows;
    command.cols = shell->cols;
    command.stdin_open = terminal;
    shell->on_terminal = terminal;
    shell->run_over = false;
    int r = hutch_sandbox_start(shell->sandbox, &command, on_event, shell, &shell->run, err);
    if (r == 0)
        shell->generation++;
    return r;
}

static void keep_output(void *arg, const struct hutch_event *event)
{
    if (event->type == HUTCH_EVENT_RUN_OUTPUT && event->stream == 1)
        buf_add(arg, event->data, event->data_len);
}

/*
 * Run a program of ours in the sandbox with the given shell and wait for it. Its standard output goes to
 * `out`; its events to nobody. The caller owns *ret.
 */
static int run_own(struct hutch_shell *shell, const char *program, const struct buf *script,
                   struct buf *out, struct hutch_result **ret, struct hutch_error *err)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_run *run = NULL;

    command.argv = (const char *const[]){program, "-c", script->data, program, NULL};
    command.timeout_ms = SHELL_OWN_MS;
    int r = script->failed
                ? err_oom(err)
                : hutch_sandbox_start(shell->sandbox, &command, keep_output, out, &run, err);
    if (r < 0)
        return r;
    r = hutch_run_finish(run, ret, err);
    hutch_run_free(run);
    return r;
}

const char *shell_complaint(const struct hutch_result *result, char *out, size_t size)
{
    char line[256];
    size_t len = result->stderr_data ? strcspn(result->stderr_data, "\n") : 0;

    if (len == 0)
        return hutch_reason_name(result->reason);
    if (len >= sizeof line)
        len = sizeof line - 1;
    memcpy(line, result->stderr_data, len);
    line[len] = '\0';
    return str_printable(line, out, size);
}

/* ---- Opening ---- */

/* Returns 1 when `program` is there, 0 when it is not. */
static int try_program(struct hutch_shell *shell, const char *program, struct hutch_error *err)
{
    struct hutch_result *result;
    buf_auto struct buf script;
    buf_auto struct buf out;
    char text[256];

    buf_init(&script, PRELUDE_MAX);
    buf_init(&out, 64);
    prelude_probe(&script, shell->dir);
    int r = run_own(shell, program, &script, &out, &result, err);
    if (r < 0)
        return r;
    if (result->reason == HUTCH_SETUP && (result->exit_code == 127 || result->exit_code == 126))
        r = 0;
    else if (result->status != 0)
        r = err_set(err, HUTCH_ESYSTEM, program, "cannot prepare the shell's state: %s",
                    shell_complaint(result, text, sizeof text));
    else
        r = 1;
    shell->dialect = out.len == 4 && memcmp(out.data, "bash", 4) == 0 ? PRELUDE_BASH : PRELUDE_SH;
    hutch_result_free(result);
    return r;
}

static int find_program(struct hutch_shell *shell, const char *given, struct hutch_error *err)
{
    const char *const usual[] = {"bash", "sh"};
    const char *const *list = given ? &given : usual;
    size_t count = given ? 1 : ARRAY_LEN(usual);

    for (size_t i = 0; i < count; i++) {
        int r = try_program(shell, list[i], err);
        if (r == 0)
            continue;
        shell->program = arena_strdup(&shell->arena, list[i]);
        return r < 0 ? r : shell->program ? 0 : err_oom(err);
    }
    return err_set(err, HUTCH_ENOTFOUND, "program", "the sandbox has no shell '%s'",
                   list[count - 1]);
}

static int copy_env(struct hutch_shell *shell, const char *const *env)
{
    size_t count = 0;

    while (env && env[count])
        count++;
    const char **copy = arena_alloc(&shell->arena, (count + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = arena_strdup(&shell->arena, env[i]);
    shell->env = copy;
    return arena_failed(&shell->arena) ? -1 : 0;
}

/* An id to show, and a name of the directory that nothing inside can have taken before. */
static int make_names(struct hutch_shell *shell, struct hutch_error *err)
{
    uint64_t random[3];

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_set(err, HUTCH_ESYSTEM, "shell", "cannot get random bytes");
    snprintf(shell->id, sizeof shell->id, "%016" PRIx64, random[0]);
    shell->dir = arena_printf(&shell->arena, "/tmp/.hutch-shell-%016" PRIx64 "%016" PRIx64,
                              random[1], random[2]);
    return shell->dir ? 0 : err_oom(err);
}

static int open_shell(struct hutch_shell *shell, const struct hutch_shell_options *options,
                      struct hutch_error *err)
{
    int r = make_names(shell, err);
    if (r < 0)
        return r;
    if (copy_env(shell, options->env) < 0)
        return err_oom(err);
    r = find_program(shell, options->program, err);
    return r == 0 && options->cwd ? shell_cd(shell, options->cwd, err) : r;
}

/* The caller's struct may be older or newer than ours: what it does not have stays in *ret. */
static int read_options(const struct hutch_shell_options *given, struct hutch_shell_options *ret,
                        struct hutch_error *err)
{
    if (given && given->size < offsetof(struct hutch_shell_options, program))
        return err_set(err, HUTCH_EINVALID, "options",
                       "its size is not set: start from HUTCH_SHELL_OPTIONS_INIT");
    if (given)
        memcpy(ret, given, given->size < sizeof *ret ? given->size : sizeof *ret);
    if (ret->mode != HUTCH_SHELL_EXEC && ret->mode != HUTCH_SHELL_PTY)
        return err_set(err, HUTCH_EINVALID, "mode", "%d is not a kind of shell", ret->mode);
    return 0;
}

int hutch_shell_open(struct hutch_sandbox *sandbox, const struct hutch_shell_options *options,
                     hutch_event_fn *on_event, void *arg, struct hutch_shell **ret,
                     struct hutch_error *err)
{
    struct hutch_shell_options known = HUTCH_SHELL_OPTIONS_INIT;

    if (!sandbox || !ret)
        return err_set(err, HUTCH_EINVALID, sandbox ? "ret" : "sandbox", "NULL was given");
    int r = read_options(options, &known, err);
    if (r < 0)
        return r;
    struct hutch_shell *shell = calloc(1, sizeof *shell);
    if (!shell)
        return err_oom(err);
    *shell = (struct hutch_shell){.sandbox = sandbox,
                                  .mode = known.mode,
                                  .on_event = on_event,
                                  .arg = arg,
                                  .rows = known.rows,
                                  .cols = known.cols};
    arena_init(&shell->arena);
    ring_init(&shell->output, known.buffer_bytes ? known.buffer_bytes : 256 << 10);

    r = open_shell(shell, &known, err);
    if (r < 0) {
        shell->on_event = NULL; /* it never started */
        hutch_shell_close(shell);
        return r;
    }
    emit(shell, HUTCH_EVENT_SHELL_STARTED);
    *ret = shell;
    return 0;
}

/* ---- Closing ---- */

static void remove_state(struct hutch_shell *shell)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;

    options.recursive = true;
    if (shell->program) /* nothing can be done about a failure: it goes with the sandbox */
        hutch_file_delete(shell->sandbox, shell->dir, &options, NULL);
}

void hutch_shell_close(struct hutch_shell *shell)
{
    if (!shell)
        return;
    hutch_run_free(shell->run);
    remove_state(shell);
    emit(shell, HUTCH_EVENT_SHELL_STOPPED);
    history_clear(&shell->history);
    ring_clear(&shell->output);
    arena_clear(&shell->arena);
    free(shell);
}
