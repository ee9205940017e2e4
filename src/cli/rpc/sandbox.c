/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/params.h"
#include "cli/rpc/server.h"

/* What a call about files has written it tells on its own thread; it is told when that is over. */
static void on_event(void *arg, const struct hutch_event *event)
{
    struct server_sandbox *sandbox = arg;

    if (event->type == HUTCH_EVENT_FILE_WRITTEN)
        file_call_note(sandbox->file_call, event);
    else
        notify_event(sandbox, event);
}

static bool has_shell(const struct server_sandbox *sandbox, const char *id)
{
    const struct server_shell *shell = sandbox->shells;

    while (shell && !str_eq(shell->id, id))
        shell = shell->next;
    return shell;
}

struct server_sandbox *server_sandbox_of(const struct server *server, const json_t *params)
{
    const char *id = params_string(params, "sandbox"), *shell = params_string(params, "shell");
    struct server_sandbox *row = server->sandboxes;

    while (row && !(id && str_eq(row->info.id, id)) && !(shell && has_shell(row, shell)))
        row = row->next;
    return row;
}

int server_find_sandbox(struct server *server, const json_t *params, struct server_sandbox **ret,
                        struct hutch_error *err)
{
    const char *id = params_string(params, "sandbox");

    for (struct server_sandbox *row = server->sandboxes; row; row = row->next) {
        if (!str_eq(row->info.id, id))
            continue;
        if (row->closing) {
            err_set(err, HUTCH_ESTATE, "/sandbox", "sandbox '%s' is being closed", id);
            return HUTCH_ESTATE;
        }
        *ret = row;
        return 0;
    }
    err_set(err, HUTCH_ENOTFOUND, "/sandbox", "no sandbox '%s'", id);
    return HUTCH_ENOTFOUND;
}

bool sandbox_is_idle(const struct server_sandbox *sandbox)
{
    for (const struct server_run *run = sandbox->runs; run; run = run->next) {
        if (!run->over)
            return false;
    }
    return true;
}

void server_free_sandbox(struct server *server, struct server_sandbox *sandbox)
{
    struct server_sandbox **link = &server->sandboxes;

    while (*link != sandbox)
        link = &(*link)->next;
    while (sandbox->runs)
        run_drop(server, sandbox->runs);
    while (sandbox->shells)
        server_free_shell(sandbox->shells);
    server_free_file(server, sandbox);
    /* Still in the list, and with its id: the library says that it has stopped. */
    hutch_sandbox_close(sandbox->sandbox);
    *link = sandbox->next;
    server->sandbox_count--;
    free(sandbox);
}

/* ---- Methods ---- */

static int open_sandbox(struct server_sandbox *sandbox, const json_t *params,
                        struct hutch_error *err)
{
    struct hutch_policy *policy;

    int r = policy_from_params(params, &policy, err);
    if (r != 0)
        return r;
    r = hutch_sandbox_open(policy, on_event, sandbox, &sandbox->sandbox, err);
    hutch_policy_free(policy);
    if (r == 0)
        r = hutch_sandbox_info(sandbox->sandbox, &sandbox->info, err);
    return r;
}

int method_sandbox_open(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_sandbox **end = &server->sandboxes;

    if (server->sandbox_count >= SANDBOXES_MAX)
        return err_set(err, HUTCH_EBUSY, "", "%d sandboxes are open already", SANDBOXES_MAX);

    struct server_sandbox *sandbox = calloc(1, sizeof *sandbox);
    if (!sandbox)
        abort();
    sandbox->server = server;
    sandbox->info.size = sizeof sandbox->info;
    int r = open_sandbox(sandbox, call->params, err);
    if (r < 0) {
        hutch_sandbox_close(sandbox->sandbox);
        free(sandbox);
        return r;
    }
    while (*end)
        end = &(*end)->next;
    *end = sandbox;
    server->sandbox_count++;
    answer_json(&server->outbox, call->id,
                json_pack("{s:s, s:o, s:s}", "sandbox", sandbox->info.id, "enforced",
                          json_facts(sandbox->info.enforced), "cwd", sandbox->info.cwd));
    return 0;
}

static json_t *runs_json(const struct server_sandbox *sandbox)
{
    json_t *list = json_array();

    for (const struct server_run *run = sandbox->runs; run; run = run->next)
        json_array_append_new(list, json_pack("{s:I, s:s}", "run", (json_int_t)run->id, "state",
                                              run->over ? "ended" : "running"));
    return list;
}

static json_t *info_json(struct server_sandbox *sandbox)
{
    struct hutch_sandbox_info *info = &sandbox->info;

    hutch_sandbox_info(sandbox->sandbox, info, NULL);
    return json_pack("{s:s, s:s, s:o, s:o, s:b, s:o}", "sandbox", info->id, "cwd", info->cwd,
                     "enforced", json_facts(info->enforced), "setup_ms",
                     json_steps(info->setup, info->setup_total_ms), "gone", info->gone, "runs",
                     runs_json(sandbox));
}

int method_sandbox_info(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_sandbox *sandbox;

    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        answer_json(&server->outbox, call->id, info_json(sandbox));
    return r;
}

int method_sandbox_list(struct server *server, const struct call *call, struct hutch_error *err)
{
    json_t *list = json_array();

    for (struct server_sandbox *row = server->sandboxes; row; row = row->next)
        json_array_append_new(list, info_json(row));
    answer_json(&server->outbox, call->id, json_pack("{s:o}", "sandboxes", list));
    return 0;
}

int method_sandbox_close(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_sandbox *sandbox;

    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = server_may_wait(server, err);
    if (r != 0)
        return r;
    server_wait(server, call, &(struct server_waiter){.kind = WAIT_CLOSE, .sandbox = sandbox});
    sandbox->closing = true;
    for (struct server_run *run = sandbox->runs; run; run = run->next) {
        /* Nobody waits for one that cannot be cancelled: it is killed with the sandbox. */
        if (!run->over && hutch_run_cancel(run->run, &run->error) < 0)
            run->over = true;
    }
    return 0;
}
