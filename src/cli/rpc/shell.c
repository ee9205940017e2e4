/* SPDX-License-Identifier: Apache-2.0 */
/* Shells that last. The run of one is stepped like any other, but stays the shell's. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/params.h"
#include "cli/rpc/server.h"

enum { READ_BYTES = 256 << 10 };

static void on_event(void *arg, const struct hutch_event *event)
{
    notify_event(arg, event);
}

static int find_shell(struct server *server, const json_t *params, struct server_shell **ret,
                      struct hutch_error *err)
{
    const char *id = params_string(params, "shell");

    for (struct server_sandbox *sandbox = server->sandboxes; sandbox; sandbox = sandbox->next) {
        for (struct server_shell *shell = sandbox->shells; shell; shell = shell->next) {
            if (!str_eq(shell->id, id))
                continue;
            if (shell->closing || sandbox->closing) {
                err_set(err, HUTCH_ESTATE, "/shell", "shell '%s' is being closed", id);
                return HUTCH_ESTATE;
            }
            *ret = shell;
            return 0;
        }
    }
    err_set(err, HUTCH_ENOTFOUND, "/shell", "no shell '%s'", id);
    return HUTCH_ENOTFOUND;
}

/* One of mode `pty`. */
static int find_terminal(struct server *server, const json_t *params, struct server_shell **ret,
                         struct hutch_error *err)
{
    int r = find_shell(server, params, ret, err);

    if (r != 0 || (*ret)->pty)
        return r;
    return err_set(err, HUTCH_ESTATE, "/shell", "this is for shells of mode 'pty'");
}

static bool is_running(const struct server_shell *shell)
{
    return shell->run && !shell->run->over;
}

void server_free_shell(struct server_shell *shell)
{
    struct server_shell **link = &shell->sandbox->shells;

    while (*link != shell)
        link = &(*link)->next;
    *link = shell->next;
    shell->sandbox->server->shell_count--;
    hutch_shell_close(shell->shell);
    free(shell->id);
    free(shell);
}

/* Have the run that the shell has now stepped with the others. */
static void add_run(struct server *server, struct server_shell *shell)
{
    struct server_run *run = calloc(1, sizeof *run);

    if (!run)
        abort();
    run->sandbox = shell->sandbox;
    run->shell = shell;
    run->run = hutch_shell_run(shell->shell);
    run->exec = true;
    run->input_eof = !shell->pty;
    run->input_ended = !shell->pty;
    buf_init(&run->input, SIZE_MAX); /* INPUT_MAX is kept by run_give_input() */
    shell->run = run;
    shell->used = true;
    shell->ended = false;
    run_add(server, run);
}

/* `command` NULL: the interactive shell. */
static int start(struct server *server, struct server_shell *shell, const char *command,
                 uint64_t timeout_ms, struct hutch_error *err)
{
    int r = run_may_start(server, err);

    if (r == 0)
        r = hutch_shell_start(shell->shell, command, timeout_ms, err);
    if (r != 0)
        return r;
    if (shell->run) /* an interactive shell that has ended: nobody waits for its result */
        run_drop(server, shell->run);
    add_run(server, shell);
    return 0;
}

void shell_run_ended(struct server_shell *shell, const struct hutch_result *result)
{
    bool signaled = result && result->signal > 0;

    shell->ended = true;
    shell->signal = signaled ? result->signal : -1;
    shell->exit_code = result && !signaled ? result->exit_code : -1;
}

/* ---- Opening and closing ---- */

static int open_shell(struct server_shell *shell, const json_t *params, struct hutch_error *err)
{
    struct hutch_shell_options options = HUTCH_SHELL_OPTIONS_INIT;
    params_list_auto char **env = params_list(params, "env");
    struct hutch_shell_state *state;

    options.mode = shell->pty ? HUTCH_SHELL_PTY : HUTCH_SHELL_EXEC;
    options.program = params_string(params, "program");
    options.cwd = params_string(params, "cwd");
    options.env = (const char *const *)env;
    options.rows = (uint16_t)params_count(params, "rows", 0);
    options.cols = (uint16_t)params_count(params, "cols", 0);
    int r = hutch_shell_open(shell->sandbox->sandbox, &options, on_event, shell->sandbox,
                             &shell->shell, err);
    if (r == 0)
        r = hutch_shell_state(shell->shell, &state, err);
    if (r != 0)
        return r;
    shell->id = strdup(state->id);
    hutch_shell_state_free(state);
    if (!shell->id)
        abort();
    return 0;
}

int method_shell_open(struct server *server, const struct call *call, struct hutch_error *err)
{
    const char *mode = params_string(call->params, "mode");
    struct server_sandbox *sandbox;

    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = run_may_start(server, err);
    if (r == 0 && server->shell_count >= SHELLS_MAX)
        r = err_set(err, HUTCH_EBUSY, "", "%d shells are open already", SHELLS_MAX);
    if (r != 0)
        return r;

    struct server_shell *shell = calloc(1, sizeof *shell);
    if (!shell)
        abort();
    shell->sandbox = sandbox;
    shell->pty = mode && str_eq(mode, "pty");
    shell->next = sandbox->shells;
    sandbox->shells = shell;
    server->shell_count++;
    r = open_shell(shell, call->params, err);
    if (r != 0) {
        server_free_shell(shell);
        return r;
    }
    answer_json(&server->outbox, call->id, json_pack("{s:s}", "shell", shell->id));
    return 0;
}

int method_shell_close(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_shell *shell;

    int r = find_shell(server, call->params, &shell, err);
    if (r == 0)
        r = server_may_wait(server, err);
    if (r != 0)
        return r;
    shell->closing = true;
    if (is_running(shell) && hutch_run_cancel(shell->run->run, &shell->run->error) < 0)
        shell->run->over = true; /* killed when the shell is closed */
    server_wait(server, call,
                &(struct server_waiter){
                    .kind = WAIT_SHELL_CLOSE, .sandbox = shell->sandbox, .shell = shell});
    return 0;
}

/* ---- Commands ---- */

int method_shell_exec(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_shell *shell;

    int r = find_shell(server, call->params, &shell, err);
    if (r == 0)
        r = server_may_wait(server, err);
    if (r == 0)
        r = start(server, shell, params_string(call->params, "command"),
                  params_duration_ms(call->params, "timeout", 0), err);
    if (r != 0)
        return r;
    server_wait(
        server, call,
        &(struct server_waiter){.kind = WAIT_EXEC, .sandbox = shell->sandbox, .run = shell->run});
    return 0;
}

/* Where it is now; null when that is not known. */
static json_t *cwd_json(struct hutch_shell *shell)
{
    struct hutch_shell_state *state = NULL;
    json_t *cwd = NULL;

    if (hutch_shell_state(shell, &state, NULL) == 0 && state->cwd)
        cwd = json_text_lossy(state->cwd);
    hutch_shell_state_free(state);
    return cwd ? cwd : json_null();
}

int method_shell_cd(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_shell *shell;

    int r = find_shell(server, call->params, &shell, err);
    if (r == 0)
        r = hutch_shell_cd(shell->shell, params_string(call->params, "dir"), err);
    if (r == 0)
        answer_json(&server->outbox, call->id, json_pack("{s:o}", "cwd", cwd_json(shell->shell)));
    return r;
}

int method_shell_setenv(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_shell *shell;

    int r = find_shell(server, call->params, &shell, err);
    if (r == 0)
        r = hutch_shell_setenv(shell->shell, params_string(call->params, "name"),
                               params_string(call->params, "value"), err);
    if (r == 0)
        answer_done(&server->outbox, call->id);
    return r;
}

/* The result as the library writes it, and where the shell is now. */
void shell_exec_answer(struct server *server, const struct server_waiter *waiter)
{
    struct server_run *run = waiter->run;
    struct hutch_error err = run->error;
    str_auto char *json = NULL, *cwd = NULL;
    buf_auto struct buf line;

    buf_init(&line, SIZE_MAX);
    int r = run->result ? hutch_result_to_json(run->result, &json, &err) : err.code;
    if (!json) {
        answer_error(&server->outbox, waiter->id, r, &err);
        return;
    }
    json_auto_ref json_t *text = cwd_json(run->shell->shell);
    cwd = json_dumps(text, JSON_ENCODE_ANY);
    buf_add(&line, json, strlen(json) - 1); /* all but the closing brace */
    buf_printf(&line, ",\"cwd\":%s}", cwd);
    if (!cwd || line.failed)
        abort();
    answer_text(&server->outbox, waiter->id, line.data);
}

static json_t *list_json(const char *const *list)
{
    json_t *array = json_array();

    for (; list && *list; list++)
        json_array_append_new(array, json_text_lossy(*list));
    return array;
}

/* "NAME=value" rows as an object. */
static json_t *env_json(const char *const *env)
{
    json_t *object = json_object();

    for (; env && *env; env++) {
        size_t len = strcspn(*env, "=");
        json_auto_ref json_t *name = json_string_lossy(*env, len);

        if ((*env)[len] == '=')
            json_object_set_new(object, json_string_value(name), json_text_lossy(*env + len + 1));
    }
    return object;
}

static json_t *integer_or_null(int value)
{
    return value >= 0 ? json_integer(value) : json_null();
}

/* How what ran last has ended, as a result says it. */
static void add_end(json_t *answer, const struct server_shell *shell)
{
    json_object_set_new(answer, "exit_code", integer_or_null(shell->exit_code));
    json_object_set_new(answer, "signal", integer_or_null(shell->signal));
}

int method_shell_state(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_shell *shell;
    struct hutch_shell_state *state;

    int r = find_shell(server, call->params, &shell, err);
    if (r == 0)
        r = hutch_shell_state(shell->shell, &state, err);
    if (r != 0)
        return r;
    json_t *answer = json_pack("{s:s, s:s, s:s, s:b, s:b, s:i, s:o, s:o, s:o}", "shell", shell->id,
                               "sandbox", shell->sandbox->info.id, "mode",
                               shell->pty ? "pty" : "exec", "running", state->running, "saved",
                               state->saved, "pid", state->pid, "cwd",
                               state->cwd ? json_text_lossy(state->cwd) : json_null(), "env",
                               env_json(state->env), "history", list_json(state->history));
    hutch_shell_state_free(state);
    json_object_set_new(answer, "run",
                        is_running(shell) ? json_integer(shell->run->id) : json_null());
    if (shell->ended)
        add_end(answer, shell);
    answer_json(&server->outbox, call->id, answer);
    return 0;
}

/* ---- Terminals ---- */

/*
 * A terminal that was not used yet shows an interactive shell to who reads from it or types. Not one that
 * commands are run on: what is typed to one of them a moment too late is nothing to be run.
 */
static int begin_interactive(struct server *server, struct server_shell *shell,
                             struct hutch_error *err)
{
    return shell->used ? 0 : start(server, shell, NULL, HUTCH_UNKNOWN, err);
}

int method_shell_write(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_shell *shell;

    int r = find_terminal(server, call->params, &shell, err);
    if (r == 0)
        r = begin_interactive(server, shell, err);
    if (r == 0 && !is_running(shell))
        r = err_set(err, HUTCH_ESTATE, "/shell", "nothing runs on its terminal");
    if (r == 0)
        r = run_give_input(shell->run, call->params, err);
    if (r == 0)
        answer_done(&server->outbox, call->id);
    return r;
}

int method_shell_resize(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_shell *shell;

    int r = find_terminal(server, call->params, &shell, err);
    if (r == 0)
        r = hutch_shell_resize(shell->shell, (uint16_t)params_count(call->params, "rows", 0),
                               (uint16_t)params_count(call->params, "cols", 0), err);
    if (r == 0)
        answer_done(&server->outbox, call->id);
    return r;
}

int method_shell_read(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_waiter waiter = {
        .kind = WAIT_SHELL_READ,
        .cursor = params_count(call->params, "cursor", 0),
        .deadline_ms = server_now_ms() + params_count(call->params, "wait_ms", 0),
    };

    int r = find_terminal(server, call->params, &waiter.shell, err);
    if (r == 0)
        r = server_may_wait(server, err);
    if (r != 0)
        return r;
    waiter.sandbox = waiter.shell->sandbox;
    /* Reading may come at any time, but not starting something. */
    if (!waiter.shell->used && !turn_is_now(server, waiter.sandbox, false))
        return turn_wait(server, call, waiter.sandbox, false, err);
    r = begin_interactive(server, waiter.shell, err);
    if (r == 0)
        server_wait(server, call, &waiter);
    return r;
}

bool shell_read_is_ready(const struct server_waiter *waiter)
{
    uint64_t next;
    char byte;

    /* A failure is an answer too. */
    return !is_running(waiter->shell) || server_now_ms() >= waiter->deadline_ms ||
           hutch_shell_read(waiter->shell->shell, waiter->cursor, &byte, 1, &next, NULL) != 0;
}

void shell_read_answer(struct server *server, const struct server_waiter *waiter)
{
    bool ended = !is_running(waiter->shell);
    str_auto char *data = malloc(READ_BYTES);
    struct hutch_error err;
    uint64_t next;

    if (!data)
        abort();
    int n = hutch_shell_read(waiter->shell->shell, waiter->cursor, data, READ_BYTES, &next, &err);
    if (n < 0) {
        answer_error(&server->outbox, waiter->id, n, &err);
        return;
    }
    size_t len = (size_t)n;
    uint64_t dropped = next - waiter->cursor - len;
    /* Half a character waits for its other half, unless there is nothing else to give. */
    size_t half = len < READ_BYTES && ended ? 0 : str_utf8_begun(data, len);
    half = half < len ? half : 0;
    len -= half;

    json_t *answer = json_object();
    json_object_set_new(answer, "data", json_string_lossy(data, len));
    if (!str_is_utf8(data, len))
        json_object_set_new(answer, "data_base64", json_string_base64(data, len));
    json_object_set_new(answer, "cursor", json_integer((json_int_t)(next - half)));
    if (dropped)
        json_object_set_new(answer, "dropped", json_integer((json_int_t)dropped));
    bool done = ended && n < READ_BYTES;
    json_object_set_new(answer, "done", json_boolean(done));
    if (done && waiter->shell->ended)
        add_end(answer, waiter->shell);
    answer_json(&server->outbox, waiter->id, answer);
}
