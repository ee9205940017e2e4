/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and loading regular files, and nothing else: a FIFO would wait, a device might act. A file is
 * first found (O_PATH, which does neither), then looked at, then opened. All return -errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "work/work.h"

/* -EISDIR for a directory, -ELOOP for a link, -EINVAL for other things. */
int work_file_check(const struct stat *st);

/* What the O_PATH descriptor `found` stands for, opened with `flags`. -EBUSY: somebody has a lease. */
int work_file_reopen(int found, int flags);

/* The same for reading, when it is a regular file, and none that /proc has of a process (-EACCES). */
int work_file_open_found(const struct work *work, int found, struct stat *ret_st);

/* The regular file that `text` leads to, for reading. */
int work_file_open(const struct work *work, const char *text, struct stat *ret_st);

/* The regular file `name` in `dir`; a link is not followed. */
int work_file_open_at(const struct work *work, int dir, const char *name, struct stat *ret_st);

/* Up to `len` bytes: less only at the end of the file. */
ssize_t work_file_read(int fd, void *data, size_t len);

int work_file_write(int fd, const void *data, size_t len);

/* Bytes in memory that is used again for the next file. */
struct work_bytes {
    char *data; /* with a NUL behind the bytes */
    size_t len;
    size_t cap;
    bool more; /* the file did not end there */
};
void work_bytes_clear(struct work_bytes *bytes);
#define work_bytes_auto __attribute__((cleanup(work_bytes_clear)))

/* The file's first `max` bytes; with `text`, not much beyond a NUL. */
int work_file_load(int fd, size_t max, bool text, struct work_bytes *bytes);

enum hutch_file_type work_file_type(mode_t mode);
int64_t work_file_modified_ns(const struct stat *st);
