/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void die(const char *fmt, ...)
{
    va_list args;

    fputs("bench: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void make_dir(char *path, const char *parent, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/%s", parent, name) >= PATH_MAX)
        die("the path of '%s' is too long", name);
    if (mkdir(path, 0755) < 0)
        die("cannot make '%s': %s", path, strerror(errno));
}

/* ---- Processes ----------------------------------------------------------------------------- */

pid_t start(const char *const *argv, const char *cwd, int in, int out, int error)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, cwd);
    if (in >= 0)
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (error >= 0)
        posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);

    int r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (r != 0)
        die("cannot start %s: %s", argv[0], strerror(r));
    return pid;
}

void finish(pid_t pid, const char *name)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        die("cannot wait for %s: %s", name, strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        die("'%s' failed with wait status 0x%x", name, (unsigned)status);
}

void make_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        die("cannot make a pipe: %s", strerror(errno));
}

/* Read both ends until nobody can write to them any more. */
static void capture(const int fds[2])
{
    struct pollfd slots[2] = {{.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
    char buf[4096];

    for (int open = 2; open > 0;) {
        if (poll(slots, 2, -1) < 0 && errno != EINTR)
            die("cannot poll: %s", strerror(errno));
        for (int i = 0; i < 2; i++) {
            if (slots[i].fd >= 0 && slots[i].revents && read(slots[i].fd, buf, sizeof buf) <= 0) {
                close(slots[i].fd);
                slots[i].fd = -1;
                open--;
            }
        }
    }
}

void run_captured(const char *const *argv, const char *cwd)
{
    int out[2];
    int error[2];

    make_pipe(out);
    make_pipe(error);
    pid_t pid = start(argv, cwd, -1, out[1], error[1]);
    close(out[1]);
    close(error[1]);
    capture((const int[]){out[0], error[0]});
    finish(pid, argv[0]);
}

/* ---- Sandboxes ----------------------------------------------------------------------------- */

struct hutch_policy *make_policy(const char *workspace)
{
    struct hutch_policy *policy;
    struct hutch_error err;

    if (hutch_policy_new("default", &policy, &err) < 0 ||
        hutch_policy_set(policy, "--workspace", workspace, NULL, &err) < 0)
        die("cannot make a policy: %s", err.msg);
    return policy;
}

static struct hutch_sandbox *opened;

void close_sandbox(void)
{
    hutch_sandbox_close(opened);
    opened = NULL;
}

struct hutch_sandbox *open_sandbox(const char *workspace)
{
    struct hutch_policy *policy = make_policy(workspace);
    struct hutch_error err;

    atexit(close_sandbox);
    if (hutch_sandbox_open(policy, NULL, NULL, &opened, &err) < 0)
        die("cannot open a sandbox: %s", err.msg);
    hutch_policy_free(policy);
    return opened;
}

void exec_in(struct hutch_sandbox *sandbox, const char *const *argv)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result;
    struct hutch_error err;

    command.argv = argv;
    if (hutch_sandbox_exec(sandbox, &command, &result, &err) < 0)
        die("cannot run %s in a sandbox: %s", argv[0], err.msg);
    if (result->exit_code != 0)
        die("%s failed in a sandbox: %s, status %d", argv[0], hutch_reason_name(result->reason),
            result->status);
    hutch_result_free(result);
}

/* ---- Numbers ------------------------------------------------------------------------------- */

double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

double *make_numbers(size_t count)
{
    double *numbers = calloc(count, sizeof *numbers);

    if (!numbers)
        die("out of memory");
    return numbers;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double percentile(double *values, size_t n, unsigned percent)
{
    qsort(values, n, sizeof *values, compare);
    return values[(n - 1) * percent / 100];
}

/* A small generator of our own: every run of the benchmark has the same orders. */
static unsigned next_random(unsigned *state)
{
    *state = *state * 1103515245U + 12345U;
    return *state >> 16;
}

void shuffle(int *order, int count, unsigned *state)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(next_random(state) % (unsigned)(i + 1));
        int kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

#define TURNS_MAX 8

void take_turns(const struct bench *bench, struct turn *turns, int count, turn_fn *run)
{
    double *us[TURNS_MAX] = {NULL};
    int order[TURNS_MAX];
    unsigned state = 1;

    if (count > TURNS_MAX)
        die("there are more than %d cases", TURNS_MAX);
    for (int i = 0; i < count; i++) {
        us[i] = make_numbers(bench->iterations);
        order[i] = i;
        run(bench, i); /* the first ones read from disk */
    }
    for (size_t n = 0; n < bench->iterations; n++) {
        check_stop();
        shuffle(order, count, &state);
        for (int i = 0; i < count; i++) {
            double begin = now_us();
            run(bench, order[i]);
            us[order[i]][n] = now_us() - begin;
        }
    }
    for (int i = 0; i < count; i++) {
        turns[i].p50 = percentile(us[i], bench->iterations, 50);
        turns[i].p90 = percentile(us[i], bench->iterations, 90);
        free(us[i]);
    }
}

void print_turns(const char *title, const struct turn *turns, int count, size_t rounds)
{
    printf("%-34s %8s %8s %9s\n", title, "p50 us", "p90 us", "x bare");
    for (int i = 0; i < count; i++)
        printf("  %-32s %8.0f %8.0f%9.2f\n", turns[i].name, turns[i].p50, turns[i].p90,
               turns[i].p50 / turns[0].p50);
    printf("  (%zu of each, taking turns; ratios of p50)\n", rounds);
}

void print_turns_json(const char *title, const struct turn *turns, int count)
{
    printf("\"%s\": {", title);
    for (int i = 0; i < count; i++)
        printf("%s\"%s\": {\"p50_us\": %.1f, \"p90_us\": %.1f, \"to_bare\": %.3f}", i ? ", " : "",
               turns[i].key, turns[i].p50, turns[i].p90, turns[i].p50 / turns[0].p50);
    putchar('}');
}

void print_goal(const char *what, double value, const char *relation, double goal)
{
    bool met = relation[0] == '<' ? value <= goal : value >= goal;

    printf("  %-38s %6.2f  %s %.2f  %s\n", what, value, relation, goal, met ? "yes" : "NO");
}
