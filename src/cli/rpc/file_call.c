/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/file_call.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/rpc/answer.h"

enum { STACK_BYTES = 1 << 20 }; /* musl's own default is short for buffers of PATH_MAX bytes */

static void wait_for(sem_t *sem)
{
    while (sem_wait(sem) < 0 && errno == EINTR)
        ;
}

/* ---- Threads ---- */

int file_workers_init(struct file_workers *workers)
{
    *workers = (struct file_workers){.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    return workers->wake_fd < 0 ? -errno : 0;
}

void file_workers_heard(const struct file_workers *workers)
{
    uint64_t count;

    if (read(workers->wake_fd, &count, sizeof count) < 0)
        errno = 0; /* there was nothing to hear */
}

static void do_call(struct file_call *call)
{
    json_t *answer = NULL;

    call->r = call->fn(call->sandbox, call->params, &answer, &call->error);
    if (call->r == 0)
        call->answer = answer_dump(answer);
}

static void *work(void *arg)
{
    struct file_worker *worker = arg;
    uint64_t one = 1;

    for (;;) {
        wait_for(&worker->go);
        if (!worker->call)
            return NULL;
        do_call(worker->call);
        sem_post(&worker->done);
        if (write(worker->wake_fd, &one, sizeof one) < 0)
            errno = 0; /* it can only be readable already */
    }
}

static bool start(struct file_worker *worker, int wake_fd)
{
    pthread_attr_t attributes;

    if (worker->started)
        return true;
    worker->wake_fd = wake_fd;
    sem_init(&worker->go, 0, 0);
    sem_init(&worker->done, 0, 0);
    if (pthread_attr_init(&attributes) != 0)
        return false;
    worker->started = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
                      pthread_create(&worker->thread, &attributes, work, worker) == 0;
    pthread_attr_destroy(&attributes);
    return worker->started;
}

void file_workers_clear(struct file_workers *workers)
{
    for (int i = 0; i < FILE_CALLS_MAX; i++) {
        struct file_worker *worker = &workers->rows[i];

        if (!worker->started)
            continue;
        sem_post(&worker->go);
        pthread_join(worker->thread, NULL);
        worker->started = false;
    }
    fd_close(&workers->wake_fd);
}

/* ---- Calls ---- */

struct file_call *file_call_new(file_fn *fn, struct hutch_sandbox *sandbox, json_t *params)
{
    struct file_call *call = calloc(1, sizeof *call);

    if (!call)
        abort();
    call->fn = fn;
    call->sandbox = sandbox;
    call->params = json_incref(params);
    call->events_end = &call->events;
    return call;
}

void file_call_begin(struct file_call *call, struct file_workers *workers)
{
    struct file_worker *worker = workers->rows;

    while (worker->call) /* one waits: there are no more calls than these */
        worker++;
    if (!start(worker, workers->wake_fd)) {
        do_call(call);
        call->over = true;
        return;
    }
    call->worker = worker;
    worker->call = call;
    sem_post(&worker->go);
}

static void is_done(struct file_call *call)
{
    call->over = true;
    call->worker->call = NULL;
    call->worker = NULL;
}

bool file_call_is_over(struct file_call *call)
{
    if (call->worker && sem_trywait(&call->worker->done) == 0)
        is_done(call);
    return call->over;
}

void file_call_finish(struct file_call *call)
{
    if (!call->worker)
        return;
    wait_for(&call->worker->done);
    is_done(call);
}

void file_call_note(struct file_call *call, const struct hutch_event *event)
{
    size_t size = strlen(event->path) + 1;
    struct file_event *noted = malloc(sizeof *noted + size);

    if (!noted)
        abort();
    *noted = (struct file_event){.event = *event};
    memcpy(noted->path, event->path, size);
    noted->event.path = noted->path;
    *call->events_end = noted;
    call->events_end = &noted->next;
}

void file_call_free(struct file_call *call)
{
    if (!call)
        return;
    for (struct file_event *event = call->events, *next; event; event = next) {
        next = event->next;
        free(event);
    }
    json_decref(call->params);
    free(call->answer);
    free(call);
}
