/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a command's standard streams: from its pipe or terminal to the caller's
 * descriptor or into a capture, or from the caller's descriptor to it.
 *
 * Bytes between two pipes, or a pipe and a file, are spliced: they are never copied through the
 * engine. At most RELAY_BUFFER bytes are held otherwise, and a full receiver stops the reading, so a
 * command that writes without end is slowed down, not stored.
 *
 * Caller's descriptors are shared with other programs: they are never set non-blocking. A write to
 * one is only made when poll() says there is room for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/capture.h"

#define RELAY_BUFFER 65536

typedef void relay_output_fn(void *arg, const char *data, size_t len);

struct relay {
    int epoll;
    uint32_t tag; /* of both descriptors in the epoll set */
    int src;      /* owned; -1 when over */
    int dst;      /* owned; -1 with a capture */
    struct capture *capture;
    relay_output_fn *on_output; /* sees every byte; NULL: none does, and splice may be used */
    void *arg;
    bool splice;
    bool src_polled; /* in the epoll set (a regular file cannot be) */
    bool dst_polled;
    bool dst_is_file; /* never full */
    bool src_blocks;  /* it is the caller's, as it is */
    bool terminal_in; /* the end of input is a ^D to a terminal, not a close */
    char *buffer;
    size_t start; /* buffer[start, end) is read and not yet written */
    size_t end;
    uint64_t bytes; /* that have been taken from src */
    int error;      /* errno of a receiver that failed; one that went away (EPIPE) has not */
};

#define RELAY_INIT                                                                                 \
    {                                                                                              \
        .epoll = -1, .src = -1, .dst = -1                                                          \
    }

/* What a relay connects, for relay_start(). Takes *src and *dst. */
struct relay_ends {
    int *src;
    int *dst; /* NULL with a capture */
    struct capture *capture;
    relay_output_fn *on_output;
    void *arg;
    bool src_blocks;
    bool terminal_in;
};

int relay_start(struct relay *relay, int epoll, uint32_t tag, const struct relay_ends *ends);

/* Move what can be moved without waiting. */
int relay_step(struct relay *relay);

static inline bool relay_is_over(const struct relay *relay)
{
    return relay->src < 0;
}

/* Nothing is on its way, and nothing is there to be read now; the same of a source that no relay has yet. */
bool relay_is_idle(const struct relay *relay);
bool relay_finds_nothing(int src);

/* Stop and close. */
void relay_stop(struct relay *relay);
