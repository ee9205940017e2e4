/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

static int refuse(struct hutch_error *err, int code, const char *where, const char *text)
{
    err_set(err, HUTCH_EINVALID, where, "%s", text);
    return code;
}

/* Whether there are more values than anybody needs; those in strings are none. */
static bool has_too_many_values(const char *line, size_t len)
{
    size_t count = 0;
    bool quoted = false;

    for (size_t i = 0; i < len && count <= MESSAGE_VALUES_MAX; i++) {
        char c = line[i];

        if (c == '"')
            quoted = !quoted;
        else if (quoted && c == '\\')
            i++;
        else if (!quoted && (c == '[' || c == '{' || c == ','))
            count++;
    }
    return count > MESSAGE_VALUES_MAX;
}

static int parse(const char *line, size_t len, json_t **ret, struct hutch_error *err)
{
    size_t blank = 0;

    while (blank < len && strchr(" \t\r", line[blank]))
        blank++;
    if (blank < len && line[blank] == '[')
        return refuse(err, RPC_REQUEST, "", "a message must be an object; there are no batches");
    if (has_too_many_values(line, len))
        return refuse(err, RPC_REQUEST, "", "a message has too many values");

    int r = json_parse_object(line, len, MESSAGE_MAX, "line", ret, err);
    if (r == HUTCH_EPOLICY)
        err->code = HUTCH_EINVALID;
    return r < 0 ? RPC_PARSE : 0;
}

char *message_id(const json_t *value)
{
    if (!json_is_string(value) && !json_is_number(value))
        return NULL;
    if (json_string_length(value) > MESSAGE_ID_MAX)
        return NULL;

    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (!text)
        abort();
    return text;
}

/* Where the last member that is all there ends: at the last comma that is in no string and no value. */
static size_t whole_members(const char *line, size_t len)
{
    size_t depth = 0, end = 0;
    bool quoted = false;

    for (size_t i = 0; i < len; i++) {
        char c = line[i];

        if (c == '"')
            quoted = !quoted;
        else if (quoted && c == '\\')
            i++;
        else if (!quoted && (c == '[' || c == '{'))
            depth++;
        else if (!quoted && (c == ']' || c == '}') && depth > 0)
            depth--;
        else if (!quoted && c == ',' && depth == 1)
            end = i;
    }
    return end;
}

char *message_early_id(const char *line, size_t len)
{
    char head[MESSAGE_HEAD + 1];
    json_auto_ref json_t *root = NULL;

    len = whole_members(line, len < MESSAGE_HEAD ? len : MESSAGE_HEAD);
    memcpy(head, line, len);
    head[len++] = '}';
    /* What was found is a guess until it has been read as any message is. */
    if (json_parse_object(head, len, sizeof head, "line", &root, NULL) < 0)
        return NULL;
    return message_id(json_object_get(root, "id"));
}

static int read_id(struct message *message, struct hutch_error *err)
{
    json_t *id = json_object_get(message->root, "id");

    message->id = id ? message_id(id) : NULL;
    if (!id || message->id)
        return 0;
    return refuse(err, RPC_REQUEST, "/id", "an id must be a number or a string of 256 bytes");
}

static int refuse_members(const json_t *root, struct hutch_error *err)
{
    static const char *const known[] = {"jsonrpc", "id", "method", "params"};
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)root, name, value)
    {
        char where[sizeof err->where] = "";
        size_t i = 0;

        while (i < ARRAY_LEN(known) && !str_eq(known[i], name))
            i++;
        if (i < ARRAY_LEN(known))
            continue;
        json_pointer_push(where, sizeof where, name);
        return refuse(err, RPC_REQUEST, where, "a request has no such member");
    }
    return 0;
}

static int read_members(struct message *message, struct hutch_error *err)
{
    const char *version = json_string_value(json_object_get(message->root, "jsonrpc"));

    int r = read_id(message, err); /* first, so that what else is wrong can be answered */
    if (r == 0)
        r = refuse_members(message->root, err);
    if (r < 0)
        return r;
    if (!version || !str_eq(version, "2.0"))
        return refuse(err, RPC_REQUEST, "/jsonrpc", "must be \"2.0\"");
    message->method = json_string_value(json_object_get(message->root, "method"));
    if (!message->method)
        return refuse(err, RPC_REQUEST, "/method", "must be the name of a method");
    message->params = json_object_get(message->root, "params");
    if (message->params && !json_is_object(message->params))
        return refuse(err, RPC_PARAMS, "/params", "must be an object");
    return 0;
}

int message_read(const char *line, size_t len, struct message *ret, struct hutch_error *err)
{
    *ret = (struct message){0};

    int r = parse(line, len, &ret->root, err);
    return r < 0 ? r : read_members(ret, err);
}

void message_clear(struct message *message)
{
    json_decref(message->root);
    free(message->id);
    *message = (struct message){0};
}
