/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what a client of `hutch rpc` sends: cut into lines, read as requests, checked against the
 * table of methods. What is refused must have an answer that is one line of JSON; nothing is run. The first
 * byte says how much arrives at a time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/command.h"
#include "cli/rpc/lines.h"
#include "cli/rpc/message.h"
#include "cli/rpc/methods.h"
#include "cli/rpc/outbox.h"

enum { LINE_MOST = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

/* One line, JSON, with the id of the request. */
static void check_answer(const struct outbox *outbox, const char *id)
{
    const char *text = outbox->buf.data;
    size_t len = outbox->buf.len;

    require(len > 0 && memchr(text, '\n', len) == text + len - 1);
    json_auto_ref json_t *answer = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    json_t *error = json_object_get(answer, "error");
    str_auto char *got = json_dumps(json_object_get(answer, "id"),
                                    JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

    require(error && got && str_eq(got, id));
    require(json_integer_value(json_object_get(error, "code")) <= RPC_FAILED);
    require(json_is_string(json_object_get(json_object_get(error, "data"), "code")));
}

static int check_call(const struct message *message, struct hutch_error *err)
{
    const struct method *method = method_find(message->method);
    command_auto struct command command = {0};

    int r = method ? params_check(method->params, message->params, err) : 0;
    if (r == 0 && method && method->params->name[0] && str_starts(method->name, "sandbox.s"))
        r = command_from_params(message->params, &command, err);
    return r;
}

static void take_line(const char *line, size_t len)
{
    message_auto struct message message;
    struct hutch_error err = {0};
    struct outbox outbox;

    int r = message_read(line, len, &message, &err);
    if (r == 0)
        r = check_call(&message, &err);
    if (r == 0)
        return;
    const char *id = message.id ? message.id : "null";
    outbox_init(&outbox, -1);
    answer_error(&outbox, id, r, &err);
    check_answer(&outbox, id);
    outbox_clear(&outbox);
}

/* An id is one that an answer can have. */
static void take_head(const char *line, size_t len)
{
    str_auto char *id = message_early_id(line, len);
    struct outbox outbox;

    if (!id)
        return;
    outbox_init(&outbox, -1);
    answer_error(&outbox, id, RPC_REQUEST, &(struct hutch_error){.code = HUTCH_EINVALID});
    check_answer(&outbox, id);
    outbox_clear(&outbox);
}

static void take_lines(struct lines *lines)
{
    enum lines_next next;
    const char *line;
    size_t len;

    while ((next = lines_next(lines, &line, &len)) != LINES_NONE) {
        if (next == LINES_TOO_LONG) {
            take_head(line, len);
            continue;
        }
        require(len <= LINE_MOST && (len == 0 || !memchr(line, '\n', len)));
        take_line(line, len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lines lines;

    if (size < 1)
        return 0;
    size_t step = 1 + (size_t)data[0] * 64;
    lines_init(&lines, LINE_MOST);
    for (size_t i = 1; i < size; i += step) {
        lines_add(&lines, (const char *)data + i, size - i < step ? size - i : step);
        take_lines(&lines);
    }
    lines_finish(&lines);
    take_lines(&lines);
    lines_clear(&lines);
    return 0;
}
