/* SPDX-License-Identifier: Apache-2.0 */
/* Whole messages with descriptors over a seqpacket socket. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define SYS_MESSAGE_FDS 8

int sys_message_pair(int ret[2]);

/* Sends all or nothing. */
int sys_message_send(int sock, const void *data, size_t len, const int *fds, size_t fd_count);

/*
 * Receive one message of at most `size` bytes. Returns its length, 0 at the end, -EAGAIN when
 * `wait` is 0 and there is none, -EMSGSIZE for one that is too long. Received descriptors are
 * close-on-exec and the caller's; *fd_count is their number (at most SYS_MESSAGE_FDS).
 */
ssize_t sys_message_receive(int sock, int wait, void *data, size_t size, int *fds,
                            size_t *fd_count);
