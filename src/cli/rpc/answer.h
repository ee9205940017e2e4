/* SPDX-License-Identifier: Apache-2.0 */
/* Everything the server says, as lines in its outbox. An `id` is JSON text; NULL: nobody waits. */
#pragma once

#include <hutch.h>
#include <jansson.h>

struct outbox;

/* `result` is one line of JSON. */
void answer_text(struct outbox *outbox, const char *id, const char *result);

/* The same; takes `result`. */
void answer_json(struct outbox *outbox, const char *id, json_t *result);

/* The text of a result, on one line. Takes `result`; the caller owns what it gets. Any thread. */
char *answer_dump(json_t *result);

/* {} */
void answer_done(struct outbox *outbox, const char *id);

/*
 * `code` is an enum rpc_code, or what a function of hutch.h returned. The id of a message that could
 * not be read is "null".
 */
void answer_error(struct outbox *outbox, const char *id, int code, const struct hutch_error *err);

/* An error that is a part of an answer: {code, where, errno, message}. */
json_t *answer_error_json(const struct hutch_error *err);

/* A notification `event` with the JSON of one. */
void answer_event(struct outbox *outbox, const char *event);
