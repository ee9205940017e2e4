/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about files, which go on beside the loop, and the requests that must not overtake them. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/server.h"

/* ---- Requests that wait to begin ---- */

bool turn_has_room(const struct server *server)
{
    return server->turns_bytes < TURNS_BYTES;
}

/* The oldest request that waits for its turn in a sandbox. */
static const struct server_waiter *first_in(const struct server *server,
                                            const struct server_sandbox *sandbox)
{
    const struct server_waiter *waiter = server->waiters;

    while (waiter && (waiter->kind != WAIT_TURN || waiter->sandbox != sandbox))
        waiter = waiter->next;
    return waiter;
}

static bool is_free(const struct server *server, const struct server_sandbox *sandbox, bool file)
{
    return !sandbox->file_call && (!file || server->file_count < FILE_CALLS_MAX);
}

bool turn_is_now(const struct server *server, const struct server_sandbox *sandbox, bool file)
{
    return !sandbox || (is_free(server, sandbox, file) && !first_in(server, sandbox));
}

int turn_wait(struct server *server, const struct call *call, struct server_sandbox *sandbox,
              bool file, struct hutch_error *err)
{
    int r = server_may_wait(server, err);
    if (r < 0)
        return r;
    struct server_waiter waiter = {
        .kind = WAIT_TURN,
        .sandbox = sandbox,
        .line = malloc(call->line_len + 1),
        .line_len = call->line_len,
        .file = file,
    };
    if (!waiter.line)
        abort();
    memcpy(waiter.line, call->line, call->line_len);
    server_wait(server, call, &waiter);
    server->turns_bytes += call->line_len;
    return 0;
}

static void answer_cancelled(struct server *server, const struct server_waiter *waiter)
{
    struct hutch_error err;

    int r = err_set(&err, HUTCH_ESTATE, "", "the request was cancelled before it began");
    answer_error(&server->outbox, waiter->id, r, &err);
}

bool turn_settle(struct server *server, struct server_waiter **link)
{
    struct server_waiter *waiter = *link;

    if (waiter->cancelled) {
        answer_cancelled(server, waiter);
        server_free_waiter(server, link);
        return true;
    }
    if (!is_free(server, waiter->sandbox, waiter->file) ||
        first_in(server, waiter->sandbox) != waiter)
        return false;
    /* Out of the list meanwhile, where its own id would be in its way. */
    *link = waiter->next;
    server->waiter_count--;
    bool begun = server_dispatch(server, waiter->line, waiter->line_len, true);
    waiter->next = *link;
    *link = waiter;
    server->waiter_count++;
    server->retry |= !begun;
    if (begun)
        server_free_waiter(server, link);
    return begun;
}

/* ---- Calls about files ---- */

int server_begin_file(struct server *server, const struct call *call, file_fn *fn,
                      struct hutch_error *err)
{
    struct server_sandbox *sandbox;

    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = server_may_wait(server, err);
    if (r != 0)
        return r;
    /* It begins in file_settle(), when nobody else holds the parameters any more. */
    sandbox->file_call = file_call_new(fn, sandbox->sandbox, call->params);
    server->file_count++;
    server_wait(server, call, &(struct server_waiter){.kind = WAIT_FILE, .sandbox = sandbox});
    return 0;
}

bool server_has_files(const struct server *server)
{
    return server->file_count > 0 || server->turns_bytes > 0;
}

/* Wait for its end, and tell what it had to tell. */
static void tell(struct server_sandbox *sandbox)
{
    file_call_finish(sandbox->file_call);
    for (const struct file_event *event = sandbox->file_call->events; event; event = event->next)
        notify_event(sandbox, &event->event);
}

static void forget(struct server *server, struct server_sandbox *sandbox)
{
    file_call_free(sandbox->file_call);
    sandbox->file_call = NULL;
    server->file_count--;
}

void server_free_file(struct server *server, struct server_sandbox *sandbox)
{
    if (!sandbox->file_call)
        return;
    tell(sandbox);
    forget(server, sandbox);
}

bool file_settle(struct server *server, const struct server_waiter *waiter)
{
    struct file_call *call = waiter->sandbox->file_call;

    if (!call->worker && !call->over)
        file_call_begin(call, &server->workers);
    if (!file_call_is_over(call))
        return false;
    tell(waiter->sandbox);
    if (call->r == 0)
        answer_text(&server->outbox, waiter->id, call->answer);
    else
        answer_error(&server->outbox, waiter->id, call->r, &call->error);
    forget(server, waiter->sandbox);
    return true;
}
