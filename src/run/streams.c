/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The standard streams of a command: what connects them with the caller's descriptors, with captures and
 * with events, and the input that the caller writes itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "run/run.h"
#include "run/state.h"
#include "sys/path.h"
#include "sys/ret.h"
#include "sys/terminal.h"

#define END_OF_TRANSMISSION 4

/* ---- Connecting ---- */

static void emit_output(struct hutch_run *run, int stream, const char *data, size_t len)
{
    run_emit(run,
             (struct hutch_event){
                 .type = HUTCH_EVENT_RUN_OUTPUT, .stream = stream, .data = data, .data_len = len});
}

static void on_stdout(void *arg, const char *data, size_t len)
{
    emit_output(arg, 1, data, len);
}

static void on_stderr(void *arg, const char *data, size_t len)
{
    emit_output(arg, 2, data, len);
}

static int nonblocking(int fd)
{
    return ret_errno(fcntl(fd, F_SETFL, O_NONBLOCK));
}

/* Connect the engine's end of an output stream. Takes *src. */
static int start_output(struct hutch_run *run, int stream, int *src)
{
    struct relay_ends ends = {
        .src = src,
        .on_output = !run->on_event ? NULL
                     : stream == 1  ? on_stdout
                                    : on_stderr,
        .arg = run,
    };

    if (run->caller[stream] >= 0)
        ends.dst = &run->caller[stream];
    else
        ends.capture = &run->capture[stream - 1];
    int r = nonblocking(*src);
    return r < 0 ? r
                 : relay_start(&run->output[stream - 1], run->loop.epoll,
                               stream == 1 ? TAG_STDOUT : TAG_STDERR, &ends);
}

/* Connect the caller's input to `dst`. Takes *dst. Without input the command sees its end. */
static int start_input(struct hutch_run *run, int *dst, bool terminal)
{
    struct relay_ends ends = {
        .src = &run->caller[0], .dst = dst, .src_blocks = true, .terminal_in = terminal};

    if (run->caller[0] < 0 && !run->stdin_open) {
        fd_close(dst);
        return 0;
    }
    int r = nonblocking(*dst);
    if (r == 0 && run->stdin_open) {
        run->stdin_fd = fd_take(dst);
        return 0;
    }
    return r < 0 ? r : relay_start(&run->input, run->loop.epoll, TAG_STDIN, &ends);
}

int run_make_pipes(struct hutch_run *run, int stdio[3])
{
    for (int i = 0; i < 3; i++) {
        int ends[2];
        int r = ret_errno(pipe2(ends, O_CLOEXEC));
        if (r < 0)
            return r;
        run->pipes[i] = ends[i == 0];
        stdio[i] = ends[i != 0];
    }
    /* The caller may write at once, or close it. */
    return run->stdin_open ? start_input(run, &run->pipes[0], false) : 0;
}

int run_connect_pipes(struct hutch_run *run, bool over)
{
    int r = 0;

    if (over)
        fd_close(&run->pipes[0]);
    else if (run->pipes[0] >= 0)
        r = start_input(run, &run->pipes[0], false);
    for (int i = 1; r == 0 && i < 3; i++) {
        if (run->pipes[i] < 0)
            continue;
        if (over && relay_finds_nothing(run->pipes[i]))
            fd_close(&run->pipes[i]);
        else
            r = start_output(run, i, &run->pipes[i]);
    }
    return r;
}

int run_start_terminal(struct hutch_run *run, int *master)
{
    fd_auto int out = sys_dup(*master, 3);
    if (out < 0)
        return out;
    fd_auto int in = sys_dup(*master, 3);
    if (in < 0)
        return in;
    run->terminal = fd_take(master);

    int r = run->resized ? sys_terminal_resize(run->terminal, run->command.rows, run->command.cols)
                         : 0;
    if (r == 0)
        r = start_output(run, 1, &out);
    return r < 0 ? r : start_input(run, &in, true);
}

int run_take_caller_fds(struct hutch_run *run, const struct hutch_command *command)
{
    const int given[3] = {command->stdin_fd, command->stdout_fd, command->stderr_fd};

    for (int i = 0; i < 3; i++) {
        if (given[i] < 0)
            continue;
        run->caller[i] = sys_dup(given[i], 3);
        if (run->caller[i] < 0)
            return run->caller[i];
    }
    return 0;
}

/* ---- Receivers that go away ---- */

void run_begin_quiet(struct run_quiet *quiet)
{
    sigemptyset(&quiet->pipe_set);
    sigaddset(&quiet->pipe_set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &quiet->pipe_set, &quiet->old);
}

void run_end_quiet(const struct run_quiet *quiet)
{
    const struct timespec no_time = {0};

    if (sigismember(&quiet->old, SIGPIPE))
        return;
    while (sigtimedwait(&quiet->pipe_set, NULL, &no_time) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &quiet->old, NULL);
}

/* ---- Input that the caller writes ---- */

static int no_reader(struct hutch_error *err)
{
    return err_set(err, HUTCH_ESTATE, "stdin",
                   "nobody reads it: the command has no input, or does not want any more");
}

int run_write(struct hutch_run *run, const void *data, size_t len, struct hutch_error *err)
{
    struct epoll_event room = {.events = EPOLLOUT | EPOLLONESHOT, .data.u32 = TAG_ROOM};
    struct run_quiet quiet;

    if (run->stdin_open && run->stdin_fd < 0 && run->state == RUN_SETTING_UP)
        return 0; /* a terminal is made inside, and not here yet */
    if (run->stdin_fd < 0)
        return no_reader(err);
    run_begin_quiet(&quiet);
    ssize_t done = write(run->stdin_fd, data, len < INT_MAX ? len : INT_MAX);
    int error = done < 0 ? errno : 0;
    run_end_quiet(&quiet);
    if (error && error != EAGAIN && error != EINTR) {
        fd_close(&run->stdin_fd);
        return no_reader(err);
    }
    if ((size_t)(done < 0 ? 0 : done) < len &&
        epoll_ctl(run->loop.epoll, EPOLL_CTL_MOD, run->stdin_fd, &room) < 0 &&
        epoll_ctl(run->loop.epoll, EPOLL_CTL_ADD, run->stdin_fd, &room) < 0)
        return err_sys(err, -errno, "stdin", "cannot wait for room");
    return done < 0 ? 0 : (int)done;
}

int run_close_stdin(struct hutch_run *run, struct hutch_error *err)
{
    const char eot = END_OF_TRANSMISSION;

    if (!run->stdin_open || (run->stdin_fd < 0 && run->state == RUN_SETTING_UP))
        return err_set(err, HUTCH_ESTATE, "stdin", "there is none to close yet");
    if (run->terminal >= 0 && run->stdin_fd >= 0 && write(run->stdin_fd, &eot, 1) < 0)
        errno = 0; /* a terminal that takes no more has nobody reading from it either */
    fd_close(&run->stdin_fd);
    return 0;
}

/* ---- Terminal ---- */

int run_resize(struct hutch_run *run, uint16_t rows, uint16_t cols, struct hutch_error *err)
{
    int r = run->terminal >= 0 ? sys_terminal_resize(run->terminal, rows, cols) : 0;

    run->resized = true;
    run->command.rows = rows;
    run->command.cols = cols;
    return r < 0 ? err_sys(err, r, "tty", "cannot resize the terminal") : 0;
}
