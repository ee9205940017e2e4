/* SPDX-License-Identifier: Apache-2.0 */
#include "run/box.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/err.h"
#include "run/state.h"
#include "sys/clock.h"

void box_emit(const struct hutch_sandbox *box, struct hutch_event event)
{
    if (!box->on_event)
        return;
    event.size = sizeof event;
    event.time_ms = sys_clock_ns(CLOCK_REALTIME) / 1000000U;
    event.sandbox = box->plan->id;
    box->on_event(box->arg, &event);
}

/* ---- Starting ---- */

int box_new(const struct policy *policy, bool lasting, hutch_event_fn *on_event, void *arg,
            struct hutch_sandbox **ret, struct hutch_error *err)
{
    struct plan *plan;
    int r = plan_build(policy, &plan, err);

    if (r < 0)
        return r;
    struct hutch_sandbox *box = arena_alloc(&plan->arena, sizeof *box);
    if (!box) {
        plan_free(plan);
        return err_oom(err);
    }
    plan->lasting = lasting;
    box->plan = plan;
    box->on_event = on_event;
    box->arg = arg;
    box->loop = (struct loop)LOOP_INIT;
    box->usage.user_us = box->usage.system_us = SANDBOX_UNKNOWN;
    *ret = box;
    return 0;
}

int box_start(struct hutch_sandbox *box, struct hutch_error *err)
{
    int r = backend_choose(box->plan, &box->backend, err);

    return r < 0 ? r : box->backend->start(box->plan, &box->plan->arena, &box->sandbox, err);
}

static void on_ready(struct hutch_sandbox *box, const struct sandbox_event *event)
{
    if (box->ready)
        return;
    box->ready = true;
    memcpy(box->setup, event->setup, sizeof box->setup);
    for (const struct hutch_step *step = box->setup; step->name; step++)
        box->setup_total_ms += step->ms;
    box_emit(box, (struct hutch_event){.type = HUTCH_EVENT_SANDBOX_STARTED});
}

int box_wait(struct hutch_sandbox *box, struct hutch_error *err)
{
    struct pollfd fds[] = {{.fd = box->sandbox->events_fd, .events = POLLIN},
                           {.fd = box->sandbox->exit_fd, .events = POLLIN}};

    while (!box->ready) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return err_sys(err, -errno, "sandbox", "cannot wait for the sandbox");
        int r = box_pump(box, NULL, err);
        if (r == 0 && !box->ready && fds[1].revents)
            r = box_reap(box, NULL, err);
        if (r < 0)
            return r;
        if (fds[0].revents & POLLHUP)
            fds[0].fd = -1; /* all was heard; its end is still to come */
        if (box->gone)
            return err_set(err, HUTCH_EINTERNAL, "sandbox",
                           "the sandbox's first process ended unexpectedly");
    }
    return 0;
}

/* ---- Listening ---- */

static struct hutch_run *find_run(const struct hutch_sandbox *box, uint32_t id)
{
    struct hutch_run *run = box->runs;

    while (run && run->id != id)
        run = run->next;
    return run;
}

/* The first thing that goes wrong is what everybody is told. */
static int break_box(struct hutch_sandbox *box, struct hutch_run *current,
                     const struct hutch_error *error)
{
    if (!box->error.code) {
        struct hutch_error first = *error;
        first.code = 0;
        box->error = first;
        /* Calls on files look at this, and at `gone`, from other threads. */
        __atomic_store_n(&box->error.code, error->code, __ATOMIC_RELEASE);
    }
    for (struct hutch_run *run = box->runs; run; run = run->next)
        if (run != current)
            run_wake(run);
    return box->error.code;
}

static int deliver(struct hutch_run *run, const struct hutch_run *current,
                   struct sandbox_event *event)
{
    int r = run_on_event(run, event);

    if (run != current)
        run_wake(run);
    return r;
}

/* What no run is known to have done: every run hears of it that could have, or else the sandbox's owner. */
static void deliver_to_all(struct hutch_sandbox *box, const struct hutch_run *current,
                           struct sandbox_event *event)
{
    bool heard = false;

    for (struct hutch_run *run = box->runs; event->run == 0 && run; run = run->next) {
        if (run->state > RUN_RUNNING)
            continue;
        deliver(run, current, event);
        heard = true;
    }
    const struct hutch_violation violation = run_violation(&event->violation);
    if (!heard)
        box_emit(box, (struct hutch_event){.type = HUTCH_EVENT_VIOLATION, .violation = &violation});
}

static int on_event(struct hutch_sandbox *box, const struct hutch_run *current,
                    struct sandbox_event *event)
{
    struct hutch_run *run = find_run(box, event->run);

    if (event->type == SANDBOX_READY)
        return 0;
    if (run)
        return deliver(run, current, event);
    if (event->type == SANDBOX_VIOLATION)
        deliver_to_all(box, current, event);
    fd_close(&event->terminal); /* nobody is left who wanted it */
    return 0;
}

int box_pump(struct hutch_sandbox *box, struct hutch_run *current, struct hutch_error *err)
{
    struct sandbox_event event;
    struct hutch_error error = {0};
    int r;

    while ((r = box->sandbox->ops->next(box->sandbox, &event, &error)) > 0) {
        if (event.type == SANDBOX_FAILED) {
            r = break_box(box, current, &event.error);
            break;
        }
        if (event.type != SANDBOX_VIOLATION && event.type != SANDBOX_EXITED)
            on_ready(box, &event);
        r = on_event(box, current, &event);
        if (r < 0) {
            err_sys(&error, r, "sandbox", "the sandbox's first process spoke out of turn");
            break;
        }
    }
    if (r < 0 && !box->error.code)
        break_box(box, current, &error);
    if (box->error.code && err)
        *err = box->error;
    return box->error.code;
}

/* Init has ended, and with it everything in the sandbox. */
int box_reap(struct hutch_sandbox *box, struct hutch_run *current, struct hutch_error *err)
{
    int r = box_pump(box, current, err); /* its last words may still be in the socket */

    if (r < 0 || box->gone)
        return r;
    r = box->sandbox->ops->wait(box->sandbox, &box->exit);
    if (r == -EAGAIN)
        return 0;
    if (r < 0)
        return err_sys(err, r, "run", "cannot wait for the sandbox");
    __atomic_store_n(&box->gone, true, __ATOMIC_RELEASE);
    for (struct hutch_run *run = box->runs; run; run = run->next)
        if (run != current)
            run_wake(run);
    return 0;
}

/* ---- Ending ---- */

void box_free(struct hutch_sandbox *box)
{
    if (!box)
        return;
    for (struct hutch_run *run = box->runs; run; run = run->next)
        run->box = NULL;
    if (box->sandbox)
        box->sandbox->ops->free(box->sandbox);
    loop_close(&box->loop);
    disk_clear(&box->disk);
    plan_free(box->plan); /* with the box, which is in its arena */
}
