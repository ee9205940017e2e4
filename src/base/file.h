/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, of a size that is bounded. Any thread. */
#pragma once

#include <stddef.h>

/*
 * Read an open file of at most `most` bytes to its end; of a longer one, one byte more, so that the
 * caller notices. 0 or -errno. The caller owns *ret; free it with free(). It has no NUL at its end.
 */
int file_read_all(int fd, size_t most, char **ret, size_t *ret_len);
