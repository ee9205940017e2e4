/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.poll: output and end of a command that was started. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/message.h"
#include "cli/rpc/params.h"
#include "cli/rpc/server.h"

bool poll_is_ready(const struct server_waiter *waiter)
{
    const struct server_run *run = waiter->run;

    return run->over || run->backlog.end > waiter->cursor || server_now_ms() >= waiter->deadline_ms;
}

static bool is_awaited(const struct server *server, const struct server_run *run)
{
    for (const struct server_waiter *waiter = server->waiters; waiter; waiter = waiter->next) {
        if (waiter->run == run)
            return true;
    }
    return false;
}

/* Its end has been told. It can be asked about again for a while, then makes room. */
static void collect(struct server *server, struct server_run *run)
{
    struct server_run *oldest = NULL;
    size_t count = 0;

    run->collected = true;
    for (struct server_run *row = run->sandbox->runs; row; row = row->next) {
        if (!row->collected || is_awaited(server, row))
            continue; /* as is this one still */
        oldest = oldest ? oldest : row;
        count++;
    }
    if (count >= COLLECTED_MAX)
        run_drop(server, oldest);
}

/* The result goes in as the library wrote it. */
static void put_answer(struct server *server, const char *id, json_t *answer, const char *result)
{
    buf_auto struct buf line;
    str_auto char *text = json_dumps(answer, JSON_COMPACT);

    if (!text)
        abort();
    json_decref(answer);
    buf_init(&line, SIZE_MAX);
    buf_puts(&line, text);
    if (result) {
        line.len--; /* the closing brace */
        buf_puts(&line, ",\"result\":");
        buf_puts(&line, result);
        buf_puts(&line, "}");
    }
    if (line.failed)
        abort();
    answer_text(&server->outbox, id, line.data);
}

void poll_answer(struct server *server, const struct server_waiter *waiter)
{
    struct server_run *run = waiter->run;
    str_auto char *result = NULL;
    uint64_t next, dropped;
    struct hutch_error err = run->error;

    json_t *output = backlog_from(&run->backlog, waiter->cursor, POLL_BYTES, &next, &dropped);
    bool done = run->over && next == run->backlog.end;
    int r = !done ? 0 : run->result ? hutch_result_to_json(run->result, &result, &err) : err.code;
    if (r < 0) {
        json_decref(output);
        answer_error(&server->outbox, waiter->id, r, &err);
    } else {
        json_t *answer = json_pack("{s:o, s:I, s:b}", "output", output, "cursor", (json_int_t)next,
                                   "done", done);
        if (dropped)
            json_object_set_new(answer, "dropped", json_integer((json_int_t)dropped));
        put_answer(server, waiter->id, answer, result);
    }
    if (done)
        collect(server, run);
}

int method_sandbox_poll(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct server_waiter waiter = {
        .kind = WAIT_POLL,
        .cursor = params_count(call->params, "cursor", 0),
        .deadline_ms = server_now_ms() + params_count(call->params, "wait_ms", 0),
    };

    int r = server_find_run(server, call->params, &waiter.run, err);
    if (r != 0)
        return r;
    waiter.sandbox = waiter.run->sandbox;
    if (waiter.run->exec)
        return err_set(err, HUTCH_ESTATE, "/run",
                       "the output of run %" PRIu32 " comes with the answer of sandbox.exec",
                       waiter.run->id);
    if (waiter.cursor > waiter.run->backlog.end) {
        err_set(err, HUTCH_EINVALID, "/cursor", "there is no output so far: the end is %" PRIu64,
                waiter.run->backlog.end);
        return RPC_PARAMS;
    }
    r = server_may_wait(server, err);
    if (r == 0)
        server_wait(server, call, &waiter);
    return r;
}
