/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's own terminal while a command with a terminal of its own runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct terminal {
    bool raw;             /* it must be put back */
    struct termios saved; /* how stdin's terminal was */
};

/*
 * Pass every key on unseen: the terminal inside does the echo, the editing and Ctrl-C. Does nothing
 * when stdin is no terminal.
 */
void terminal_make_raw(struct terminal *terminal);

/* Put it back as it was. May be called again. */
void terminal_restore(struct terminal *terminal);

#define terminal_auto __attribute__((cleanup(terminal_restore)))

/* The size of the terminal that is stdin, stdout or stderr; untouched when none is. */
void terminal_size(uint16_t *rows, uint16_t *cols);
