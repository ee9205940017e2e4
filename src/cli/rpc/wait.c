/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are answered when something has happened. */
#include "cli/rpc/server.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/message.h"

int server_may_wait(const struct server *server, struct hutch_error *err)
{
    if (server->waiter_count < WAITERS_MAX)
        return 0;
    return err_set(err, HUTCH_EBUSY, "", "%d requests wait already", WAITERS_MAX);
}

/* The waiter and the id are copied. */
void server_wait(struct server *server, const struct call *call, const struct server_waiter *waiter)
{
    struct server_waiter **end = &server->waiters;
    struct server_waiter *added = malloc(sizeof *added);
    char *id = call->id ? strdup(call->id) : NULL;
    if (!added || (call->id && !id))
        abort();
    *added = *waiter;
    added->id = id;
    added->next = NULL;
    while (*end)
        end = &(*end)->next;
    *end = added;
    server->waiter_count++;
}

void server_free_waiter(struct server *server, struct server_waiter **link)
{
    struct server_waiter *waiter = *link;

    *link = waiter->next;
    server->waiter_count--;
    server->turns_bytes -= waiter->line_len;
    free(waiter->line);
    free(waiter->id);
    free(waiter);
}

void server_free_waiters(struct server *server)
{
    while (server->waiters)
        server_free_waiter(server, &server->waiters);
}

struct server_waiter *server_find_waiter(const struct server *server, const char *id)
{
    for (struct server_waiter *waiter = server->waiters; waiter; waiter = waiter->next) {
        if (waiter->id && str_eq(waiter->id, id))
            return waiter;
    }
    return NULL;
}

int server_wait_timeout(const struct server *server)
{
    uint64_t now = server_now_ms(), first = UINT64_MAX;

    for (const struct server_waiter *waiter = server->waiters; waiter; waiter = waiter->next) {
        bool timed = waiter->kind == WAIT_POLL || waiter->kind == WAIT_SHELL_READ;

        if (timed && waiter->deadline_ms < first)
            first = waiter->deadline_ms;
    }
    if (first == UINT64_MAX)
        return -1;
    if (first <= now)
        return 0;
    return first - now < INT_MAX ? (int)(first - now) : INT_MAX;
}

static void answer_exec(struct server *server, const struct server_waiter *waiter)
{
    const struct server_run *run = waiter->run;
    str_auto char *json = NULL;
    struct hutch_error err = run->error;

    int r = run->result ? hutch_result_to_json(run->result, &json, &err) : err.code;
    if (r == 0)
        answer_text(&server->outbox, waiter->id, json);
    else
        answer_error(&server->outbox, waiter->id, r, &err);
}

/* A closing sandbox goes when nobody asks about its runs any more. */
static bool settle_close(struct server *server, struct server_waiter *waiter)
{
    for (struct server_waiter *other = server->waiters; other; other = other->next) {
        if (other != waiter && other->sandbox == waiter->sandbox)
            return false;
    }
    if (!sandbox_is_idle(waiter->sandbox))
        return false;
    server_free_sandbox(server, waiter->sandbox);
    answer_done(&server->outbox, waiter->id);
    return true;
}

/* A closing shell goes when its command has been answered, and so has who reads from it. */
static bool settle_shell_close(struct server *server, struct server_waiter *waiter)
{
    struct server_shell *shell = waiter->shell;

    for (struct server_waiter *other = server->waiters; other; other = other->next) {
        if (other != waiter && (other->shell == shell || (other->run && other->run == shell->run)))
            return false;
    }
    if (shell->run && !shell->run->over)
        return false;
    if (shell->run)
        run_drop(server, shell->run);
    server_free_shell(shell);
    answer_done(&server->outbox, waiter->id);
    return true;
}

/* Answer it if that is possible now. */
static bool answer(struct server *server, struct server_waiter *waiter)
{
    switch (waiter->kind) {
    case WAIT_EXEC:
        if (!waiter->run->over)
            return false;
        if (waiter->run->shell)
            shell_exec_answer(server, waiter);
        else
            answer_exec(server, waiter);
        run_drop(server, waiter->run);
        return true;
    case WAIT_POLL:
        if (!poll_is_ready(waiter))
            return false;
        poll_answer(server, waiter);
        return true;
    case WAIT_SHELL_READ:
        if (!shell_read_is_ready(waiter))
            return false;
        shell_read_answer(server, waiter);
        return true;
    case WAIT_SHELL_CLOSE: return settle_shell_close(server, waiter);
    case WAIT_FILE: return file_settle(server, waiter);
    case WAIT_TURN:
    case WAIT_CLOSE: break;
    }
    return settle_close(server, waiter);
}

/* Returns whether *link is out of the list. */
static bool settle(struct server *server, struct server_waiter **link)
{
    if ((*link)->kind == WAIT_TURN)
        return turn_settle(server, link);
    if (!answer(server, *link))
        return false;
    server_free_waiter(server, link);
    return true;
}

void server_settle(struct server *server)
{
    bool changed = true;

    server->retry = false;
    /* Again, since what is answered late in the list may be what an earlier one waits for. */
    while (changed) {
        changed = false;
        for (struct server_waiter **link = &server->waiters; *link && !server_is_full(server);) {
            if (settle(server, link))
                changed = true;
            else
                link = &(*link)->next;
        }
    }
}
