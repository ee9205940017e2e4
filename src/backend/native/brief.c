/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/brief.h"

#include <errno.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"

static void wake(int signal)
{
    (void)signal; /* it has come: the call ends with EINTR */
}

int brief_begin(struct brief *brief)
{
    static const struct itimerval tick = {.it_interval.tv_usec = 2000, .it_value.tv_usec = 2000};
    const struct sigaction action = {.sa_handler = wake}; /* without SA_RESTART */
    sigset_t alarm;

    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    if (sigaction(SIGALRM, &action, NULL) < 0 ||
        sigprocmask(SIG_UNBLOCK, &alarm, &brief->before) < 0)
        return -errno;
    sigaddset(&brief->before, SIGALRM);
    if (setitimer(ITIMER_REAL, &tick, NULL) == 0)
        return 0;
    int r = -errno;
    sigprocmask(SIG_SETMASK, &brief->before, NULL);
    return r;
}

void brief_end(const struct brief *brief)
{
    static const struct itimerval off;

    setitimer(ITIMER_REAL, &off, NULL);
    sigprocmask(SIG_SETMASK, &brief->before, NULL);
}

void brief_close(int *sock)
{
    struct brief brief;

    if (*sock < 0)
        return;
    if (brief_begin(&brief) < 0)
        _exit(1); /* nothing may go on that could make init wait */
    fd_close(sock);
    brief_end(&brief);
}
