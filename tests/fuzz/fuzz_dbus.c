/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a peer on D-Bus sends. The first byte says how the body is read, and whether the start of the
 * message is made to fit the rest, so that more of it is looked at; the rest is the message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sys/dbus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

/* A length that fits, as far as the fields leave it any. */
static void mend(unsigned char *data, size_t len)
{
    uint32_t fields;
    uint32_t body;

    data[0] = 'l';
    data[3] = 1;
    memcpy(&fields, data + 12, sizeof fields);
    fields %= (uint32_t)(len - SYS_DBUS_START + 1);
    size_t header = (SYS_DBUS_START + fields + 7) / 8 * 8;
    if (header > len)
        return;
    body = (uint32_t)(len - header);
    memcpy(data + 12, &fields, sizeof fields);
    memcpy(data + 4, &body, sizeof body);
}

/* It lies within the message, with its end. */
static void check_text(const char *text, const unsigned char *data, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;

    if (!text[0])
        return; /* may be a constant */
    require(at >= data && at < data + len && memchr(at, '\0', (size_t)(data + len - at)));
}

static void check_body(struct sys_dbus_in body, uint8_t how, const unsigned char *data, size_t len)
{
    for (int i = 0; i < 8 && !body.failed; i++, how = (uint8_t)(how >> 1 | how << 7)) {
        size_t before = body.at;
        switch (how % 4) {
        case 0: sys_dbus_get_byte(&body); break;
        case 1: sys_dbus_get_u32(&body); break;
        case 2: check_text(sys_dbus_get_string(&body), data, len); break;
        default: check_text(sys_dbus_get_signature(&body), data, len);
        }
        require(body.at <= body.len && (body.failed || body.at > before));
    }
}

static void check(const unsigned char *data, size_t len, uint8_t how)
{
    struct sys_dbus_message message;
    size_t told = 0;

    if (sys_dbus_parse(data, len, &message) < 0)
        return;
    require(sys_dbus_length(data, &told) == 0 && told == len);
    require(message.type != 0 && message.body.at == 0 && !message.body.failed);
    require(message.body.len <= len && message.body.data + message.body.len == data + len);
    require(message.body.len == 0 || (message.body.data - data) % 8 == 0);
    check_text(message.path, data, len);
    check_text(message.interface, data, len);
    check_text(message.member, data, len);
    check_text(message.error, data, len);
    check_text(message.signature, data, len);
    check_body(message.body, how, data, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > SYS_DBUS_MESSAGE_MAX)
        return 0;
    /* As long as it is and no longer, so that a look beyond its end is seen. */
    unsigned char *copy = malloc(size - 1 ? size - 1 : 1);
    require(copy != NULL);
    memcpy(copy, data + 1, size - 1);
    if ((data[0] & 128) && size - 1 >= SYS_DBUS_START)
        mend(copy, size - 1);
    check(copy, size - 1, data[0]);
    free(copy);
    return 0;
}
