/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/outbox.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEEP = 1 << 20 }; /* more memory than this is given back once it is empty */

void outbox_init(struct outbox *outbox, int fd)
{
    struct stat st;

    *outbox = (struct outbox){.fd = fd};
    buf_init(&outbox->buf, SIZE_MAX);
    if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
        outbox->kind = OUTBOX_SOCKET;
    else if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        outbox->kind = OUTBOX_FILE;
}

void outbox_clear(struct outbox *outbox)
{
    buf_clear(&outbox->buf);
    outbox->sent = 0;
}

size_t outbox_len(const struct outbox *outbox)
{
    return outbox->buf.len - outbox->sent;
}

/* Forget what has been sent, when that is worth the move. */
static void tidy(struct outbox *outbox)
{
    size_t left = outbox_len(outbox);

    if (left == 0 && outbox->buf.cap > KEEP) {
        outbox_clear(outbox);
    } else if (outbox->sent > left) {
        memmove(outbox->buf.data, outbox->buf.data + outbox->sent, left);
        outbox->buf.len = left;
        outbox->sent = 0;
    }
}

void outbox_add(struct outbox *outbox, const char *data, size_t len)
{
    buf_add(&outbox->buf, data, len);
    if (outbox->buf.failed)
        abort();
}

void outbox_puts(struct outbox *outbox, const char *text)
{
    outbox_add(outbox, text, strlen(text));
}

/*
 * A pipe, or a terminal, that polls as writable takes PIPE_BUF bytes without blocking; more might
 * block, and O_NONBLOCK would hold for everybody who has it open.
 */
static ssize_t write_some(const struct outbox *outbox, const char *data, size_t len)
{
    struct pollfd room = {.fd = outbox->fd, .events = POLLOUT};

    if (outbox->kind == OUTBOX_SOCKET)
        return send(outbox->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (outbox->kind == OUTBOX_FILE)
        return write(outbox->fd, data, len);
    if (poll(&room, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(outbox->fd, data, len < PIPE_BUF ? len : PIPE_BUF);
}

int outbox_flush(struct outbox *outbox)
{
    while (outbox_len(outbox) > 0) {
        ssize_t n = write_some(outbox, outbox->buf.data + outbox->sent, outbox_len(outbox));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return -errno;
        outbox->sent += (size_t)n;
    }
    tidy(outbox);
    return 0;
}
