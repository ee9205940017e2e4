/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "run/relay.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../scratch.h"
#include "base/num.h"

enum { TAG = 7, BIG = 300000 };

/* A relay with an epoll set of its own, driven as step.c drives it. */
static struct rig {
    int epoll;
    struct relay relay;
    int before; /* open descriptors */
    char data[BIG];
    char got[BIG];
} rig;

static int setup(void **state)
{
    static const char *const tree[] = {"in", "out", NULL};

    scratch_make(tree);
    rig.before = open_fds();
    rig.epoll = epoll_create1(EPOLL_CLOEXEC);
    rig.relay = (struct relay)RELAY_INIT;
    for (size_t i = 0; i < BIG; i++)
        rig.data[i] = (char)(i * 7 + i / 251);
    memset(rig.got, 0, BIG);
    return rig.epoll < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    relay_stop(&rig.relay);
    close(rig.epoll);
    if (open_fds() != rig.before)
        return -1;
    return scratch_remove(state);
}

/* Step while there is something to do. Returns how often there was. */
static int pump(void)
{
    struct epoll_event events[4];
    int steps = 0;
    int count;

    while (!relay_is_over(&rig.relay) && (count = epoll_wait(rig.epoll, events, 4, 0)) > 0) {
        for (int i = 0; i < count; i++)
            assert_int_equal(events[i].data.u32, TAG);
        assert_int_equal(relay_step(&rig.relay), 0);
        if (++steps > 100000)
            fail_msg("the relay spins");
    }
    return steps;
}

static void start(struct relay_ends ends)
{
    assert_int_equal(relay_start(&rig.relay, rig.epoll, TAG, &ends), 0);
    assert_int_equal(*ends.src, -1);
    if (ends.dst)
        assert_int_equal(*ends.dst, -1);
}

static void make_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

static void set_nonblocking(int fd)
{
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static size_t drain(int fd, char *out, size_t size)
{
    size_t len = 0;
    ssize_t n;

    set_nonblocking(fd);
    while (len < size && (n = read(fd, out + len, size - len)) > 0)
        len += (size_t)n;
    return len;
}

static int open_scratch(const char *name, int flags)
{
    int fd = open(at(name), flags | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static void check_file(const char *name, size_t len)
{
    fd_auto int fd = open_scratch(name, O_RDONLY);

    assert_int_equal(drain(fd, rig.got, BIG), len);
    assert_memory_equal(rig.got, rig.data, len);
}

/* Write all of rig.data into the pipe `in`, pumping, and reading `out` unless it is -1. */
static size_t feed(int in, int out)
{
    size_t got = 0;

    set_nonblocking(in);
    for (size_t done = 0; done < BIG;) {
        ssize_t n = write(in, rig.data + done, BIG - done);
        if (n < 0 && errno != EAGAIN)
            fail_msg("write: %s", strerror(errno));
        done += n > 0 ? (size_t)n : 0;
        pump();
        if (out >= 0)
            got += drain(out, rig.got + got, BIG - got);
    }
    return got;
}

static void pipe_to_pipe(void **state)
{
    int in[2];
    int out[2];

    make_pipe(in);
    make_pipe(out);
    set_nonblocking(in[0]);
    start((struct relay_ends){.src = &in[0], .dst = &out[1]});
    assert_true(rig.relay.splice);
    assert_int_equal(pump(), 0); /* nothing to do, and nothing spins */

    size_t got = feed(in[1], out[0]);
    close(in[1]);
    while (!relay_is_over(&rig.relay)) {
        pump();
        got += drain(out[0], rig.got + got, BIG - got);
    }
    got += drain(out[0], rig.got + got, BIG - got);
    assert_int_equal(got, BIG);
    assert_memory_equal(rig.got, rig.data, BIG);
    assert_int_equal(rig.relay.bytes, BIG);
    assert_int_equal(rig.relay.error, 0);
    /* Its end of the pipe is closed: the reader sees the end. */
    assert_int_equal(read(out[0], rig.got, 1), 0);
    close(out[0]);
}

static void pipe_to_file(void **state)
{
    static const struct {
        int flags;
        bool splice; /* at the end */
    } cases[] = {
        {O_WRONLY | O_TRUNC, true}, {O_WRONLY | O_TRUNC | O_APPEND, false}, /* splice refuses it */
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int in[2];
        int out = open_scratch("@/out", cases[i].flags);

        make_pipe(in);
        set_nonblocking(in[0]);
        start((struct relay_ends){.src = &in[0], .dst = &out});
        feed(in[1], -1);
        close(in[1]);
        pump();
        assert_true(relay_is_over(&rig.relay));
        assert_int_equal(rig.relay.splice, cases[i].splice);
        assert_int_equal(rig.relay.bytes, BIG);
        check_file("@/out", BIG);
    }
}

static void file_to_pipe(void **state)
{
    int in = open_scratch("@/in", O_RDWR);
    int out[2];
    size_t got = 0;

    assert_int_equal(write(in, rig.data, BIG), BIG);
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    make_pipe(out);
    set_nonblocking(out[1]);
    start((struct relay_ends){.src = &in, .dst = &out[1]});
    for (int i = 0; i < 100000 && !relay_is_over(&rig.relay); i++) {
        pump();
        got += drain(out[0], rig.got + got, BIG - got);
    }
    got += drain(out[0], rig.got + got, BIG - got);
    assert_true(relay_is_over(&rig.relay));
    assert_int_equal(got, BIG);
    assert_memory_equal(rig.got, rig.data, BIG);
    close(out[0]);
}

static void nothing_to_read(void **state)
{
    /* An empty file, a device that cannot be waited for, and a pipe nobody will write to. */
    for (int i = 0; i < 3; i++) {
        int in[2] = {-1, -1};
        int out[2];

        make_pipe(out);
        if (i == 2)
            make_pipe(in);
        else
            in[0] = i == 0 ? open_scratch("@/in", O_RDONLY)
                           : open("/dev/null", O_RDONLY | O_CLOEXEC);
        fd_close(&in[1]);
        start((struct relay_ends){.src = &in[0], .dst = &out[1]});
        pump();
        assert_true(relay_is_over(&rig.relay));
        assert_int_equal(read(out[0], rig.got, 1), 0);
        close(out[0]);
    }
}

/* What is held back stays in the pipes: a receiver that does not read stops the reading. */
static void a_full_receiver_stops_the_reading(void **state)
{
    /* spliced, and copied because somebody watches or the source is a socket */
    for (int copied = 0; copied < 2; copied++) {
        int in[2];
        int out[2];
        size_t got = 0;
        size_t sent = 0;

        if (copied)
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
        else
            make_pipe(in);
        make_pipe(out);
        assert_true(fcntl(out[1], F_SETPIPE_SZ, 4096) >= 4096);
        set_nonblocking(in[0]);
        set_nonblocking(in[1]);
        start((struct relay_ends){.src = &in[0], .dst = &out[1]});
        assert_int_equal(rig.relay.splice, !copied);

        for (int quiet = 0; quiet < 3;) {
            ssize_t n = write(in[1], rig.data + sent, BIG - sent);
            sent += n > 0 ? (size_t)n : 0;
            quiet = n > 0 ? 0 : quiet + 1;
            pump();
            if (sent == BIG)
                break;
        }
        assert_true(rig.relay.bytes <= 4096 * 2 + RELAY_BUFFER);
        assert_int_equal(pump(), 0); /* waits without spinning */
        assert_false(relay_is_over(&rig.relay));

        for (int i = 0; i < 100000 && (got < BIG || sent < BIG); i++) {
            got += drain(out[0], rig.got + got, BIG - got);
            ssize_t n = sent < BIG ? write(in[1], rig.data + sent, BIG - sent) : 0;
            sent += n > 0 ? (size_t)n : 0;
            pump();
        }
        close(in[1]);
        pump();
        assert_true(relay_is_over(&rig.relay));
        assert_int_equal(got, BIG);
        assert_memory_equal(rig.got, rig.data, BIG);
        close(out[0]);
    }
}

static void a_receiver_that_is_gone(void **state)
{
    for (int copied = 0; copied < 2; copied++) {
        int in[2];
        int out[2];

        if (copied)
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
        else
            make_pipe(in);
        make_pipe(out);
        set_nonblocking(in[0]);
        start((struct relay_ends){.src = &in[0], .dst = &out[1]});
        close(out[0]);
        assert_int_equal(write(in[1], "x", 1), 1);
        pump();
        assert_true(relay_is_over(&rig.relay));
        assert_int_equal(rig.relay.error, 0); /* as with any pipe: no mistake of ours */
        /* The writer learns of it. */
        assert_int_equal(write(in[1], "x", 1), -1);
        assert_int_equal(errno, EPIPE);
        close(in[1]);
    }
}

static void a_receiver_that_fails(void **state)
{
    int in[2];
    int out = open("/dev/full", O_WRONLY | O_CLOEXEC);

    if (out < 0) {
        SKIP("no /dev/full");
    }
    make_pipe(in);
    set_nonblocking(in[0]);
    start((struct relay_ends){.src = &in[0], .dst = &out});
    assert_int_equal(write(in[1], "x", 1), 1);
    pump();
    assert_true(relay_is_over(&rig.relay));
    assert_int_equal(rig.relay.error, ENOSPC);
    close(in[1]);
}

static size_t seen;

static void see(void *arg, const char *data, size_t len)
{
    struct rig *mine = arg;

    assert_true(seen + len <= BIG);
    assert_memory_equal(data, mine->data + seen, len);
    seen += len;
}

static void watched_output_is_seen_and_relayed(void **state)
{
    int in[2];
    int out[2];

    seen = 0;
    make_pipe(in);
    make_pipe(out);
    set_nonblocking(in[0]);
    start((struct relay_ends){.src = &in[0], .dst = &out[1], .on_output = see, .arg = &rig});
    assert_false(rig.relay.splice);
    size_t got = feed(in[1], out[0]);
    close(in[1]);
    while (!relay_is_over(&rig.relay)) {
        pump();
        got += drain(out[0], rig.got + got, BIG - got);
    }
    got += drain(out[0], rig.got + got, BIG - got);
    assert_int_equal(seen, BIG);
    assert_int_equal(got, BIG);
    assert_memory_equal(rig.got, rig.data, BIG);
    close(out[0]);
}

static void captured_output(void **state)
{
    for (int watched = 0; watched < 2; watched++) {
        struct capture capture;
        int in[2];
        size_t len;

        seen = 0;
        capture_init(&capture, NUM_NO_LIMIT);
        make_pipe(in);
        set_nonblocking(in[0]);
        start((struct relay_ends){
            .src = &in[0], .capture = &capture, .on_output = watched ? see : NULL, .arg = &rig});
        feed(in[1], -1);
        close(in[1]);
        pump();
        assert_true(relay_is_over(&rig.relay));
        str_auto char *text = capture_take(&capture, &len);
        assert_int_equal(len, BIG);
        assert_memory_equal(text, rig.data, BIG);
        assert_int_equal(seen, watched ? BIG : 0);
        assert_int_equal(rig.relay.bytes, BIG);
        capture_clear(&capture);
    }
}

/* One step moves a bounded number of bytes: timers and other streams get their turn. */
static void one_step_is_bounded(void **state)
{
    struct capture capture;
    int pipe_fds[2];

    capture_init(&capture, 10);
    make_pipe(pipe_fds);
    set_nonblocking(pipe_fds[0]);
    assert_true(fcntl(pipe_fds[1], F_SETPIPE_SZ, 1 << 20) > 0);
    set_nonblocking(pipe_fds[1]);
    start((struct relay_ends){.src = &pipe_fds[0], .capture = &capture});
    while (write(pipe_fds[1], rig.data, 4096) > 0)
        ;
    assert_int_equal(relay_step(&rig.relay), 0);
    assert_true(rig.relay.bytes > 0 && rig.relay.bytes <= 16 * RELAY_BUFFER);
    close(pipe_fds[1]);
    capture_clear(&capture);
}

static void the_end_of_input_for_a_terminal_is_a_key(void **state)
{
    int in[2];
    int out[2];
    char got[8] = {0};

    make_pipe(in);
    make_pipe(out);
    start((struct relay_ends){.src = &in[0], .dst = &out[1], .terminal_in = true});
    assert_int_equal(write(in[1], "ls\n", 3), 3);
    close(in[1]);
    pump();
    assert_true(relay_is_over(&rig.relay));
    assert_int_equal(drain(out[0], got, sizeof(got)), 4);
    assert_string_equal(got, "ls\n\004");
    close(out[0]);
}

/* The caller's descriptors are shared with others: their flags are not ours. */
static void a_callers_descriptor_stays_as_it_is(void **state)
{
    int in[2];
    int out[2];

    make_pipe(in);
    make_pipe(out);
    int copies[2] = {dup(in[0]), dup(out[1])};
    start((struct relay_ends){.src = &in[0], .dst = &out[1]});
    assert_int_equal(write(in[1], "x", 1), 1);
    pump();
    assert_int_equal(fcntl(copies[0], F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(copies[1], F_GETFL) & O_NONBLOCK, 0);
    relay_stop(&rig.relay);
    /* Stopped: a copy that is held elsewhere keeps nothing in the set. */
    assert_int_equal(write(in[1], "x", 1), 1);
    struct epoll_event event;
    assert_int_equal(epoll_wait(rig.epoll, &event, 1, 0), 0);
    close(copies[0]);
    close(copies[1]);
    close(in[1]);
    close(out[0]);
}

#define RELAY_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RELAY_TEST(pipe_to_pipe),
        RELAY_TEST(pipe_to_file),
        RELAY_TEST(file_to_pipe),
        RELAY_TEST(nothing_to_read),
        RELAY_TEST(a_full_receiver_stops_the_reading),
        RELAY_TEST(a_receiver_that_is_gone),
        RELAY_TEST(a_receiver_that_fails),
        RELAY_TEST(watched_output_is_seen_and_relayed),
        RELAY_TEST(captured_output),
        RELAY_TEST(one_step_is_bounded),
        RELAY_TEST(the_end_of_input_for_a_terminal_is_a_key),
        RELAY_TEST(a_callers_descriptor_stays_as_it_is),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
