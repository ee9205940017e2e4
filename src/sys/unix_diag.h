/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel which unix sockets live in a network namespace. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* A socket that asks about the network namespace it is opened in. */
int sys_unix_diag_open(void);

/* Whether a socket of that namespace is bound to the file `dev`, `ino`: 1, 0 or -errno. */
int sys_unix_diag_has(int diag, dev_t dev, ino_t ino);
