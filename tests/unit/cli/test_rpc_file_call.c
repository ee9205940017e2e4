/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/rpc/file_call.h"

#include <poll.h>
#include <stdio.h>

#include "base/err.h"

/* A call that waits until it is let go. */
static sem_t gate;
static struct file_call *now;
static pthread_t caller;

static int pass(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
                struct hutch_error *err)
{
    const char *path = json_string_value(json_object_get(params, "path"));
    char name[32];

    sem_wait(&gate);
    if (!path)
        return err_set(err, HUTCH_EINVALID, "path", "there is none");
    caller = pthread_self();
    snprintf(name, sizeof name, "/tmp/%s", path);
    file_call_note(now, &(struct hutch_event){.type = HUTCH_EVENT_FILE_WRITTEN, .path = name});
    file_call_note(now, &(struct hutch_event){.type = HUTCH_EVENT_FILE_WRITTEN, .path = path});
    *ret = json_pack("{s:s}", "did", path);
    return 0;
}

static struct file_call *begin(struct file_workers *workers, const char *path)
{
    json_t *params = path ? json_pack("{s:s}", "path", path) : json_object();

    now = file_call_new(pass, NULL, params);
    json_decref(params);
    file_call_begin(now, workers);
    return now;
}

static bool is_readable(int fd)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
}

static void answers_and_events_are_there_when_it_is_over(void **state)
{
    struct file_workers workers;

    assert_int_equal(file_workers_init(&workers), 0);
    for (int i = 0; i < 3; i++) {
        struct file_call *call = begin(&workers, "file");

        assert_false(file_call_is_over(call));
        assert_false(is_readable(workers.wake_fd));
        sem_post(&gate);
        poll(&(struct pollfd){.fd = workers.wake_fd, .events = POLLIN}, 1, -1);
        file_workers_heard(&workers);
        assert_false(is_readable(workers.wake_fd));
        assert_true(file_call_is_over(call) && file_call_is_over(call));
        assert_false(pthread_equal(caller, pthread_self()));
        assert_int_equal(call->r, 0);
        assert_string_equal(call->answer, "{\"did\":\"file\"}");
        assert_string_equal(call->events->event.path, "/tmp/file");
        assert_string_equal(call->events->next->event.path, "file");
        assert_null(call->events->next->next);
        file_call_free(call);
    }
    file_workers_clear(&workers);
}

static void a_failure_is_told(void **state)
{
    struct file_workers workers;

    assert_int_equal(file_workers_init(&workers), 0);
    struct file_call *call = begin(&workers, NULL);
    sem_post(&gate);
    file_call_finish(call);
    assert_true(file_call_is_over(call));
    assert_int_equal(call->r, HUTCH_EINVALID);
    assert_string_equal(call->error.where, "path");
    assert_null(call->answer);
    file_call_free(call);
    file_workers_clear(&workers);
}

static void as_many_as_there_may_be_go_on_at_once(void **state)
{
    struct file_call *calls[FILE_CALLS_MAX];
    struct file_workers workers;

    assert_int_equal(file_workers_init(&workers), 0);
    for (int i = 0; i < FILE_CALLS_MAX; i++)
        calls[i] = begin(&workers, NULL);
    for (int i = 0; i < FILE_CALLS_MAX; i++)
        assert_false(file_call_is_over(calls[i]));
    for (int i = 0; i < FILE_CALLS_MAX; i++)
        sem_post(&gate);
    for (int i = 0; i < FILE_CALLS_MAX; i++) {
        file_call_finish(calls[i]);
        file_call_free(calls[i]);
    }
    file_workers_clear(&workers);
}

static void one_that_never_began_is_freed(void **state)
{
    json_t *params = json_object();
    struct file_call *call = file_call_new(pass, NULL, params);

    json_decref(params);
    file_call_finish(call);
    assert_false(file_call_is_over(call));
    file_call_free(call);
    file_call_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_events_are_there_when_it_is_over),
        cmocka_unit_test(a_failure_is_told),
        cmocka_unit_test(as_many_as_there_may_be_go_on_at_once),
        cmocka_unit_test(one_that_never_began_is_freed),
    };

    sem_init(&gate, 0, 0);
    return cmocka_run_group_tests_name("rpc file call", tests, NULL, NULL);
}
