/* SPDX-License-Identifier: Apache-2.0 */
/* Events to the client, as far as it has subscribed to them, and to the audit log. */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/message.h"
#include "cli/rpc/params.h"
#include "cli/rpc/server.h"

unsigned notify_bit(const char *type)
{
    const char *name;

    for (unsigned i = HUTCH_EVENT_SANDBOX_STARTED;
         !str_eq(name = hutch_event_name((enum hutch_event_type)i), "unknown"); i++) {
        if (str_eq(name, type))
            return 1U << i;
    }
    return 0;
}

static bool is_wanted(const struct server_sandbox *sandbox, enum hutch_event_type type)
{
    return (sandbox->subscribed | sandbox->server->subscribed) >> type & 1;
}

bool notify_wants_output(const struct server_sandbox *sandbox)
{
    return is_wanted(sandbox, HUTCH_EVENT_RUN_OUTPUT);
}

void notify_event(struct server_sandbox *sandbox, const struct hutch_event *event)
{
    struct server *server = sandbox->server;
    str_auto char *json = NULL;

    if (events_wanted(&server->audit))
        events_write(&server->audit, event);
    if (!is_wanted(sandbox, event->type))
        return;
    if (event->type == HUTCH_EVENT_RUN_OUTPUT && outbox_len(&server->outbox) > OUTBOX_DROP) {
        server->dropped++;
        return;
    }
    if (hutch_event_to_json(event, &json, NULL) == 0)
        answer_event(&server->outbox, json);
}

void notify_dropped(struct server *server)
{
    char event[96];

    snprintf(event, sizeof event, "{\"type\":\"events.dropped\",\"count\":%" PRIu64 "}",
             server->dropped);
    answer_event(&server->outbox, event);
    server->dropped = 0;
}

int method_events_subscribe(struct server *server, const struct call *call, struct hutch_error *err)
{
    const json_t *types = params_get(call->params, "types");
    unsigned subscribed = types ? 0 : ~0U;
    struct server_sandbox *sandbox = NULL;

    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        unsigned bit = notify_bit(type);

        if (!bit) {
            err_set(err, HUTCH_EINVALID, "/types", "no events are of type '%s'", type);
            return RPC_PARAMS;
        }
        subscribed |= bit;
    }
    if (params_get(call->params, "sandbox")) {
        int r = server_find_sandbox(server, call->params, &sandbox, err);
        if (r < 0)
            return r;
    }
    *(sandbox ? &sandbox->subscribed : &server->subscribed) = subscribed;
    answer_done(&server->outbox, call->id);
    return 0;
}
