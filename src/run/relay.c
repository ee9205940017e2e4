/* SPDX-License-Identifier: Apache-2.0 */
#include "run/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* As much as a pipe can be made to hold. */
#define SPLICE_BYTES (1U << 20)
#define SMALL_BYTES 4096U
#define END_OF_TRANSMISSION 4

static bool is_kind(int fd, mode_t a, mode_t b)
{
    struct stat st;

    return fstat(fd, &st) == 0 && ((st.st_mode & S_IFMT) == a || (st.st_mode & S_IFMT) == b);
}

/* Watch for `events` (0: for nothing but errors); remembers whether the descriptor can be polled. */
static int watch(struct relay *relay, int fd, bool *polled, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u32 = relay->tag};

    if (epoll_ctl(relay->epoll, *polled ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0)
        return errno == EPERM ? 0 : -errno;
    *polled = true;
    return 0;
}

static void unwatch(struct relay *relay, int fd, bool *polled)
{
    if (*polled)
        epoll_ctl(relay->epoll, EPOLL_CTL_DEL, fd, NULL);
    *polled = false;
}

/* Waiting is for one side at a time: for bytes, or for room for them. */
static int wait_for_bytes(struct relay *relay)
{
    if (relay->dst >= 0)
        unwatch(relay, relay->dst, &relay->dst_polled);
    int r = watch(relay, relay->src, &relay->src_polled, EPOLLIN);
    if (r < 0 || relay->src_polled || relay->dst < 0)
        return r;
    /* Input from a file is always there; what can be waited for is room in the command's pipe. */
    return watch(relay, relay->dst, &relay->dst_polled, EPOLLOUT);
}

static int wait_for_room(struct relay *relay)
{
    unwatch(relay, relay->src, &relay->src_polled);
    return watch(relay, relay->dst, &relay->dst_polled, EPOLLOUT);
}

int relay_start(struct relay *relay, int epoll, uint32_t tag, const struct relay_ends *ends)
{
    *relay = (struct relay){
        .epoll = epoll,
        .tag = tag,
        .src = fd_take(ends->src),
        .dst = ends->dst ? fd_take(ends->dst) : -1,
        .capture = ends->capture,
        .on_output = ends->on_output,
        .arg = ends->arg,
        .src_blocks = ends->src_blocks,
        .terminal_in = ends->terminal_in,
    };
    relay->dst_is_file = relay->dst >= 0 && is_kind(relay->dst, S_IFREG, S_IFREG);
    relay->splice = relay->dst >= 0 && !relay->on_output && is_kind(relay->src, S_IFIFO, S_IFREG) &&
                    is_kind(relay->dst, S_IFIFO, S_IFREG);
    return wait_for_bytes(relay);
}

void relay_stop(struct relay *relay)
{
    /* Explicitly: a duplicate held elsewhere would keep a closed descriptor in the set. */
    if (relay->src >= 0)
        unwatch(relay, relay->src, &relay->src_polled);
    if (relay->dst >= 0)
        unwatch(relay, relay->dst, &relay->dst_polled);
    fd_close(&relay->src);
    fd_close(&relay->dst);
    free(relay->buffer);
    relay->buffer = NULL;
}

bool relay_finds_nothing(int src)
{
    struct pollfd poll_fd = {.fd = src, .events = POLLIN};

    return poll(&poll_fd, 1, 0) >= 0 && !(poll_fd.revents & POLLIN);
}

bool relay_is_idle(const struct relay *relay)
{
    return relay->start == relay->end && relay_finds_nothing(relay->src);
}

static bool has_room(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};

    return poll(&poll_fd, 1, 0) > 0;
}

static int end_of_input(struct relay *relay)
{
    if (relay->terminal_in && has_room(relay->dst)) {
        const char eot = END_OF_TRANSMISSION;
        /* A terminal that takes no more has nobody reading from it either. */
        if (write(relay->dst, &eot, 1) < 0)
            errno = 0;
    }
    relay_stop(relay);
    return 0;
}

/* Nobody reads any more, or a disk is full: the command gets SIGPIPE when it writes on. */
static int receiver_failed(struct relay *relay, int error)
{
    if (error != EPIPE)
        relay->error = error;
    relay_stop(relay);
    return 0;
}

/* Returns 1 to go on, 0 after arranging a wait or the end. */
static int step_splice(struct relay *relay)
{
    ssize_t len = splice(relay->src, NULL, relay->dst, NULL, SPLICE_BYTES,
                         SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

    if (len > 0) {
        relay->bytes += (uint64_t)len;
        return 1;
    }
    if (len < 0 && errno == EINVAL) { /* an append-only file, or a kind of file that cannot */
        relay->splice = false;
        return 1;
    }
    if (len < 0 && errno == EAGAIN) /* no bytes, or no room: ask which */
        return relay->dst_is_file || has_room(relay->dst) ? wait_for_bytes(relay)
                                                          : wait_for_room(relay);
    if (len < 0 && errno == EINTR)
        return 1;
    return len < 0 ? receiver_failed(relay, errno) : end_of_input(relay);
}

static int step_write(struct relay *relay)
{
    size_t len = relay->end - relay->start;

    if (!relay->dst_is_file) {
        if (!has_room(relay->dst))
            return wait_for_room(relay);
        if (len > PIPE_BUF)
            len = PIPE_BUF; /* what poll() promises */
    }
    ssize_t done = write(relay->dst, relay->buffer + relay->start, len);
    if (done < 0 && errno == EAGAIN)
        return wait_for_room(relay);
    if (done < 0 && errno != EINTR)
        return receiver_failed(relay, errno);
    relay->start += done > 0 ? (size_t)done : 0;
    return 1;
}

/* Where the next bytes go. A stream that is empty or short never needs the large buffer. */
static int keep_buffer(struct relay *relay, const char *data, size_t len)
{
    if (!relay->buffer)
        relay->buffer = malloc(RELAY_BUFFER);
    if (!relay->buffer)
        return -ENOMEM;
    if (data != relay->buffer)
        memcpy(relay->buffer, data, len);
    return 0;
}

/* What was read goes to the capture now, or is kept until the receiver has room. */
static int pass_on(struct relay *relay, const char *data, size_t len)
{
    relay->bytes += (uint64_t)len;
    if (relay->on_output)
        relay->on_output(relay->arg, data, len);
    if (relay->capture)
        capture_add(relay->capture, data, len);
    if (relay->capture && len < SMALL_BYTES)
        return 1;
    int r = keep_buffer(relay, data, len);
    relay->start = 0;
    relay->end = relay->capture ? 0 : len;
    return r < 0 ? r : 1;
}

static int step_read(struct relay *relay)
{
    char small[SMALL_BYTES];
    char *data = relay->buffer ? relay->buffer : small;
    size_t size = relay->buffer ? RELAY_BUFFER : sizeof small;

    struct pollfd poll_fd = {.fd = relay->src, .events = POLLIN};
    if (relay->src_blocks && poll(&poll_fd, 1, 0) == 0)
        return wait_for_bytes(relay);
    ssize_t len = read(relay->src, data, size);
    if (len < 0 && errno == EAGAIN)
        return wait_for_bytes(relay);
    if (len < 0 && errno == EINTR)
        return 1;
    if (len <= 0) /* EIO is how a terminal ends */
        return end_of_input(relay);
    return pass_on(relay, data, (size_t)len);
}

int relay_step(struct relay *relay)
{
    int r = 1;

    /* Bounded, so that one busy stream does not keep the timers and the other streams waiting. */
    for (int i = 0; i < 16 && r > 0 && !relay_is_over(relay); i++) {
        if (relay->start < relay->end)
            r = step_write(relay);
        else if (relay->splice)
            r = step_splice(relay);
        else
            r = step_read(relay);
    }
    return r < 0 ? r : 0;
}
