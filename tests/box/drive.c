/* SPDX-License-Identifier: Apache-2.0 */
#include "drive.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The library ---- */

struct hutch_policy *drive_policy(const char *const *flags)
{
    struct hutch_policy *policy;
    struct hutch_error err;

    if (hutch_policy_new(NULL, &policy, &err) < 0)
        box_fatal(__FILE__, __LINE__, "%s", err.msg);
    for (; flags && *flags; flags += 2)
        if (hutch_policy_set(policy, flags[0], flags[1], NULL, &err) < 0)
            box_fatal(__FILE__, __LINE__, "%s %s: %s", flags[0], flags[1], err.msg);
    return policy;
}

/* Results are not malloc's to free, so what tests look at is copied out of them. */
static const struct hutch_result *keep_result(struct hutch_result *result)
{
    struct hutch_result *copy = box_keep(malloc(sizeof *copy));
    char *out = box_keep(malloc(result->stdout_len + 1));
    char *err = box_keep(malloc(result->stderr_len + 1));

    *copy = *result;
    memcpy(out, result->stdout_data, result->stdout_len + 1);
    memcpy(err, result->stderr_data, result->stderr_len + 1);
    copy->stdout_data = out;
    copy->stderr_data = err;
    copy->sandbox = box_text("%s", result->sandbox);
    copy->enforced = NULL;
    copy->setup = NULL;
    hutch_result_free(result);
    return copy;
}

const struct hutch_result *drive_command(const char *const *flags,
                                         const struct hutch_command *command)
{
    struct hutch_policy *policy = drive_policy(flags);
    struct hutch_result *result;
    struct hutch_error err;

    if (hutch_run(policy, command, &result, &err) < 0)
        box_fatal(__FILE__, __LINE__, "%s (errno %d, at %s)", err.msg, err.sys_errno, err.where);
    hutch_policy_free(policy);
    return keep_result(result);
}

const struct hutch_result *drive_run(const char *const *flags, const char *const *argv)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;

    command.argv = argv;
    return drive_command(flags, &command);
}

const char *drive_out(const char *const *flags, const char *const *argv)
{
    const struct hutch_result *result = drive_run(flags, argv);

    if (result->reason != HUTCH_EXITED || result->exit_code != 0)
        box_fatal(__FILE__, __LINE__, "%s ended with %s, status %d: %s%s%s", argv[1],
                  hutch_reason_name(result->reason), result->status, result->error.msg,
                  result->stdout_data, result->stderr_data);
    return result->stdout_data;
}

const char *drive_refused(const char *const *flags, const char *const *argv)
{
    struct hutch_policy *policy;
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result;
    struct hutch_error err = {0};

    REQUIRE(hutch_policy_new(NULL, &policy, &err) == 0);
    int r = 0;
    for (; r == 0 && flags && *flags; flags += 2)
        r = hutch_policy_set(policy, flags[0], flags[1], NULL, &err);
    command.argv = argv;
    if (r == 0)
        r = hutch_run(policy, &command, &result, &err);
    hutch_policy_free(policy);
    if (r == 0)
        box_fatal(__FILE__, __LINE__, "was not refused; it printed:\n%s", result->stdout_data);
    return box_text("%s (at %s)", err.msg, err.where);
}

struct hutch_sandbox *drive_open_told(const char *const *flags, hutch_event_fn *on_event, void *arg)
{
    struct hutch_policy *policy = drive_policy(flags);
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err;

    if (hutch_sandbox_open(policy, on_event, arg, &sandbox, &err) < 0)
        box_fatal(__FILE__, __LINE__, "open: %s (errno %d, at %s)", err.msg, err.sys_errno,
                  err.where);
    hutch_policy_free(policy);
    return sandbox;
}

struct hutch_sandbox *drive_open(const char *const *flags)
{
    return drive_open_told(flags, NULL, NULL);
}

struct hutch_result *drive_exec(struct hutch_sandbox *sandbox, const struct hutch_command *command)
{
    struct hutch_result *result = NULL;
    struct hutch_error err;

    if (hutch_sandbox_exec(sandbox, command, &result, &err) < 0)
        box_fatal(__FILE__, __LINE__, "exec of %s: %s (errno %d, at %s)", command->argv[0], err.msg,
                  err.sys_errno, err.where);
    return result;
}

void drive_expect_mount_points(void)
{
    static const char *const names[] = {".cache", "dev",  "etc", "proc",  "tmp",   "usr",
                                        "bin",    "sbin", "lib", "lib32", "lib64", "libx32"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (access(box_text("%s/%s", box.work, names[i]), F_OK) == 0)
            box_expect(box_text("work/%s", names[i]));
}

/* ---- The command ---- */

static char **argv_of(const char *const *args)
{
    size_t count = 0;

    while (args[count])
        count++;
    char **argv = box_keep(calloc(count + 2, sizeof *argv));
    argv[0] = box_text("hutch");
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = box_text("%s", args[i]);
    return argv;
}

struct drive_child drive_start(const char *const *args, void (*before)(void *arg), void *arg)
{
    char **argv = argv_of(args);
    int pipes[3][2];

    for (int i = 0; i < 3; i++)
        REQUIRE(pipe2(pipes[i], O_CLOEXEC) == 0);
    fflush(stdout);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        for (int i = 0; i < 3; i++)
            dup2(pipes[i][i != 0], i);
        if (before)
            before(arg);
        execv(box.hutch, argv);
        _exit(96);
    }
    for (int i = 0; i < 3; i++)
        close(pipes[i][i != 0]);
    return (struct drive_child){
        .pid = pid, .in = pipes[0][1], .out = pipes[1][0], .err = pipes[2][0]};
}

int drive_wait(pid_t pid, long *ret_max_rss_kb)
{
    struct rusage usage = {0};
    int status = 0;

    while (wait4(pid, &status, 0, &usage) < 0)
        REQUIRE(errno == EINTR);
    if (ret_max_rss_kb)
        *ret_max_rss_kb = usage.ru_maxrss;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct stream {
    char *data;
    size_t len;
    size_t size;
};

/* Read what is there; false at the end. */
static bool take(int fd, struct stream *stream)
{
    if (stream->size - stream->len < 65536) {
        stream->size = 2 * stream->size + 131072;
        stream->data = realloc(stream->data, stream->size);
        REQUIRE(stream->data);
    }
    ssize_t len = read(fd, stream->data + stream->len, stream->size - stream->len - 1);
    stream->len += len > 0 ? (size_t)len : 0;
    stream->data[stream->len] = '\0';
    return len > 0 || (len < 0 && errno == EINTR);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Feed and read the child until it has closed its output. */
static void converse(struct drive_child *child, const char *input, size_t len,
                     struct stream streams[2])
{
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);

    while (child->out >= 0 || child->err >= 0) {
        if (len == 0)
            close_end(&child->in);
        struct pollfd fds[] = {{.fd = child->in, .events = POLLOUT},
                               {.fd = child->out, .events = POLLIN},
                               {.fd = child->err, .events = POLLIN}};
        REQUIRE(poll(fds, 3, -1) > 0);
        if (fds[0].revents) {
            ssize_t done = write(child->in, input, len < 4096 ? len : 4096);
            if (done < 0)
                len = 0;
            input += done > 0 ? done : 0;
            len -= done > 0 ? (size_t)done : 0;
        }
        if (fds[1].revents && !take(child->out, &streams[0]))
            close_end(&child->out);
        if (fds[2].revents && !take(child->err, &streams[1]))
            close_end(&child->err);
    }
    close_end(&child->in);
    signal(SIGPIPE, old);
}

/* A sanitizer's remark about a stack it does not know is not hutch's, and three lines long. */
static void drop_remark(struct stream *stream)
{
    char *start = stream->data ? strstr(stream->data, "==WARNING: ASan is ignoring") : NULL;
    char *end = start;

    if (!start)
        return;
    while (start > stream->data && start[-1] != '\n')
        start--;
    for (int i = 0; i < 3 && end; i++) {
        end = strchr(end, '\n');
        end = end ? end + 1 : NULL;
    }
    if (!end)
        return;
    stream->len -= (size_t)(end - start);
    memmove(start, end, strlen(end) + 1);
}

struct drive_end drive_finish(struct drive_child *child, const char *input, size_t len)
{
    struct stream streams[2] = {{0}, {0}};
    struct drive_end end = {0};
    double start = box_now_ms();

    converse(child, input, input ? len : 0, streams);
    drop_remark(&streams[1]);
    end.status = drive_wait(child->pid, &end.max_rss_kb);
    end.ms = box_now_ms() - start;
    end.out = streams[0].data ? box_keep(streams[0].data) : "";
    end.out_len = streams[0].len;
    end.err = streams[1].data ? box_keep(streams[1].data) : "";
    end.err_len = streams[1].len;
    return end;
}

struct drive_end drive_cli(const char *const *args)
{
    struct drive_child child = drive_start(args, NULL, NULL);

    return drive_finish(&child, NULL, 0);
}

int drive_shell(const char *line)
{
    fflush(stdout);
    pid_t pid = fork();

    REQUIRE(pid >= 0);
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    return drive_wait(pid, NULL);
}

const char *drive_read_until(int fd, const char *text)
{
    struct stream stream = {0};

    while (!stream.data || !strstr(stream.data, text))
        if (!take(fd, &stream))
            box_fatal(__FILE__, __LINE__, "the end came before '%s': %s", text, stream.data);
    return box_keep(stream.data);
}
