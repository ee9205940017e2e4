/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits to be written to the client. It is as long as its users make it: they look at
 * outbox_len() and hold back. Never blocks, and leaves the flags of the descriptor alone, which the
 * client may share.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

struct outbox {
    struct buf buf;
    size_t sent; /* of buf, from its beginning */
    int fd;      /* borrowed */
    enum outbox_kind { OUTBOX_PIPE, OUTBOX_SOCKET, OUTBOX_FILE } kind;
};

void outbox_init(struct outbox *outbox, int fd);
void outbox_clear(struct outbox *outbox);

/* How many bytes wait. */
size_t outbox_len(const struct outbox *outbox);

void outbox_add(struct outbox *outbox, const char *data, size_t len);
void outbox_puts(struct outbox *outbox, const char *text);

/* Write what can be written now. Returns 0, or -errno when nobody reads any more. */
int outbox_flush(struct outbox *outbox);
