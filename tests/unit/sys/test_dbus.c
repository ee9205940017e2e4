/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/dbus.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "../dbus_sample.h"
#include "base/fd.h"
#include "base/str.h"

#define LONG_MS 10000

static const struct sys_dbus_method method = {"d.e", "/o", "i.f", "M", "s"};

/* A connection; *ret_peer is its other side. */
static void open_pair(struct sys_dbus *bus, uint64_t timeout_ms, int *ret_peer)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    sys_dbus_init(bus, &pair[0], timeout_ms);
    assert_int_equal(pair[0], -1);
    *ret_peer = pair[1];
}

static void say(int peer, const void *data, size_t len)
{
    assert_int_equal(send(peer, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void say_sample(int peer, const struct sample *sample)
{
    struct sys_dbus_out out = build(sample);

    say(peer, out.data, out.len);
}

/* ---- Writing ---- */

static void a_call_is_these_bytes(void **state)
{
    static const unsigned char want[] = {
        'l', 1, 0,   1, 6, 0,   0, 0, 1,   0,   0,   0, 71, 0, 0, 0, /* 71 bytes of fields */
        1,   1, 'o', 0, 2, 0,   0, 0, '/', 'o', 0,   0, 0,  0, 0, 0, /* path */
        2,   1, 's', 0, 3, 0,   0, 0, 'i', '.', 'f', 0, 0,  0, 0, 0, /* interface */
        3,   1, 's', 0, 1, 0,   0, 0, 'M', 0,   0,   0, 0,  0, 0, 0, /* member */
        6,   1, 's', 0, 3, 0,   0, 0, 'd', '.', 'e', 0, 0,  0, 0, 0, /* destination */
        8,   1, 'g', 0, 1, 's', 0, 0, 0,   0,   0,   0, 0,  0, 0, 0, /* signature */
    };
    static const unsigned char body[] = {1, 0, 0, 0, 'x', 0};
    unsigned char got[256];
    struct sys_dbus bus;
    struct sys_dbus_message reply;
    struct sys_dbus_out out = {0};
    fd_auto int peer = -1;
    size_t header = 16 + 71 + 1;

    open_pair(&bus, LONG_MS, &peer);
    struct sample sample = reply_to(1, "/j");
    say_sample(peer, &sample);
    sys_dbus_put_string(&out, "x");
    assert_int_equal(sys_dbus_call(&bus, &method, &out, &reply), 0);
    assert_int_equal(recv(peer, got, sizeof(got), 0), (ssize_t)(header + sizeof(body)));
    assert_memory_equal(got, want, header);
    assert_memory_equal(got + header, body, sizeof(body));
    assert_string_equal(sys_dbus_get_string(&reply.body), "/j");
    sys_dbus_clear(&bus);
}

static void values_are_aligned(void **state)
{
    static const unsigned char want[] = {
        7,  0, 0, 0, 4,   3, 2,   1,             /* byte, u32 */
        1,  0, 0, 0, 'x', 0, 0,   0,             /* string */
        8,  7, 6, 5, 4,   3, 2,   1,             /* u64: 8 */
        8,  0, 0, 0, 1,   0, 0,   0, 2, 0, 0, 0, /* array of two u32, no gap */
        12, 0, 0, 0, 1,   1, 'b', 0, 1, 0, 0, 0, /* array of a struct, at 36: 40, no gap */
        3,  0, 0, 0,                             /* and what is in the struct */
        0,  0, 0, 0,                             /* empty array of u32 */
        0,  0, 0, 0, 0,   0, 0,   0,             /* empty array of structs, with its gap */
        9,  0, 0, 0, 0,   0, 0,   0,             /* u32, and one without */
    };
    struct sys_dbus_out out = {0};

    sys_dbus_put_byte(&out, 7);
    sys_dbus_put_u32(&out, 0x01020304);
    sys_dbus_put_string(&out, "x");
    sys_dbus_put_u64(&out, 0x0102030405060708);
    struct sys_dbus_array numbers = sys_dbus_open_array(&out, 4);
    sys_dbus_put_u32(&out, 1);
    sys_dbus_put_u32(&out, 2);
    sys_dbus_close_array(&out, numbers);
    struct sys_dbus_array structs = sys_dbus_open_array(&out, 8);
    sys_dbus_put_struct(&out);
    sys_dbus_put_byte(&out, 1);
    sys_dbus_put_signature(&out, "b");
    sys_dbus_put_u32(&out, 1);
    sys_dbus_put_u32(&out, 3);
    sys_dbus_close_array(&out, structs);
    sys_dbus_close_array(&out, sys_dbus_open_array(&out, 4));
    sys_dbus_close_array(&out, sys_dbus_open_array(&out, 8));
    sys_dbus_put_u32(&out, 9);
    sys_dbus_close_array(&out, sys_dbus_open_array(&out, 8));
    assert_false(out.failed);
    assert_int_equal(out.len, sizeof(want));
    assert_memory_equal(out.data, want, sizeof(want));
}

static void what_does_not_fit_is_not_sent(void **state)
{
    char text[SYS_DBUS_OUT_MAX];
    char byte;
    struct sys_dbus bus;
    struct sys_dbus_message reply;
    struct sys_dbus_out out = {0};
    fd_auto int peer = -1;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    sys_dbus_put_string(&out, text);
    assert_true(out.failed);
    sys_dbus_put_byte(&out, 1); /* too late */
    sys_dbus_put_struct(&out);
    sys_dbus_close_array(&out, sys_dbus_open_array(&out, 8));
    assert_true(out.failed && out.len <= sizeof(out.data));
    out = (struct sys_dbus_out){0};
    sys_dbus_put_signature(&out, text);
    assert_true(out.failed);

    open_pair(&bus, LONG_MS, &peer);
    assert_int_equal(sys_dbus_call(&bus, &method, &out, &reply), -EMSGSIZE);
    const struct sys_dbus_method longer = {text, "/o", "i.f", "M", ""};
    struct sys_dbus_out none = {0};
    assert_int_equal(sys_dbus_call(&bus, &longer, &none, &reply), -EMSGSIZE);
    assert_int_equal(recv(peer, &byte, 1, MSG_DONTWAIT), -1);
    sys_dbus_clear(&bus);
}

/* ---- Reading ---- */

static void messages_are_understood(void **state)
{
    struct sys_dbus_message message;
    struct sample sample = removed("/job/1");
    struct sys_dbus_out out = build(&sample);

    assert_int_equal(sys_dbus_parse(out.data, out.len, &message), 0);
    assert_int_equal(message.type, SYS_DBUS_SIGNAL);
    assert_int_equal(message.reply_to, 0);
    assert_string_equal(message.path, "/m");
    assert_string_equal(message.interface, "a.b");
    assert_string_equal(message.member, "JobRemoved");
    assert_string_equal(message.error, "");
    assert_string_equal(message.signature, "uoss");
    assert_int_equal(sys_dbus_get_u32(&message.body), 7);
    assert_string_equal(sys_dbus_get_string(&message.body), "/job/1");
    assert_string_equal(sys_dbus_get_string(&message.body), "x.scope");
    assert_string_equal(sys_dbus_get_string(&message.body), "done");
    assert_false(message.body.failed);
    /* There is no more, and that sticks. */
    assert_string_equal(sys_dbus_get_string(&message.body), "");
    assert_true(message.body.failed);
    message.body.at = 0;
    assert_int_equal(sys_dbus_get_u32(&message.body), 0);

    sample = SAMPLE(.type = SYS_DBUS_ERROR, .reply_to = 4, .error = "a.Error");
    out = build(&sample);
    assert_int_equal(sys_dbus_parse(out.data, out.len, &message), 0);
    assert_int_equal(message.reply_to, 4);
    assert_string_equal(message.error, "a.Error");
    assert_string_equal(message.signature, "");
    assert_int_equal(message.body.len, 0);

    /* What may be there one day: fields and types of messages that do not exist now. */
    sample = SAMPLE(.type = SYS_DBUS_RETURN, .reply_to = 4, .odd_field = 200, .odd_type = "u");
    out = build(&sample);
    assert_int_equal(sys_dbus_parse(out.data, out.len, &message), 0);
    sample = SAMPLE(.type = 77);
    out = build(&sample);
    assert_int_equal(sys_dbus_parse(out.data, out.len, &message), 0);
}

static void bad_messages_are_refused(void **state)
{
    const struct {
        const char *what;
        struct sample sample;
    } cases[] = {
        {"big-endian", {.order = 'B', .version = 1, .serial = 1, .type = 77}},
        {"no order at all", {.order = 0, .version = 1, .serial = 1, .type = 77}},
        {"another version", {.order = 'l', .version = 2, .serial = 1, .type = 77}},
        {"serial 0", {.order = 'l', .version = 1, .type = 77}},
        {"type 0", SAMPLE(.type = 0)},
        {"a reply to nothing", SAMPLE(.type = SYS_DBUS_RETURN)},
        {"an error without a name", SAMPLE(.type = SYS_DBUS_ERROR, .reply_to = 1)},
        {"a signal without a path",
         SAMPLE(.type = SYS_DBUS_SIGNAL, .interface = "a.b", .member = "M")},
        {"a signal without a name", SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/", .member = "M")},
        {"a call without a method", SAMPLE(.type = SYS_DBUS_CALL, .path = "/")},
        {"a path that is a number",
         SAMPLE(.type = 77, .odd_field = 1, .odd_type = "u", .odd_value = 1)},
        {"a path that is a string",
         SAMPLE(.type = 77, .odd_field = 1, .odd_type = "s", .odd_value = 0)},
        {"a serial that is a string",
         SAMPLE(.type = 77, .odd_field = 5, .odd_type = "s", .odd_value = 0)},
        {"a serial that is signed",
         SAMPLE(.type = 77, .odd_field = 5, .odd_type = "i", .odd_value = 1)},
        {"a string longer than all",
         SAMPLE(.type = 77, .odd_field = 3, .odd_type = "s", .odd_value = UINT32_MAX)},
        {"a string as long as the rest",
         SAMPLE(.type = 77, .odd_field = 3, .odd_type = "s", .odd_value = 16)},
        {"a field without a type", SAMPLE(.type = 77, .odd_field = 99, .odd_type = "")},
        {"a field with two types", SAMPLE(.type = 77, .odd_field = 99, .odd_type = "uu")},
        {"a field with an array", SAMPLE(.type = 77, .odd_field = 99, .odd_type = "a")},
        {"a field with a variant", SAMPLE(.type = 77, .odd_field = 99, .odd_type = "v")},
        {"a longer body", SAMPLE(.type = 77, .body_more = 1)},
        {"a huge body", SAMPLE(.type = 77, .body_more = UINT32_MAX)},
        {"more fields", SAMPLE(.type = 77, .fields_more = 8)},
        {"huge fields", SAMPLE(.type = 77, .fields_more = UINT32_MAX - 64)},
        {"fewer fields", SAMPLE(.type = 77, .path = "/", .fields_more = -8U)},
        {"a body without a signature", SAMPLE(.type = 77, .body = {.len = 4})},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sys_dbus_message message;
        struct sys_dbus_out out = build(&cases[i].sample);

        if (sys_dbus_parse(out.data, out.len, &message) != -EBADMSG)
            fail_msg("%s was understood", cases[i].what);
    }
}

static void every_other_length_is_refused(void **state)
{
    struct sys_dbus_message message;
    struct sample sample = removed("/job/1");
    struct sys_dbus_out out = build(&sample);

    for (size_t len = 0; len < out.len; len++)
        assert_int_equal(sys_dbus_parse(out.data, len, &message), -EBADMSG);
    assert_int_equal(sys_dbus_parse(out.data, out.len + 1, &message), -EBADMSG);
    assert_int_equal(sys_dbus_parse(out.data, out.len, &message), 0);
}

/* Each byte with each value: nothing is read that is not there. (The heap is guarded by ASan.) */
static void no_byte_leads_astray(void **state)
{
    struct sample sample = removed("/job/1");
    struct sys_dbus_out out = build(&sample);
    unsigned char *data = malloc(out.len);
    size_t good = 0;

    assert_non_null(data);
    for (size_t at = 0; at < out.len * 256; at++) {
        struct sys_dbus_message message;
        memcpy(data, out.data, out.len);
        data[at / 256] = (unsigned char)at;
        if (sys_dbus_parse(data, out.len, &message) < 0)
            continue;
        good++;
        assert_true(strlen(message.path) + strlen(message.member) + strlen(message.signature) <
                    out.len);
        for (int i = 0; i < 4; i++)
            assert_true(strlen(sys_dbus_get_string(&message.body)) < out.len);
    }
    free(data);
    assert_true(good > 256); /* some bytes are only text */
}

static void strings_have_one_end(void **state)
{
    static const struct {
        unsigned char bytes[12];
        size_t len;
        const char *want; /* NULL: none */
    } cases[] = {
        {{2, 0, 0, 0, 'a', 'b', 0}, 7, "ab"},
        {{0, 0, 0, 0, 0}, 5, ""},
        {{2, 0, 0, 0, 'a', 'b', 'c'}, 7, NULL},
        {{2, 0, 0, 0, 'a', 0, 0}, 7, NULL},
        {{2, 0, 0, 0, 'a', 'b'}, 6, NULL},
        {{0, 0, 0, 0}, 4, NULL},
        {{1, 0, 0}, 3, NULL},
        {{0xff, 0xff, 0xff, 0xff, 'a', 0}, 6, NULL},
        {{0xfe, 0xff, 0xff, 0xff, 'a', 0}, 6, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sys_dbus_in in = {.data = cases[i].bytes, .len = cases[i].len};

        assert_string_equal(sys_dbus_get_string(&in), cases[i].want ? cases[i].want : "");
        assert_int_equal(in.failed, !cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_these_bytes),
        cmocka_unit_test(values_are_aligned),
        cmocka_unit_test(what_does_not_fit_is_not_sent),
        cmocka_unit_test(messages_are_understood),
        cmocka_unit_test(bad_messages_are_refused),
        cmocka_unit_test(every_other_length_is_refused),
        cmocka_unit_test(no_byte_leads_astray),
        cmocka_unit_test(strings_have_one_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
