/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/timer.h"

#include <poll.h>
#include <sys/timerfd.h>

#define DEADLINE (1 << TIMER_DEADLINE)
#define MONITOR (1 << TIMER_MONITOR)

/* Wait until the descriptor is readable; what is due then. */
static int wait_and_take(struct timer *timer)
{
    struct pollfd ready = {.fd = timer->fd, .events = POLLIN};

    assert_int_equal(1, poll(&ready, 1, 10000));
    return timer_take(timer);
}

static bool is_armed(const struct timer *timer)
{
    struct itimerspec left;

    assert_int_equal(0, timerfd_gettime(timer->fd, &left));
    return left.it_value.tv_sec || left.it_value.tv_nsec;
}

static void each_is_due_once(void **state)
{
    struct timer timer;

    (void)state;
    assert_int_equal(0, timer_open(&timer));
    assert_int_equal(0, timer_take(&timer));
    assert_int_equal(0, timer_set(&timer, TIMER_DEADLINE, 2));
    assert_int_equal(0, timer_set(&timer, TIMER_MONITOR, 1000000));
    assert_int_equal(DEADLINE, wait_and_take(&timer));
    assert_int_equal(0, timer_take(&timer));
    assert_true(is_armed(&timer)); /* for the other one */
    assert_int_equal(0, timer_set(&timer, TIMER_MONITOR, 1));
    assert_int_equal(MONITOR, wait_and_take(&timer));
    assert_false(is_armed(&timer));
    timer_close(&timer);
}

static void what_is_forgotten_is_never_due(void **state)
{
    struct timer timer;

    (void)state;
    assert_int_equal(0, timer_open(&timer));
    assert_int_equal(0, timer_set(&timer, TIMER_DEADLINE, 1));
    timer_forget(&timer);
    assert_int_equal(0, timer_set(&timer, TIMER_MONITOR, 3));
    int due = 0;
    while (due == 0) /* once for nothing */
        due = wait_and_take(&timer);
    assert_int_equal(MONITOR, due);
    assert_false(is_armed(&timer));
    timer_close(&timer);
}

static void the_earlier_comes_first_whichever_was_set_first(void **state)
{
    (void)state;
    for (unsigned first = 0; first < TIMER_COUNT; first++) {
        enum timer_for early = first;
        enum timer_for late = 1 - first;
        struct timer timer;
        assert_int_equal(0, timer_open(&timer));
        assert_int_equal(0, timer_set(&timer, late, 30));
        assert_int_equal(0, timer_set(&timer, early, 1));
        assert_int_equal(1 << early, wait_and_take(&timer));
        assert_int_equal(1 << late, wait_and_take(&timer));
        timer_close(&timer);
    }
}

/* It may be readable when what it was armed for comes later now; nothing is due then, and nothing is lost. */
static void what_is_put_off_is_due_later(void **state)
{
    struct timer timer;
    int due;

    (void)state;
    assert_int_equal(0, timer_open(&timer));
    assert_int_equal(0, timer_set(&timer, TIMER_DEADLINE, 1));
    assert_int_equal(0, timer_set(&timer, TIMER_DEADLINE, 60));
    due = wait_and_take(&timer);
    assert_true(due == 0 || due == DEADLINE); /* where we were held up for so long */
    if (due == 0)
        assert_int_equal(DEADLINE, wait_and_take(&timer));
    timer_close(&timer);
}

static void both_can_be_due(void **state)
{
    struct timer timer;
    struct pollfd none = {.fd = -1};

    (void)state;
    assert_int_equal(0, timer_open(&timer));
    assert_int_equal(0, timer_set(&timer, TIMER_DEADLINE, 1));
    assert_int_equal(0, timer_set(&timer, TIMER_MONITOR, 2));
    poll(&none, 1, 5);
    assert_int_equal(DEADLINE | MONITOR, wait_and_take(&timer));
    timer_close(&timer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_due_once),
        cmocka_unit_test(what_is_forgotten_is_never_due),
        cmocka_unit_test(the_earlier_comes_first_whichever_was_set_first),
        cmocka_unit_test(what_is_put_off_is_due_later),
        cmocka_unit_test(both_can_be_due),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
