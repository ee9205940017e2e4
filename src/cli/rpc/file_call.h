/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call about files, on a thread beside the loop, which goes on while the call takes its time. The loop
 * makes it, begins it, and is woken when it is over; what it has to say is the loop's then. All functions
 * but file_call_note() are for the thread of the loop.
 */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include <hutch.h>
#include <jansson.h>

enum { FILE_CALLS_MAX = 4 }; /* at the same time: each may hold what it read, or is to write */

/* What a call does: checked parameters in, the answer out. Returns 0, RPC_PARAMS or a hutch code. */
typedef int file_fn(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
                    struct hutch_error *err);

file_fn file_delete, file_download, file_edit, file_glob, file_grep;
file_fn file_list, file_read, file_upload, file_write;

struct file_call {
    file_fn *fn;
    struct hutch_sandbox *sandbox;
    json_t *params;             /* held */
    struct file_worker *worker; /* who does it; NULL: nobody, yet or any more */
    bool over;

    /* The thread's own until it is over. */
    int r;        /* what `fn` returned */
    char *answer; /* JSON, when that is 0 */
    struct hutch_error error;
    struct file_event *events; /* oldest first */
    struct file_event **events_end;
};

/* Something that the library told while it worked. */
struct file_event {
    struct file_event *next;
    struct hutch_event event;
    char path[]; /* the event's */
};

/* Threads that do calls, one each, and then wait for the next. */
struct file_workers {
    struct file_worker {
        pthread_t thread;
        bool started;
        sem_t go;               /* there is a `call`, or none and the end */
        sem_t done;             /* it is over */
        struct file_call *call; /* NULL: it waits */
        int wake_fd;
    } rows[FILE_CALLS_MAX];
    int wake_fd; /* readable when a call is over, which file_call_is_over() then tells */
};

/* Returns 0 or -errno. */
int file_workers_init(struct file_workers *workers);
/* All calls must be over. */
void file_workers_clear(struct file_workers *workers);
/* Make `wake_fd` wait again. */
void file_workers_heard(const struct file_workers *workers);

/* Holds `params`, whose references nobody else may count from its beginning to its end. */
struct file_call *file_call_new(file_fn *fn, struct hutch_sandbox *sandbox, json_t *params);

/* One of at most FILE_CALLS_MAX. Where no thread can be had it is done here. */
void file_call_begin(struct file_call *call, struct file_workers *workers);
bool file_call_is_over(struct file_call *call);

/* Keep what the library tells, on the thread of the call. */
void file_call_note(struct file_call *call, const struct hutch_event *event);

/* Wait for its end, if it has begun. */
void file_call_finish(struct file_call *call);

/* It must not go on. NULL is accepted. */
void file_call_free(struct file_call *call);
