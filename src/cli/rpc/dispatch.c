/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/server.h"

#include "base/err.h"
#include "base/str.h"
#include "base/suggest.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/message.h"
#include "cli/rpc/methods.h"

static int unknown_method(const char *name, struct hutch_error *err)
{
    struct suggest suggest;

    suggest_init(&suggest, name);
    for (const struct method *row = methods; row->name; row++)
        suggest_offer(&suggest, row->name);
    const char *nearest = suggest_best(&suggest);

    if (nearest)
        err_set(err, HUTCH_EUNSUPPORTED, "/method", "no method '%s' (did you mean '%s'?)", name,
                nearest);
    else
        err_set(err, HUTCH_EUNSUPPORTED, "/method", "no method '%s'", name);
    return RPC_METHOD;
}

/* Two requests with one id could not be told apart, neither here nor by the client. */
static int check_id(const struct server *server, const char *id, struct hutch_error *err)
{
    if (!id || !server_find_waiter(server, id))
        return 0;
    err_set(err, HUTCH_EINVALID, "/id", "a request with this id is not answered yet");
    return RPC_REQUEST;
}

static int call_method(struct server *server, const struct call *call, const char *name,
                       bool turn_has_come, struct hutch_error *err)
{
    const struct method *method = method_find(name);

    if (!method)
        return unknown_method(name, err);
    int r = check_id(server, call->id, err);
    if (r == 0)
        r = params_check(method->params, call->params, err);
    if (r < 0)
        return r;
    struct server_sandbox *sandbox = server_sandbox_of(server, call->params);
    if (!turn_has_come && !method->any_time && !turn_is_now(server, sandbox, method->file))
        return turn_wait(server, call, sandbox, method->file, err);
    return method->file ? server_begin_file(server, call, method->file, err)
                        : method->run(server, call, err);
}

bool server_dispatch(struct server *server, const char *line, size_t len, bool turn_has_come)
{
    message_auto struct message message;
    struct hutch_error err = {0};
    const char *id;

    int r = message_read(line, len, &message, &err);
    /* What could not be read might have been a request: somebody may wait for its answer. */
    id = r < 0 && !message.id ? "null" : message.id;
    if (r == 0) {
        const struct call call = {
            .id = message.id, .params = message.params, .line = line, .line_len = len};

        r = call_method(server, &call, message.method, turn_has_come, &err);
    }
    if (r < 0)
        answer_error(&server->outbox, id, r, &err);
    return r != METHOD_LATER;
}

/* ---- Methods about requests and the server itself ---- */

int method_cancel(struct server *server, const struct call *call, struct hutch_error *err)
{
    str_auto char *id = message_id(params_get(call->params, "id"));
    struct server_waiter *waiter = id ? server_find_waiter(server, id) : NULL;

    if (!waiter)
        return err_set(err, HUTCH_ENOTFOUND, "/id", "no request with this id waits for an answer");
    if (waiter->kind == WAIT_CLOSE || waiter->kind == WAIT_SHELL_CLOSE)
        return err_set(err, HUTCH_ESTATE, "/id", "closing cannot be cancelled");
    if (waiter->kind == WAIT_FILE)
        return err_set(err, HUTCH_ESTATE, "/id", "a call about files that has begun goes on");
    waiter->deadline_ms = 0;
    waiter->cancelled = true;
    if (waiter->kind == WAIT_EXEC && !waiter->run->over) {
        int r = hutch_run_cancel(waiter->run->run, err);
        if (r < 0)
            return r;
    }
    answer_done(&server->outbox, call->id);
    return 0;
}

int method_server_info(struct server *server, const struct call *call, struct hutch_error *err)
{
    json_t *names = json_array();

    for (const struct method *row = methods; row->name; row++)
        json_array_append_new(names, json_string(row->name));
    answer_json(&server->outbox, call->id,
                json_pack("{s:s, s:s, s:o}", "name", "hutch", "version", hutch_version(), "methods",
                          names));
    return 0;
}
