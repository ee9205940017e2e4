/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/rpc/answer.h"

#include "base/err.h"
#include "base/str.h"
#include "cli/rpc/message.h"
#include "cli/rpc/outbox.h"

static void expect(struct outbox *outbox, const char *want)
{
    assert_string_equal(outbox->buf.data ? outbox->buf.data : "", want);
    outbox_clear(outbox);
}

static void answers_are_lines(void **state)
{
    struct outbox outbox;
    struct hutch_error err;

    outbox_init(&outbox, -1);
    answer_done(&outbox, "7");
    expect(&outbox, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
    answer_text(&outbox, "\"x\"", "[1]");
    expect(&outbox, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":[1]}\n");
    answer_json(&outbox, "1", json_pack("{s:s}", "a", "line\n"));
    expect(&outbox, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"line\\n\"}}\n");
    answer_event(&outbox, "{\"type\":\"t\"}");
    expect(&outbox, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"type\":\"t\"}}\n");

    err_set(&err, HUTCH_EPOLICY, "policy:/limits", "bad '\xff'");
    answer_error(&outbox, "null", HUTCH_EPOLICY, &err);
    expect(&outbox, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":"
                    "\"bad '\\\\xff'\",\"data\":{\"code\":\"invalid\",\"where\":"
                    "\"policy:/limits\",\"errno\":null}}}\n");
    outbox_clear(&outbox);
}

static void notifications_get_none(void **state)
{
    struct outbox outbox;
    struct hutch_error err;

    outbox_init(&outbox, -1);
    err_set(&err, HUTCH_EINVALID, "", "no");
    answer_done(&outbox, NULL);
    answer_json(&outbox, NULL, json_object());
    answer_error(&outbox, NULL, RPC_PARAMS, &err);
    assert_int_equal(outbox_len(&outbox), 0);
    outbox_clear(&outbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_lines),
        cmocka_unit_test(notifications_get_none),
    };

    return cmocka_run_group_tests_name("rpc answer", tests, NULL, NULL);
}
