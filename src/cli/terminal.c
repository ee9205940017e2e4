/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

void terminal_make_raw(struct terminal *terminal)
{
    if (tcgetattr(STDIN_FILENO, &terminal->saved) < 0)
        return;

    struct termios raw = terminal->saved;
    cfmakeraw(&raw);
    terminal->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void terminal_restore(struct terminal *terminal)
{
    if (terminal->raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->saved);
    terminal->raw = false;
}

void terminal_size(uint16_t *rows, uint16_t *cols)
{
    struct winsize size;

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
            continue;
        *rows = size.ws_row;
        *cols = size.ws_col;
        return;
    }
}
