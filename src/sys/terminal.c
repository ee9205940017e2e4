/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/fd.h"
#include "sys/path.h"
#include "sys/ret.h"

#define K_TIOCGPTPEER 0x5441

int sys_terminal_open(int *ret_master, int *ret_slave)
{
    int unlock = 0;
    fd_auto int master = ret_errno(open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (master < 0)
        return master;

    int r = ret_errno(ioctl(master, TIOCSPTLCK, &unlock));
    if (r < 0)
        return r;
    /* Not by name: /dev/pts/N could be anything by then. */
    int slave = ret_errno(ioctl(master, K_TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (slave < 0)
        return slave;
    *ret_master = fd_take(&master);
    *ret_slave = slave;
    return 0;
}

int sys_terminal_resize(int master, uint16_t rows, uint16_t cols)
{
    struct winsize size = {.ws_row = rows, .ws_col = cols};

    return ret_errno(ioctl(master, TIOCSWINSZ, &size));
}

int sys_terminal_control(int slave)
{
    return ret_errno(ioctl(slave, TIOCSCTTY, 0));
}

int sys_terminal_leave(void)
{
    fd_auto int fd = sys_open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK);

    /* Only who has one can open it. */
    if (fd == -ENXIO || fd == -ENOENT || fd == -EIO)
        return 0;
    return fd < 0 ? fd : ret_errno(ioctl(fd, TIOCNOTTY));
}
