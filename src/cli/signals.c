/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"

int signals_open(struct signals *signals, struct hutch_error *err)
{
    static const int wanted[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};
    size_t count = ARRAY_LEN(wanted) - !signals->stop;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < count; i++) {
        struct sigaction action;

        /* A blocked signal is queued even when it is ignored, and nohup means it should not be. */
        if (sigaction(wanted[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&set, wanted[i]);
    }

    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return err_sys(err, -errno, "signals", "cannot watch for signals");
    sigprocmask(SIG_BLOCK, &set, &signals->saved);
    signals->fd = fd;
    return 0;
}

int signals_next(struct signals *signals)
{
    struct signalfd_siginfo info;

    return read(signals->fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

void signals_act(int signal)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

void signals_close(struct signals *signals)
{
    if (signals->fd < 0)
        return;
    /* What came too late for the command must not end us before its result is printed. */
    while (signals_next(signals))
        ;
    fd_close(&signals->fd);
    sigprocmask(SIG_SETMASK, &signals->saved, NULL);
}
