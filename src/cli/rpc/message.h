/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a client as a JSON-RPC 2.0 request. */
#pragma once

#include <stddef.h>

#include <hutch.h>
#include <jansson.h>

/* The numbers of JSON-RPC errors. RPC_FAILED is ours: the call was understood and did not work. */
enum rpc_code {
    RPC_PARSE = -32700,
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_FAILED = -32000,
};

enum {
    MESSAGE_MAX = 32 << 20, /* bytes of a line */
    MESSAGE_HEAD = 4096,    /* so much of a longer one is looked at for its id */
    MESSAGE_VALUES_MAX =
        100000,           /* a small value on the wire takes a hundred times that in memory */
    MESSAGE_ID_MAX = 256, /* bytes of an id; it is kept while its request waits */
};

struct message {
    json_t *root;
    char *id;           /* as JSON; NULL: a notification, which gets no answer */
    const char *method; /* of root */
    json_t *params;     /* of root, an object; NULL: none */
};

/*
 * Read a request. Returns 0 or an enum rpc_code. After a failure ret->id is that of the request, as
 * far as it could be told. Clear *ret in any case.
 */
int message_read(const char *line, size_t len, struct message *ret, struct hutch_error *err);
void message_clear(struct message *message);

#define message_auto __attribute__((cleanup(message_clear)))

/* A request's id, a string or a number, as JSON. NULL when it is something else or too long. */
char *message_id(const json_t *value);

/* The id of a line that is not all there, from its first `len` bytes. NULL when they do not tell. */
char *message_early_id(const char *line, size_t len);
