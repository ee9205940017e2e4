/* SPDX-License-Identifier: Apache-2.0 */
#include "run/timer.h"

#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/clock.h"
#include "sys/ret.h"

int timer_open(struct timer *timer)
{
    *timer = (struct timer){
        .fd = ret_errno(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK))};
    return timer->fd < 0 ? timer->fd : 0;
}

void timer_close(struct timer *timer)
{
    fd_close(&timer->fd);
}

void timer_forget(struct timer *timer)
{
    memset(timer->due_ns, 0, sizeof timer->due_ns);
}

/* Nothing to do when it is readable before that anyway. */
static int arm(struct timer *timer, uint64_t at_ns)
{
    const struct itimerspec spec = {.it_value = {.tv_sec = (time_t)(at_ns / 1000000000),
                                                 .tv_nsec = (long)(at_ns % 1000000000)}};

    if (timer->armed_ns && timer->armed_ns <= at_ns)
        return 0;
    int r = ret_errno(timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &spec, NULL));
    if (r == 0)
        timer->armed_ns = at_ns;
    return r;
}

int timer_set(struct timer *timer, enum timer_for what, uint64_t ms)
{
    timer->due_ns[what] = sys_clock_ns(CLOCK_MONOTONIC) + ms * 1000000;
    return arm(timer, timer->due_ns[what]);
}

int timer_take(struct timer *timer)
{
    uint64_t expirations;
    int due = 0;

    if (read(timer->fd, &expirations, sizeof expirations) < 0)
        return 0;
    timer->armed_ns = 0;
    uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < TIMER_COUNT; i++) {
        if (timer->due_ns[i] > now_ns) {
            int r = arm(timer, timer->due_ns[i]);
            if (r < 0)
                return r;
        } else if (timer->due_ns[i]) {
            timer->due_ns[i] = 0;
            due |= 1 << i;
        }
    }
    return due;
}
