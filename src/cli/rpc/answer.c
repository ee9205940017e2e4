/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "cli/rpc/message.h"
#include "cli/rpc/outbox.h"

static void put(struct outbox *outbox, const char *id, const char *kind, const char *json)
{
    outbox_puts(outbox, "{\"jsonrpc\":\"2.0\",\"id\":");
    outbox_puts(outbox, id);
    outbox_puts(outbox, ",\"");
    outbox_puts(outbox, kind);
    outbox_puts(outbox, "\":");
    outbox_puts(outbox, json);
    outbox_puts(outbox, "}\n");
}

char *answer_dump(json_t *result)
{
    char *text = result ? json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

    if (!text)
        abort();
    json_decref(result);
    return text;
}

void answer_text(struct outbox *outbox, const char *id, const char *result)
{
    if (id)
        put(outbox, id, "result", result);
}

void answer_json(struct outbox *outbox, const char *id, json_t *result)
{
    str_auto char *text = answer_dump(result);

    answer_text(outbox, id, text);
}

void answer_done(struct outbox *outbox, const char *id)
{
    answer_text(outbox, id, "{}");
}

static json_t *data_json(const struct hutch_error *err)
{
    json_t *data = json_object();

    json_object_set_new(data, "code", json_string(hutch_error_word(err)));
    json_object_set_new(data, "where", json_text_lossy(err->where));
    json_object_set_new(data, "errno", err->sys_errno ? json_integer(err->sys_errno) : json_null());
    return data;
}

json_t *answer_error_json(const struct hutch_error *err)
{
    json_t *object = data_json(err);

    json_object_set_new(object, "message", json_text_lossy(err->msg));
    return object;
}

void answer_error(struct outbox *outbox, const char *id, int code, const struct hutch_error *err)
{
    json_t *error = json_object();

    json_object_set_new(error, "code", json_integer(code > RPC_FAILED ? RPC_FAILED : code));
    json_object_set_new(error, "message", json_text_lossy(err->msg));
    json_object_set_new(error, "data", data_json(err));

    str_auto char *text = answer_dump(error);
    if (id)
        put(outbox, id, "error", text);
}

void answer_event(struct outbox *outbox, const char *event)
{
    outbox_puts(outbox, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":");
    outbox_puts(outbox, event);
    outbox_puts(outbox, "}\n");
}
