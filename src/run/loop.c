/* SPDX-License-Identifier: Apache-2.0 */
#include "run/loop.h"

#include <sys/epoll.h>

#include "base/fd.h"
#include "run/state.h"
#include "sys/ret.h"

int loop_watch(const struct loop *loop, int fd, uint32_t tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = tag};

    return ret_errno(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event));
}

void loop_unwatch(const struct loop *loop, int fd)
{
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
}

int loop_open(struct loop *loop, const struct sandbox *sandbox)
{
    loop->epoll = ret_errno(epoll_create1(EPOLL_CLOEXEC));
    if (loop->epoll < 0)
        return loop->epoll;
    int r = loop_watch(loop, sandbox->events_fd, TAG_EVENTS);
    if (r == 0)
        r = loop_watch(loop, sandbox->exit_fd, TAG_EXIT);
    if (r == 0)
        r = timer_open(&loop->timer);
    return r < 0 ? r : loop_watch(loop, loop->timer.fd, TAG_TIMER);
}

void loop_close(struct loop *loop)
{
    timer_close(&loop->timer);
    fd_close(&loop->epoll);
}

struct loop loop_take(struct loop *loop)
{
    struct loop taken = *loop;

    *loop = (struct loop)LOOP_INIT;
    timer_forget(&taken.timer);
    return taken;
}
