/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many sandboxes at once, a command in each, all from one thread and one poll loop.
 *
 *     many [N]
 *
 * A run needs attention when its descriptor is readable, and only then. A sandbox that cannot be opened
 * is counted as a failure; the others go on.
 */
#include <hutch.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_COUNT = 8, MAX_COUNT = 1000 };

struct job {
    struct hutch_sandbox *sandbox;
    struct hutch_run *run;
    struct hutch_result *result; /* once it has ended */
};

static int start_job(struct job *job, const struct hutch_policy *policy, size_t number,
                     struct hutch_error *err)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    char variable[32];

    snprintf(variable, sizeof variable, "NUMBER=%zu", number);
    command.argv = (const char *const[]){"sh", "-c", "echo $((NUMBER * NUMBER))", NULL};
    command.env = (const char *const[]){variable, NULL};

    int r = hutch_sandbox_open(policy, NULL, NULL, &job->sandbox, err);
    if (r == 0)
        r = hutch_sandbox_start(job->sandbox, &command, NULL, NULL, &job->run, err);
    return r;
}

/* The run is over, with a result or without one: it and its sandbox are not needed any more. */
static void end_job(struct job *job, struct pollfd *slot)
{
    hutch_run_free(job->run);
    hutch_sandbox_close(job->sandbox);
    job->run = NULL;
    job->sandbox = NULL;
    slot->fd = -1; /* which poll() passes over */
}

static void print_error(size_t number, const struct hutch_error *err)
{
    fprintf(stderr, "many: sandbox %zu: %s: %s\n", number, hutch_code_name(err->code), err->msg);
}

/* Step whatever is ready until all have ended. */
static void run_all(struct job *jobs, struct pollfd *slots, size_t count)
{
    struct hutch_error err;
    size_t running = 0;

    for (size_t i = 0; i < count; i++)
        running += jobs[i].run != NULL;
    while (running > 0) {
        if (poll(slots, count, -1) < 0)
            continue; /* a signal */
        for (size_t i = 0; i < count; i++) {
            if (slots[i].fd < 0 || slots[i].revents == 0)
                continue;
            int r = hutch_run_step(jobs[i].run, 0, &err);
            if (r == 0)
                continue;
            if (r == 1)
                r = hutch_run_result(jobs[i].run, &jobs[i].result, &err);
            if (r < 0)
                print_error(i, &err);
            end_job(&jobs[i], &slots[i]);
            running--;
        }
    }
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_COUNT;
    static struct pollfd slots[MAX_COUNT];
    static struct job jobs[MAX_COUNT];
    struct hutch_policy *policy;
    struct hutch_error err;
    size_t succeeded = 0;
    long sum = 0;

    if (count < 1 || count > MAX_COUNT) {
        fprintf(stderr, "usage: many [1..%d]\n", MAX_COUNT);
        return 1;
    }
    if (hutch_policy_new(NULL, &policy, &err) < 0 ||
        hutch_policy_set(policy, "--workspace", "tmpfs", NULL, &err) < 0) {
        fprintf(stderr, "many: %s\n", err.msg);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        if (start_job(&jobs[i], policy, i, &err) < 0) {
            print_error(i, &err);
            end_job(&jobs[i], &slots[i]);
            continue;
        }
        slots[i] = (struct pollfd){.fd = hutch_run_fd(jobs[i].run), .events = POLLIN};
    }
    hutch_policy_free(policy);
    run_all(jobs, slots, count);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].result && jobs[i].result->exit_code == 0) {
            sum += strtol(jobs[i].result->stdout_data, NULL, 10);
            succeeded++;
        }
        hutch_result_free(jobs[i].result);
    }
    printf("%zu of %zu commands succeeded; the sum of their answers is %ld\n", succeeded, count,
           sum);
    return succeeded == count ? 0 : 1;
}
