/* SPDX-License-Identifier: Apache-2.0 */
/* D-Bus messages as a peer would send them, good or bad, for tests that are that peer. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "sys/dbus.h"

/* What a peer would send: everything about it can be wrong. */
struct sample { /* NOLINT(clang-analyzer-optin.performance.Padding): in the order it is sent */
    uint8_t order;
    uint8_t type;
    uint8_t version;
    uint8_t odd_field; /* one that is odd, with `odd_type` (a signature) and `odd_value` */
    uint32_t odd_value;
    uint32_t serial;
    uint32_t reply_to;
    uint32_t body_more;   /* is added to the length */
    uint32_t fields_more; /* so is this */
    const char *odd_type; /* NULL: there is none */
    const char *path;
    const char *interface;
    const char *member;
    const char *error;
    const char *signature;
    struct sys_dbus_out body;
};

#define SAMPLE(...) ((struct sample){.order = 'l', .version = 1, .serial = 9, __VA_ARGS__})

static inline void put_text_field(struct sys_dbus_out *out, uint8_t field, const char *type,
                                  const char *text)
{
    if (!text)
        return;
    sys_dbus_put_struct(out);
    sys_dbus_put_byte(out, field);
    sys_dbus_put_signature(out, type);
    if (type[0] == 'g')
        sys_dbus_put_signature(out, text);
    else
        sys_dbus_put_string(out, text);
}

static inline void put_number_field(struct sys_dbus_out *out, uint8_t field, const char *type,
                                    uint32_t value)
{
    sys_dbus_put_struct(out);
    sys_dbus_put_byte(out, field);
    sys_dbus_put_signature(out, type);
    sys_dbus_put_u32(out, value);
}

static inline void add_u32(struct sys_dbus_out *out, size_t at, uint32_t more)
{
    uint32_t value;

    memcpy(&value, out->data + at, sizeof(value));
    value += more;
    memcpy(out->data + at, &value, sizeof(value));
}

static inline struct sys_dbus_out build(const struct sample *sample)
{
    struct sys_dbus_out out = {0};

    sys_dbus_put_byte(&out, sample->order);
    sys_dbus_put_byte(&out, sample->type);
    sys_dbus_put_byte(&out, 0);
    sys_dbus_put_byte(&out, sample->version);
    sys_dbus_put_u32(&out, (uint32_t)sample->body.len);
    sys_dbus_put_u32(&out, sample->serial);
    struct sys_dbus_array fields = sys_dbus_open_array(&out, 8);
    if (sample->odd_type)
        put_number_field(&out, sample->odd_field, sample->odd_type, sample->odd_value);
    put_text_field(&out, 1, "o", sample->path);
    put_text_field(&out, 2, "s", sample->interface);
    put_text_field(&out, 3, "s", sample->member);
    put_text_field(&out, 4, "s", sample->error);
    if (sample->reply_to)
        put_number_field(&out, 5, "u", sample->reply_to);
    put_text_field(&out, 7, "s", ":1.7");
    put_text_field(&out, 8, "g", sample->signature);
    sys_dbus_close_array(&out, fields);
    sys_dbus_put_struct(&out);
    for (size_t i = 0; i < sample->body.len; i++)
        sys_dbus_put_byte(&out, sample->body.data[i]);
    add_u32(&out, 4, sample->body_more);
    add_u32(&out, 12, sample->fields_more);
    assert_false(out.failed);
    return out;
}

static inline struct sample reply_to(uint32_t serial, const char *text)
{
    struct sample sample = SAMPLE(.type = SYS_DBUS_RETURN, .reply_to = serial, .signature = "o");

    sys_dbus_put_string(&sample.body, text);
    return sample;
}

static inline struct sample removed(const char *job)
{
    struct sample sample = SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/m", .interface = "a.b",
                                  .member = "JobRemoved", .signature = "uoss");

    sys_dbus_put_u32(&sample.body, 7);
    sys_dbus_put_string(&sample.body, job);
    sys_dbus_put_string(&sample.body, "x.scope");
    sys_dbus_put_string(&sample.body, "done");
    return sample;
}
