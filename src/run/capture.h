/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output that is kept: the first half and the last half of its limit, whatever lies between is
 * counted and dropped. Memory never exceeds the limit by much. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct capture {
    uint64_t limit; /* bytes, or NUM_NO_LIMIT */
    uint64_t total; /* bytes seen */
    struct buf head;
    char *tail; /* ring of `tail_size` bytes, made when the head is full */
    size_t tail_size;
    size_t tail_next; /* where the next byte goes */
    bool tail_full;
    bool failed; /* out of memory */
};

void capture_init(struct capture *capture, uint64_t limit);
void capture_clear(struct capture *capture);
void capture_add(struct capture *capture, const char *data, size_t len);

/* Whether nothing was added. */
bool capture_is_empty(const struct capture *capture);

/* Whether bytes were dropped. */
bool capture_truncated(const struct capture *capture);

/*
 * What was kept, with a line between the halves that says how many bytes are missing. The caller
 * owns the text (free()); it is NUL-terminated and *len long. NULL when out of memory.
 */
char *capture_take(struct capture *capture, size_t *len);
