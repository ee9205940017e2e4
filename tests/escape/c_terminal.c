/* SPDX-License-Identifier: Apache-2.0 */
/* Group C, third part: the caller's terminal. */
#include <errno.h>
#include <fcntl.h>
#include <linux/tiocl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "attack.h"

/* One ioctl on every descriptor that may be a terminal; 0 when one took it. */
static int on_terminals(unsigned long request, void *arg)
{
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    int fds[] = {0, 1, 2, tty};
    int last = ENOTTY;

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        /* The raw call: a library may cut the request to 32 bits. */
        if (syscall(SYS_ioctl, fds[i], request, arg) == 0)
            return 0;
        if (errno != ENOTTY && errno != EBADF)
            last = errno;
    }
    errno = last;
    return -1;
}

/* Type a command for whoever reads this terminal next. HIGH: with a bit set above the 32nd. */
static int type_ahead(char **arg)
{
    unsigned long request = TIOCSTI;
    char letter = 'X';

    if (strcmp(arg[0], "high") == 0)
        request |= 1UL << 32;
    return verdict(on_terminals(request, &letter) == 0, "typed into the terminal");
}

/* Paste into a virtual console. Outside of one the kernel says ENOTTY or EINVAL, never EPERM. */
static int paste(char **arg)
{
    char code = TIOCL_GETSHIFTSTATE;

    (void)arg;
    if (on_terminals(TIOCLINUX, &code) == 0)
        return escaped("TIOCLINUX");
    return errno == EINVAL || errno == ENOTTY
               ? escaped("TIOCLINUX reached the terminal: %s", strerror(errno))
               : held("TIOCLINUX: %s (errno %d)", strerror(errno), errno);
}

static int line_discipline(char **arg)
{
    int discipline = 0;

    (void)arg;
    return verdict(on_terminals(TIOCSETD, &discipline) == 0, "set the line discipline");
}

/* The caller's terminal, without having been given it. */
static int controlling_terminal(char **arg)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

    (void)arg;
    return verdict(fd >= 0 && write(fd, "pwned", 5) == 5, "wrote to the caller's terminal");
}

static int is_terminal(char **arg)
{
    (void)arg;
    for (int fd = 0; fd <= 2; fd++)
        if (isatty(fd))
            return escaped("descriptor %d is the caller's terminal", fd);
    return held("no standard stream is a terminal");
}

/* A name that a terminal would act on, in a process that then does what is refused and reported. */
static int odd_name(char **arg)
{
    (void)arg;
    prctl(PR_SET_NAME, "\033]52;c;eA\a");
    /* Without a target, so that nothing is mounted where nothing refuses it. */
    syscall(SYS_mount, NULL, NULL, NULL, 0UL, NULL);
    syscall(SYS_unshare, CLONE_NEWUSER);
    return done("did it under a name with an escape sequence");
}

const struct verb terminal_verbs[] = {
    {"type-ahead", "low|high", 1, type_ahead},
    {"paste", "", 0, paste},
    {"line-discipline", "", 0, line_discipline},
    {"controlling-terminal", "", 0, controlling_terminal},
    {"is-terminal", "", 0, is_terminal},
    {"odd-name", "", 0, odd_name},
    {0},
};
