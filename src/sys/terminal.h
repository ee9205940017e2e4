/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-terminals. */
#pragma once

#include <stdint.h>

/* A new pair from the devpts mounted at /dev/pts: close-on-exec, not the controlling terminal. */
int sys_terminal_open(int *ret_master, int *ret_slave);

int sys_terminal_resize(int master, uint16_t rows, uint16_t cols);

/* Give up the controlling terminal, if there is one, of a process that leads no session. */
int sys_terminal_leave(void);

/* Make `slave` the controlling terminal of the calling session leader. */
int sys_terminal_control(int slave);
