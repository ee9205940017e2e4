/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of D-Bus as it takes to call a method of a service and to hear one signal from it, over a
 * unix socket: to a message bus, or to a service that takes connections of its own.
 *
 * The peer is not trusted. Every length that it sends is checked, no message is kept that is longer
 * than SYS_DBUS_MESSAGE_MAX, and all that is done with one connection ends at one deadline. Nothing
 * is allocated. Only messages in the order of bytes of this machine are understood, without
 * descriptors.
 *
 * Beside system calls' own: -ETIMEDOUT at the deadline, -ECONNRESET when the peer has closed,
 * -EBADMSG for bytes that are no message. After any of these the connection is of no use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYS_DBUS_MESSAGE_MAX 8192
#define SYS_DBUS_OUT_MAX 2048

/* ---- Connections ---- */

struct sys_dbus {
    int fd;
    uint32_t serial;      /* of the last call */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC */
    size_t len;           /* of `data` */
    size_t used;          /* of that, by the message that was handed out last */
    unsigned char data[SYS_DBUS_MESSAGE_MAX];
};

/* Takes *fd, a connected stream socket. */
void sys_dbus_init(struct sys_dbus *bus, int *fd, uint64_t timeout_ms);
void sys_dbus_clear(struct sys_dbus *bus);

/*
 * Connect to a socket (a descriptor of its file, O_PATH is enough) and sys_dbus_auth(). -EPERM: who
 * listens there is another user, or lives in another pid namespace, where our pids mean nothing.
 */
int sys_dbus_connect(struct sys_dbus *bus, int socket_file, uint64_t timeout_ms);

/* Say who we are. To be done once, first. -EACCES: the peer does not believe it. */
int sys_dbus_auth(struct sys_dbus *bus);

/* ---- Writing a body ---- */

/* Failure (no room) is sticky, and told by sys_dbus_call(). */
struct sys_dbus_out {
    size_t len;
    bool failed;
    unsigned char data[SYS_DBUS_OUT_MAX];
};

struct sys_dbus_array {
    size_t length_at;
    size_t start;
};

void sys_dbus_put_byte(struct sys_dbus_out *out, uint8_t value);
void sys_dbus_put_u32(struct sys_dbus_out *out, uint32_t value); /* booleans too */
void sys_dbus_put_u64(struct sys_dbus_out *out, uint64_t value);
void sys_dbus_put_string(struct sys_dbus_out *out, const char *text); /* object paths too */
void sys_dbus_put_signature(struct sys_dbus_out *out, const char *text);
void sys_dbus_put_struct(struct sys_dbus_out *out); /* its members follow */

/* `align`: of the elements, 8 for structs. */
struct sys_dbus_array sys_dbus_open_array(struct sys_dbus_out *out, size_t align);
void sys_dbus_close_array(struct sys_dbus_out *out, struct sys_dbus_array array);

/* ---- Reading messages ---- */

/* What was asked for in vain (the end was reached, not such a value) is 0 or "", and sticks. */
struct sys_dbus_in {
    const unsigned char *data;
    size_t len;
    size_t at;
    bool failed;
};

uint8_t sys_dbus_get_byte(struct sys_dbus_in *in);
uint32_t sys_dbus_get_u32(struct sys_dbus_in *in);
const char *sys_dbus_get_string(struct sys_dbus_in *in); /* object paths too */
const char *sys_dbus_get_signature(struct sys_dbus_in *in);

enum sys_dbus_type {
    SYS_DBUS_CALL = 1,
    SYS_DBUS_RETURN = 2,
    SYS_DBUS_ERROR = 3,
    SYS_DBUS_SIGNAL = 4,
};

/* Others may exist and mean nothing to us. Strings that a message does not have are "". */
struct sys_dbus_message {
    unsigned type;
    uint32_t reply_to; /* the serial of a call; 0: none */
    const char *path;
    const char *interface;
    const char *member;
    const char *error; /* its name; an explanation is often the first string of the body */
    const char *signature;
    struct sys_dbus_in body;
};

/* How long the message is that begins with these bytes. */
#define SYS_DBUS_START 16
int sys_dbus_length(const unsigned char start[SYS_DBUS_START], size_t *ret);

/* One whole message; what *ret points to is in `data`. */
int sys_dbus_parse(const unsigned char *data, size_t len, struct sys_dbus_message *ret);

/* ---- Talking ---- */

struct sys_dbus_method {
    const char *destination;
    const char *path;
    const char *interface;
    const char *member;
    const char *signature; /* of its body; "": it has none */
};

/* -EMSGSIZE: it is too long. Otherwise as sys_dbus_next(), with the reply, be it an error or not. */
int sys_dbus_call(struct sys_dbus *bus, const struct sys_dbus_method *method,
                  const struct sys_dbus_out *body, struct sys_dbus_message *ret);

/* The next message, good until the one after it is asked for. Those that are too long are skipped. */
int sys_dbus_next(struct sys_dbus *bus, struct sys_dbus_message *ret);
