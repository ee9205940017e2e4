/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/rpc/message.h"

#include "base/buf.h"
#include "base/str.h"

#define CALL "\"jsonrpc\":\"2.0\",\"method\":\"m\""

static void reads_or_refuses(void **state)
{
    static const struct {
        const char *line;
        int want;
        const char *id;    /* NULL: none */
        const char *where; /* NULL: not looked at */
    } cases[] = {
        {"{" CALL "}", 0, NULL, NULL},
        {"{" CALL ",\"id\":1}", 0, "1", NULL},
        {"{" CALL ",\"id\":-7}", 0, "-7", NULL},
        {"{" CALL ",\"id\":\"a b\"}", 0, "\"a b\"", NULL},
        {"{" CALL ",\"id\":1.5}", 0, "1.5", NULL},
        {" \t{" CALL ",\"id\":1,\"params\":{}}\r", 0, "1", NULL},

        {"", RPC_PARSE, NULL, NULL},
        {"x", RPC_PARSE, NULL, NULL},
        {"1", RPC_PARSE, NULL, NULL},
        {"{", RPC_PARSE, NULL, NULL},
        {"{" CALL ",\"id\":1}}", RPC_PARSE, NULL, NULL},
        {"{" CALL ",\"id\":1} {}", RPC_PARSE, NULL, NULL},
        {"{" CALL ",\"id\":1,\"id\":2}", RPC_PARSE, NULL, NULL},
        {"{" CALL ",\"id\":99999999999999999999}", RPC_PARSE, NULL, NULL},
        {"{" CALL ",\"id\":1e999}", RPC_PARSE, NULL, NULL},
        {"{" CALL ",\"id\":\"\\u0000\"}", RPC_PARSE, NULL, NULL},
        {"{" CALL ",\"id\":\"\xff\"}", RPC_PARSE, NULL, NULL},
        {"{" CALL ",\"id\":\"\xed\xa0\x80\"}", RPC_PARSE, NULL, NULL},

        {"[]", RPC_REQUEST, NULL, ""},
        {"[{" CALL ",\"id\":1}]", RPC_REQUEST, NULL, ""},
        {"{}", RPC_REQUEST, NULL, "/jsonrpc"},
        {"{\"id\":3}", RPC_REQUEST, "3", "/jsonrpc"},
        {"{\"id\":3,\"jsonrpc\":\"1.0\",\"method\":\"m\"}", RPC_REQUEST, "3", "/jsonrpc"},
        {"{\"id\":3,\"jsonrpc\":2.0,\"method\":\"m\"}", RPC_REQUEST, "3", "/jsonrpc"},
        {"{\"id\":3,\"jsonrpc\":\"2.0\"}", RPC_REQUEST, "3", "/method"},
        {"{\"id\":3,\"jsonrpc\":\"2.0\",\"method\":1}", RPC_REQUEST, "3", "/method"},
        {"{\"id\":3,\"jsonrpc\":\"2.0\",\"result\":{}}", RPC_REQUEST, "3", "/result"},
        {"{" CALL ",\"id\":3,\"a/b~\":1}", RPC_REQUEST, "3", "/a~1b~0"},
        {"{" CALL ",\"id\":null}", RPC_REQUEST, NULL, "/id"},
        {"{" CALL ",\"id\":[]}", RPC_REQUEST, NULL, "/id"},
        {"{" CALL ",\"id\":true}", RPC_REQUEST, NULL, "/id"},

        {"{" CALL ",\"id\":3,\"params\":[]}", RPC_PARAMS, "3", "/params"},
        {"{" CALL ",\"id\":3,\"params\":null}", RPC_PARAMS, "3", "/params"},
        {"{" CALL ",\"id\":3,\"params\":7}", RPC_PARAMS, "3", "/params"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        message_auto struct message message;
        struct hutch_error err = {0};

        int r = message_read(cases[i].line, strlen(cases[i].line), &message, &err);
        if (r != cases[i].want)
            fail_msg("%s: %d, wanted %d: %s", cases[i].line, r, cases[i].want, err.msg);
        assert_int_equal(!message.id, !cases[i].id);
        if (cases[i].id)
            assert_string_equal(message.id, cases[i].id);
        if (cases[i].where)
            assert_string_equal(err.where, cases[i].where);
        if (r == 0)
            assert_string_equal(message.method, "m");
        else
            assert_true(err.code == HUTCH_EINVALID && err.msg[0]);
    }
}

static int read_line(const struct buf *line)
{
    message_auto struct message message;
    struct hutch_error err;

    assert_false(line->failed);
    return message_read(line->data, line->len, &message, &err);
}

static void refuses_what_would_take_too_much(void **state)
{
    buf_auto struct buf deep, many, quoted, id;

    buf_init(&deep, SIZE_MAX);
    buf_puts(&deep, "{" CALL ",\"params\":{\"a\":");
    for (int i = 0; i < 100000; i++)
        buf_puts(&deep, "[");
    assert_int_equal(read_line(&deep), RPC_REQUEST); /* too many before it is too deep */

    buf_clear(&deep);
    buf_puts(&deep, "{" CALL ",\"params\":{\"a\":");
    for (int i = 0; i < 1000; i++)
        buf_puts(&deep, "[");
    assert_int_equal(read_line(&deep), RPC_PARSE);

    buf_init(&many, SIZE_MAX);
    buf_puts(&many, "{" CALL ",\"params\":{\"a\":[1");
    for (int i = 0; i < MESSAGE_VALUES_MAX; i++)
        buf_puts(&many, ",1");
    buf_puts(&many, "]}}");
    assert_int_equal(read_line(&many), RPC_REQUEST);

    /* As text the same is nothing special. */
    buf_init(&quoted, SIZE_MAX);
    buf_puts(&quoted, "{" CALL ",\"params\":{\"a\":\"\\\"");
    for (int i = 0; i < MESSAGE_VALUES_MAX; i++)
        buf_puts(&quoted, ",[{");
    buf_puts(&quoted, "\"}}");
    assert_int_equal(read_line(&quoted), 0);

    buf_init(&id, SIZE_MAX);
    buf_puts(&id, "{" CALL ",\"id\":\"");
    for (int i = 0; i <= MESSAGE_ID_MAX; i++)
        buf_puts(&id, "x");
    buf_puts(&id, "\"}");
    assert_int_equal(read_line(&id), RPC_REQUEST);
}

/* Only members of the request itself, and only those that are all there. */
static void finds_the_id_of_a_beginning(void **state)
{
    static const struct {
        const char *head;
        const char *id; /* NULL: none */
    } cases[] = {
        {"{\"id\":7,\"params\":{\"a\":\"xxx", "7"},
        {"{\"id\" : \"a,}\\\"\" , \"params\":{\"id\":8,\"x", "\"a,}\\\"\""},
        {"{\"jsonrpc\":\"2.0\",\"id\":-1.5,\"method\":\"m\",\"params\":[[{\"id\":1},", "-1.5"},
        {"{\"params\":{\"id\":8},\"id\":9,\"x\":\"xxx", "9"},
        {"{\"\\u0069d\":7,\"x", "7"},

        {"{\"id\":7", NULL},
        {"{\"id\":77777777777", NULL},
        {"{\"params\":{\"id\":8,\"a\":\"xxx", NULL},
        {"{\"params\":{\"id\":8},\"a\":\"xxx", NULL},
        {"{\"a\":\",\\\"id\\\":7,\",\"b\":\"xxx", NULL},
        {"{\"a\":\"\\\",\"id\":7,\"b\":\"xxx", NULL},
        {"{\"id\":7,\"id\":8,\"params\":\"xxx", NULL},
        {"{\"id\":7,x,\"params\":\"xxx", NULL},
        {"{\"a\":[}],\"id\":7,\"x", NULL},
        {"{\"id\":null,\"params\":\"xxx", NULL},
        {"{\"id\":{},\"params\":\"xxx", NULL},
        {"[{\"id\":7,\"params\":\"xxx", NULL},
        {"\"id\":7,\"params\":\"xxx", NULL},
        {"xxx", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str_auto char *id = message_early_id(cases[i].head, strlen(cases[i].head));

        if (!id != !cases[i].id || (id && !str_eq(id, cases[i].id)))
            fail_msg("%s: %s", cases[i].head, id ? id : "none");
    }
}

static void looks_for_an_id_at_the_beginning_only(void **state)
{
    buf_auto struct buf line;

    buf_init(&line, SIZE_MAX);
    buf_printf(&line, "{\"a\":\"%*s\",\"id\":7,\"b\":1,", MESSAGE_HEAD - 30, "x");
    str_auto char *early = message_early_id(line.data, line.len);
    assert_string_equal(early, "7");
    buf_clear(&line);
    buf_printf(&line, "{\"a\":\"%*s\",\"id\":7,\"b\":1,", MESSAGE_HEAD, "x");
    assert_null(message_early_id(line.data, line.len));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_id_of_a_beginning),
        cmocka_unit_test(looks_for_an_id_at_the_beginning_only),
        cmocka_unit_test(reads_or_refuses),
        cmocka_unit_test(refuses_what_would_take_too_much),
    };

    return cmocka_run_group_tests_name("rpc message", tests, NULL, NULL);
}
