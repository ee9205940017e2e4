/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in sandboxes: starting, feeding and stepping them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/command.h"
#include "cli/rpc/params.h"
#include "cli/rpc/server.h"

static void on_event(void *arg, const struct hutch_event *event)
{
    struct server_run *run = arg;

    if (event->type == HUTCH_EVENT_RUN_OUTPUT && !run->exec)
        backlog_add(&run->backlog, event->stream, event->data, event->data_len);
    notify_event(run->sandbox, event);
}

int server_find_run(struct server *server, const json_t *params, struct server_run **ret,
                    struct hutch_error *err)
{
    uint64_t id = params_count(params, "run", 0);
    struct server_sandbox *sandbox;

    int r = server_find_sandbox(server, params, &sandbox, err);
    if (r != 0)
        return r;
    for (struct server_run *run = sandbox->runs; run; run = run->next) {
        if (run->id == id) {
            *ret = run;
            return 0;
        }
    }
    err_set(err, HUTCH_ENOTFOUND, "/run", "no run %" PRIu64 " in sandbox '%s'", id,
            sandbox->info.id);
    return HUTCH_ENOTFOUND;
}

static int find_going_on(struct server *server, const json_t *params, struct server_run **ret,
                         struct hutch_error *err)
{
    int r = server_find_run(server, params, ret, err);

    if (r == 0 && (*ret)->over)
        return err_set(err, HUTCH_ESTATE, "/run", "run %" PRIu32 " has ended", (*ret)->id);
    return r;
}

/* ---- Life ---- */

/* Hand on as much input as the command takes. One that reads no more has no use for the rest. */
static void feed(struct server_run *run)
{
    bool refused = false;

    while (run->input_sent < run->input.len && !refused) {
        int n = hutch_run_write(run->run, run->input.data + run->input_sent,
                                run->input.len - run->input_sent, NULL);

        if (n == 0)
            return;
        refused = n < 0;
        run->input_sent += n > 0 ? (size_t)n : 0;
    }
    buf_clear(&run->input);
    run->input_sent = 0;
    if (run->input_eof && !run->input_ended) {
        run->input_ended = true;
        hutch_run_close_stdin(run->run, NULL);
    }
}

void run_step_once(struct server_run *run)
{
    int r = hutch_run_step(run->run, 0, &run->error);

    if (r > 0 && run->shell)
        r = hutch_shell_finish(run->shell->shell, &run->result, &run->error);
    else if (r < 0 && run->shell)
        hutch_shell_finish(run->shell->shell, &run->result, NULL); /* gives it up; why is known */
    else if (r > 0)
        r = hutch_run_result(run->run, &run->result, &run->error);
    else if (r == 0)
        feed(run);
    if (r == 0 && !run->result)
        return;
    run->over = true;
    if (run->shell)
        shell_run_ended(run->shell, run->result);
    backlog_finish(&run->backlog);
    buf_clear(&run->input);
}

static void free_run(struct server_run *run)
{
    if (run->shell)
        run->shell->run = NULL;
    else
        hutch_run_free(run->run);
    hutch_result_free(run->result);
    backlog_clear(&run->backlog);
    buf_clear(&run->input);
    free(run);
}

void run_drop(struct server *server, struct server_run *run)
{
    struct server_run **link = &run->sandbox->runs;

    while (*link != run)
        link = &(*link)->next;
    *link = run->next;
    server->run_count--;
    free_run(run);
}

int run_may_start(const struct server *server, struct hutch_error *err)
{
    if (server->run_count < RUNS_MAX)
        return 0;
    err_set(err, HUTCH_EBUSY, "",
            "%d runs are going on or have ended and were not polled to their end", RUNS_MAX);
    return HUTCH_EBUSY;
}

void run_add(struct server *server, struct server_run *run)
{
    struct server_run **end = &run->sandbox->runs;

    run->id = hutch_run_id(run->run);
    while (*end)
        end = &(*end)->next;
    *end = run;
    server->run_count++;
}

static int refuse_input(const char *where, const char *why, struct hutch_error *err)
{
    int r = err_set(err, HUTCH_EINVALID, where, "%s", why);

    err->sys_errno = EFBIG; /* "too_large" */
    return r;
}

static int start(struct server *server, struct server_sandbox *sandbox, const json_t *params,
                 bool exec, struct server_run **ret, struct hutch_error *err)
{
    command_auto struct command command = {0};
    str_auto char *held = NULL;
    const char *input;
    size_t len;

    int r = params_bytes(params, "stdin", &input, &len, &held, err);
    if (r == 0 && len > INPUT_MAX)
        r = refuse_input("/stdin", "it has more than 8 MiB: write it to a file first", err);
    if (r == 0)
        r = run_may_start(server, err);
    if (r == 0)
        r = command_from_params(params, &command, err);
    if (r != 0)
        return r;

    struct server_run *run = calloc(1, sizeof *run);
    if (!run)
        abort();
    run->sandbox = sandbox;
    run->exec = exec;
    run->input_eof = exec || input;
    buf_init(&run->input, SIZE_MAX); /* INPUT_MAX is kept here and by run_give_input() */
    command.command.stdin_open = input || !exec;
    r = hutch_sandbox_start(sandbox->sandbox, &command.command, on_event, run, &run->run, err);
    if (r < 0) {
        free_run(run);
        /* More are starting than the sandbox has taken note of: it will, and wake us. */
        return r == HUTCH_EBUSY && !sandbox_is_idle(sandbox) ? METHOD_LATER : r;
    }
    if (input)
        buf_add(&run->input, input, len);
    if (run->input.failed)
        abort();
    if (command.command.stdin_open)
        feed(run);
    run_add(server, run);
    *ret = run;
    return 0;
}

/* ---- Methods ---- */

int method_sandbox_exec(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_sandbox *sandbox;
    struct server_run *run;

    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = server_may_wait(server, err);
    if (r == 0)
        r = start(server, sandbox, call->params, true, &run, err);
    if (r == 0)
        server_wait(server, call,
                    &(struct server_waiter){.kind = WAIT_EXEC, .sandbox = sandbox, .run = run});
    return r;
}

int method_sandbox_start(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_sandbox *sandbox;
    struct server_run *run;

    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = start(server, sandbox, call->params, false, &run, err);
    if (r == 0)
        answer_json(&server->outbox, call->id, json_pack("{s:I}", "run", (json_int_t)run->id));
    return r;
}

int run_give_input(struct server_run *run, const json_t *params, struct hutch_error *err)
{
    str_auto char *held = NULL;
    const char *data;
    size_t len;

    int r = params_bytes(params, "data", &data, &len, &held, err);
    if (r != 0)
        return r;
    if (run->input_eof)
        return err_set(err, HUTCH_ESTATE, "/run", "run %" PRIu32 " gets no more input", run->id);
    if (run->input.len - run->input_sent + len > INPUT_MAX)
        return refuse_input("/data", "the command has not read what came before", err);
    buf_add(&run->input, data, len);
    if (run->input.failed)
        abort();
    run->input_eof = params_bool(params, "eof");
    feed(run);
    return 0;
}

int method_sandbox_write(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_run *run;

    int r = find_going_on(server, call->params, &run, err);
    if (r == 0)
        r = run_give_input(run, call->params, err);
    if (r == 0)
        answer_done(&server->outbox, call->id);
    return r;
}

int method_sandbox_signal(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_run *run;

    int r = find_going_on(server, call->params, &run, err);
    if (r == 0)
        r = hutch_run_signal(run->run, params_signal(call->params, "signal"), err);
    if (r == 0)
        answer_done(&server->outbox, call->id);
    return r;
}

int method_sandbox_resize(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_run *run;

    int r = find_going_on(server, call->params, &run, err);
    if (r == 0)
        r = hutch_run_resize(run->run, (uint16_t)params_count(call->params, "rows", 0),
                             (uint16_t)params_count(call->params, "cols", 0), err);
    if (r == 0)
        answer_done(&server->outbox, call->id);
    return r;
}
