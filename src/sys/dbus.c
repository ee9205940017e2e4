/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/dbus.h"

#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "sys/clock.h"
#include "sys/procfs.h"
#include "sys/ret.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "messages are written as they lie here");
#define ORDER 'l'

#define VERSION 1
#define LENGTH_MOST (128U << 20) /* of a whole message, says the specification */
#define LINE_MOST 512            /* of the words before the first message */

/* Fields of a header. */
enum {
    FIELD_PATH = 1,
    FIELD_INTERFACE,
    FIELD_MEMBER,
    FIELD_ERROR_NAME,
    FIELD_REPLY_SERIAL,
    FIELD_DESTINATION,
    FIELD_SENDER,
    FIELD_SIGNATURE,
    FIELD_UNIX_FDS,
};

static size_t padding(size_t at, size_t align)
{
    return (align - at % align) % align;
}

/* ---- Bytes, until the deadline ---- */

void sys_dbus_init(struct sys_dbus *bus, int *fd, uint64_t timeout_ms)
{
    bus->fd = fd_take(fd);
    bus->serial = 0;
    bus->deadline_ns = sys_clock_ns(CLOCK_MONOTONIC) + timeout_ms * 1000000;
    bus->len = bus->used = 0;
}

void sys_dbus_clear(struct sys_dbus *bus)
{
    fd_close(&bus->fd);
}

static uint64_t left_ns(const struct sys_dbus *bus)
{
    uint64_t now = sys_clock_ns(CLOCK_MONOTONIC);

    return now < bus->deadline_ns ? bus->deadline_ns - now : 0;
}

static int wait_for(const struct sys_dbus *bus, short events)
{
    struct pollfd ready = {.fd = bus->fd, .events = events};
    uint64_t left_ms = (left_ns(bus) + 999999) / 1000000;
    int r = poll(&ready, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX);

    return r < 0 && errno != EINTR ? -errno : 0;
}

/* Returns whether to try again; *r is how the last try went. */
static bool go_on(const struct sys_dbus *bus, short events, int *r)
{
    if (*r == -EAGAIN)
        *r = wait_for(bus, events);
    else if (*r == -EINTR)
        *r = 0;
    /* Also when there was something each time: who never stops talking must not hold us either. */
    if (*r == 0 && left_ns(bus) == 0)
        *r = -ETIMEDOUT;
    return *r == 0;
}

static int send_all(struct sys_dbus *bus, const void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(bus->fd, (const char *)data + done, len - done,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        int r = n < 0 ? -errno : 0;
        if (n > 0)
            done += (size_t)n;
        if (!go_on(bus, POLLOUT, &r))
            return r == -EPIPE ? -ECONNRESET : r;
    }
    return 0;
}

/* Something more, as much as fits at the end of `data`. */
static int receive_some(struct sys_dbus *bus)
{
    for (;;) {
        ssize_t n = recv(bus->fd, bus->data + bus->len, sizeof bus->data - bus->len, MSG_DONTWAIT);
        int r = n < 0 ? -errno : 0;
        if (n == 0)
            return -ECONNRESET;
        if (!go_on(bus, POLLIN, &r))
            return r;
        if (n < 0)
            continue;
        bus->len += (size_t)n;
        return 0;
    }
}

/* `len` fits. */
static int receive_until(struct sys_dbus *bus, size_t len)
{
    int r = 0;

    while (r == 0 && bus->len < len)
        r = receive_some(bus);
    return r;
}

/* The first `len` bytes are done with; some of them may not be here yet. */
static int drop(struct sys_dbus *bus, size_t len)
{
    while (len > bus->len) {
        len -= bus->len;
        bus->len = 0;
        int r = receive_some(bus);
        if (r < 0)
            return r;
    }
    memmove(bus->data, bus->data + len, bus->len - len);
    bus->len -= len;
    return 0;
}

/* ---- Connecting ---- */

static int check_peer(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return -errno;
    return peer.uid == geteuid() && peer.pid > 0 ? 0 : -EPERM;
}

/* A queue that is full is waited for as long as SO_SNDTIMEO says, where 0 would be for ever. */
static int try_to_connect(const struct sys_dbus *bus, const struct sockaddr_un *address)
{
    uint64_t left_us = left_ns(bus) / 1000 + 1;
    const struct timeval patience = {.tv_sec = (time_t)(left_us / 1000000),
                                     .tv_usec = (suseconds_t)(left_us % 1000000)};

    if (setsockopt(bus->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0)
        return -errno;
    int r = ret_errno(connect(bus->fd, (const struct sockaddr *)address, sizeof *address));
    if (r == -EAGAIN || (r == -EINTR && left_ns(bus) == 0))
        return -ETIMEDOUT;
    return r;
}

static int open_socket(struct sys_dbus *bus, int socket_file)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int r;

    _Static_assert(sizeof address.sun_path >= SYS_PROC_NAME_MAX, "the name fits");
    sys_proc_fd_name(socket_file, address.sun_path);
    do
        r = try_to_connect(bus, &address);
    while (r == -EINTR);
    return r < 0 ? r : check_peer(bus->fd);
}

int sys_dbus_connect(struct sys_dbus *bus, int socket_file, uint64_t timeout_ms)
{
    fd_auto int fd = ret_errno(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd < 0)
        return fd;

    sys_dbus_init(bus, &fd, timeout_ms);
    int r = open_socket(bus, socket_file);
    if (r == 0)
        r = sys_dbus_auth(bus);
    if (r < 0)
        sys_dbus_clear(bus);
    return r;
}

/* One line is at the start of `data`; *ret_len with its end. */
static int receive_line(struct sys_dbus *bus, size_t *ret_len)
{
    for (;;) {
        const unsigned char *end = memmem(bus->data, bus->len, "\r\n", 2);
        if (end) {
            *ret_len = (size_t)(end - bus->data) + 2;
            return 0;
        }
        if (bus->len > LINE_MOST)
            return -EBADMSG;
        int r = receive_some(bus);
        if (r < 0)
            return r;
    }
}

static bool begins(const struct sys_dbus *bus, const char *word)
{
    size_t len = strlen(word);

    return bus->len >= len && memcmp(bus->data, word, len) == 0;
}

int sys_dbus_auth(struct sys_dbus *bus)
{
    static const char begin[] = "BEGIN\r\n";
    static const char hello[] = "\0AUTH EXTERNAL ";
    char digits[NUM_TEXT_MAX];
    char text[sizeof hello + 2 * sizeof digits];
    size_t len = sizeof hello - 1;
    size_t line = 0;

    /* Our uid in decimal, and the characters of that in hexadecimal: '0' is 30. */
    size_t count = (size_t)(num_put(digits, geteuid(), 10) - digits);
    memcpy(text, hello, len);
    for (size_t i = 0; i < count && i < sizeof digits; i++) {
        text[len++] = '3';
        text[len++] = digits[i];
    }
    text[len++] = '\r';
    text[len++] = '\n';
    int r = send_all(bus, text, len);
    if (r == 0)
        r = receive_line(bus, &line);
    if (r < 0)
        return r;
    if (!begins(bus, "OK ") && !begins(bus, "OK\r"))
        return begins(bus, "REJECTED") ? -EACCES : -EBADMSG;
    r = drop(bus, line);
    return r < 0 ? r : send_all(bus, begin, sizeof begin - 1);
}

/* ---- Writing ---- */

static void put(struct sys_dbus_out *out, const void *data, size_t len, size_t align)
{
    size_t gap = padding(out->len, align);

    if (out->failed || len > sizeof out->data || gap + len > sizeof out->data - out->len) {
        out->failed = true;
        return;
    }
    memset(out->data + out->len, 0, gap);
    if (len > 0)
        memcpy(out->data + out->len + gap, data, len);
    out->len += gap + len;
}

void sys_dbus_put_byte(struct sys_dbus_out *out, uint8_t value)
{
    put(out, &value, sizeof value, 1);
}

void sys_dbus_put_u32(struct sys_dbus_out *out, uint32_t value)
{
    put(out, &value, sizeof value, sizeof value);
}

void sys_dbus_put_u64(struct sys_dbus_out *out, uint64_t value)
{
    put(out, &value, sizeof value, sizeof value);
}

void sys_dbus_put_string(struct sys_dbus_out *out, const char *text)
{
    size_t len = strlen(text);

    out->failed = out->failed || len >= sizeof out->data;
    sys_dbus_put_u32(out, (uint32_t)len);
    put(out, text, len + 1, 1);
}

void sys_dbus_put_signature(struct sys_dbus_out *out, const char *text)
{
    size_t len = strlen(text);

    out->failed = out->failed || len > UINT8_MAX;
    sys_dbus_put_byte(out, (uint8_t)len);
    put(out, text, len + 1, 1);
}

void sys_dbus_put_struct(struct sys_dbus_out *out)
{
    put(out, NULL, 0, 8);
}

struct sys_dbus_array sys_dbus_open_array(struct sys_dbus_out *out, size_t align)
{
    struct sys_dbus_array array;

    sys_dbus_put_u32(out, 0);
    array.length_at = out->len - sizeof(uint32_t);
    put(out, NULL, 0, align); /* which is there, and not counted, when there are no elements too */
    array.start = out->len;
    return array;
}

void sys_dbus_close_array(struct sys_dbus_out *out, struct sys_dbus_array array)
{
    if (out->failed)
        return;
    uint32_t len = (uint32_t)(out->len - array.start);
    memcpy(out->data + array.length_at, &len, sizeof len);
}

/* ---- Reading ---- */

/* The next `len` bytes; NULL when there are not so many. */
static const unsigned char *get(struct sys_dbus_in *in, size_t len, size_t align)
{
    size_t gap = padding(in->at, align);

    if (in->failed || len > in->len || gap > in->len - len || in->at > in->len - len - gap) {
        in->failed = true;
        return NULL;
    }
    const unsigned char *found = in->data + in->at + gap;
    in->at += gap + len;
    return found;
}

uint8_t sys_dbus_get_byte(struct sys_dbus_in *in)
{
    const unsigned char *found = get(in, 1, 1);

    return found ? *found : 0;
}

uint32_t sys_dbus_get_u32(struct sys_dbus_in *in)
{
    uint32_t value = 0;
    const unsigned char *found = get(in, sizeof value, sizeof value);

    if (found)
        memcpy(&value, found, sizeof value);
    return value;
}

/* With its end, and no other in it. */
static const char *get_text(struct sys_dbus_in *in, size_t len)
{
    const unsigned char *found = get(in, len + 1, 1);

    if (found && memchr(found, '\0', len + 1) == found + len)
        return (const char *)found;
    in->failed = true;
    return "";
}

const char *sys_dbus_get_string(struct sys_dbus_in *in)
{
    return get_text(in, sys_dbus_get_u32(in));
}

const char *sys_dbus_get_signature(struct sys_dbus_in *in)
{
    return get_text(in, sys_dbus_get_byte(in));
}

int sys_dbus_length(const unsigned char start[SYS_DBUS_START], size_t *ret)
{
    struct sys_dbus_in in = {.data = start, .len = SYS_DBUS_START};
    uint8_t order = sys_dbus_get_byte(&in);

    in.at += 2; /* type and flags */
    uint8_t version = sys_dbus_get_byte(&in);
    uint64_t body = sys_dbus_get_u32(&in);
    in.at += sizeof(uint32_t); /* serial */
    uint64_t header = SYS_DBUS_START + (uint64_t)sys_dbus_get_u32(&in);
    uint64_t len = header + padding(header, 8) + body;
    if (order != ORDER || version != VERSION || len > LENGTH_MOST)
        return -EBADMSG;
    *ret = (size_t)len;
    return 0;
}

/* A field that means nothing to us. None that exists holds more than one plain value. */
static void skip_value(struct sys_dbus_in *in, char type)
{
    switch (type) {
    case 'y': get(in, 1, 1); break;
    case 'n':
    case 'q': get(in, 2, 2); break;
    case 'b':
    case 'i':
    case 'u':
    case 'h': get(in, 4, 4); break;
    case 'x':
    case 't':
    case 'd': get(in, 8, 8); break;
    case 's':
    case 'o': sys_dbus_get_string(in); break;
    case 'g': sys_dbus_get_signature(in); break;
    default: in->failed = true;
    }
}

static const char *get_typed(struct sys_dbus_in *in, char type, char want)
{
    in->failed = in->failed || type != want;
    return want == 'g' ? sys_dbus_get_signature(in) : sys_dbus_get_string(in);
}

static void read_field(struct sys_dbus_in *in, struct sys_dbus_message *message)
{
    get(in, 0, 8);
    uint8_t field = sys_dbus_get_byte(in);
    const char *types = sys_dbus_get_signature(in);
    char type = types[0];

    in->failed = in->failed || !type || types[1];
    switch (field) {
    case FIELD_PATH: message->path = get_typed(in, type, 'o'); break;
    case FIELD_INTERFACE: message->interface = get_typed(in, type, 's'); break;
    case FIELD_MEMBER: message->member = get_typed(in, type, 's'); break;
    case FIELD_ERROR_NAME: message->error = get_typed(in, type, 's'); break;
    case FIELD_SIGNATURE: message->signature = get_typed(in, type, 'g'); break;
    case FIELD_REPLY_SERIAL:
        in->failed = in->failed || type != 'u';
        message->reply_to = sys_dbus_get_u32(in);
        break;
    default: skip_value(in, type);
    }
}

/* What each type must have. */
static bool is_complete(const struct sys_dbus_message *message)
{
    switch (message->type) {
    case 0: return false;
    case SYS_DBUS_CALL: return message->path[0] && message->member[0];
    case SYS_DBUS_RETURN: return message->reply_to != 0;
    case SYS_DBUS_ERROR: return message->reply_to != 0 && message->error[0];
    case SYS_DBUS_SIGNAL: return message->path[0] && message->interface[0] && message->member[0];
    default: return true;
    }
}

int sys_dbus_parse(const unsigned char *data, size_t len, struct sys_dbus_message *ret)
{
    struct sys_dbus_message message = {
        .path = "", .interface = "", .member = "", .error = "", .signature = ""};
    struct sys_dbus_in in = {.data = data, .len = len};
    size_t want = 0;

    if (len < SYS_DBUS_START || sys_dbus_length(data, &want) < 0 || want != len)
        return -EBADMSG;
    message.type = data[1];
    in.at = 4;
    size_t body_len = sys_dbus_get_u32(&in);
    uint32_t serial = sys_dbus_get_u32(&in);
    in.len = SYS_DBUS_START + (size_t)sys_dbus_get_u32(&in); /* not beyond the fields */
    while (!in.failed && in.at < in.len)
        read_field(&in, &message);
    if (in.failed || serial == 0 || !is_complete(&message) ||
        (body_len > 0 && !message.signature[0]))
        return -EBADMSG;
    message.body = (struct sys_dbus_in){.data = data + len - body_len, .len = body_len};
    *ret = message;
    return 0;
}

/* ---- Talking ---- */

static void put_field(struct sys_dbus_out *out, uint8_t field, const char *type, const char *value)
{
    sys_dbus_put_struct(out);
    sys_dbus_put_byte(out, field);
    sys_dbus_put_signature(out, type);
    if (type[0] == 'g')
        sys_dbus_put_signature(out, value);
    else
        sys_dbus_put_string(out, value);
}

static void put_header(struct sys_dbus_out *out, const struct sys_dbus_method *method,
                       uint32_t serial, size_t body_len)
{
    sys_dbus_put_byte(out, ORDER);
    sys_dbus_put_byte(out, SYS_DBUS_CALL);
    sys_dbus_put_byte(out, 0); /* flags */
    sys_dbus_put_byte(out, VERSION);
    sys_dbus_put_u32(out, (uint32_t)body_len);
    sys_dbus_put_u32(out, serial);
    struct sys_dbus_array fields = sys_dbus_open_array(out, 8);
    put_field(out, FIELD_PATH, "o", method->path);
    put_field(out, FIELD_INTERFACE, "s", method->interface);
    put_field(out, FIELD_MEMBER, "s", method->member);
    put_field(out, FIELD_DESTINATION, "s", method->destination);
    if (method->signature[0])
        put_field(out, FIELD_SIGNATURE, "g", method->signature);
    sys_dbus_close_array(out, fields);
    put(out, NULL, 0, 8); /* the body begins so */
}

int sys_dbus_call(struct sys_dbus *bus, const struct sys_dbus_method *method,
                  const struct sys_dbus_out *body, struct sys_dbus_message *ret)
{
    struct sys_dbus_message message;
    struct sys_dbus_out header;

    header.len = 0;
    header.failed = false;
    put_header(&header, method, ++bus->serial, body->len);
    if (header.failed || body->failed)
        return -EMSGSIZE;
    int r = send_all(bus, header.data, header.len);
    if (r == 0)
        r = send_all(bus, body->data, body->len);
    do
        r = r < 0 ? r : sys_dbus_next(bus, &message);
    while (r == 0 && !((message.type == SYS_DBUS_RETURN || message.type == SYS_DBUS_ERROR) &&
                       message.reply_to == bus->serial));
    if (r == 0)
        *ret = message;
    return r;
}

int sys_dbus_next(struct sys_dbus *bus, struct sys_dbus_message *ret)
{
    size_t len = bus->used;

    bus->used = 0;
    for (;;) {
        int r = drop(bus, len);
        if (r == 0)
            r = receive_until(bus, SYS_DBUS_START);
        if (r == 0)
            r = sys_dbus_length(bus->data, &len);
        if (r < 0)
            return r;
        if (len > sizeof bus->data)
            continue;
        r = receive_until(bus, len);
        if (r < 0)
            return r;
        bus->used = len;
        return sys_dbus_parse(bus->data, len, ret);
    }
}
