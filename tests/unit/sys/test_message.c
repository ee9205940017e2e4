/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/message.h"

#include <errno.h>
#include <sys/socket.h>

#include "../scratch.h"

static int pair[2];
static int before;

static int setup(void **state)
{
    before = open_fds();
    return sys_message_pair(pair);
}

static int teardown(void **state)
{
    fd_close(&pair[0]);
    fd_close(&pair[1]);
    return open_fds() == before ? 0 : -1;
}

static void descriptors_arrive(void **state)
{
    for (size_t count = 0; count <= SYS_MESSAGE_FDS; count++) {
        int sent[SYS_MESSAGE_FDS][2];
        int give[SYS_MESSAGE_FDS] = {0};
        int got[SYS_MESSAGE_FDS];
        size_t got_count = 99;
        char data[16] = "";

        for (size_t i = 0; i < count; i++) {
            assert_int_equal(pipe2(sent[i], O_CLOEXEC), 0);
            give[i] = sent[i][1];
        }
        assert_int_equal(sys_message_send(pair[0], "hello", 6, give, count), 0);
        assert_int_equal(sys_message_receive(pair[1], 1, data, sizeof(data), got, &got_count), 6);
        assert_string_equal(data, "hello");
        assert_int_equal(got_count, count);
        for (size_t i = 0; i < count; i++) {
            char byte = 0;
            /* The same file, in the same order, not left open to a program that is executed. */
            assert_int_equal(fcntl(got[i], F_GETFD), FD_CLOEXEC);
            assert_int_equal(write(got[i], &"abcdefgh"[i], 1), 1);
            assert_int_equal(read(sent[i][0], &byte, 1), 1);
            assert_int_equal(byte, "abcdefgh"[i]);
            close(got[i]);
            close(sent[i][0]);
            close(sent[i][1]);
        }
    }
}

static void messages_keep_their_bounds(void **state)
{
    int fds[SYS_MESSAGE_FDS];
    size_t count;
    char data[8];

    assert_int_equal(sys_message_send(pair[0], "a", 1, NULL, 0), 0);
    assert_int_equal(sys_message_send(pair[0], "bc", 2, NULL, 0), 0);
    assert_int_equal(sys_message_send(pair[0], "12345678", 8, NULL, 0), 0);
    assert_int_equal(sys_message_receive(pair[1], 0, data, sizeof(data), fds, &count), 1);
    assert_int_equal(sys_message_receive(pair[1], 0, data, sizeof(data), fds, &count), 2);
    assert_memory_equal(data, "bc", 2);
    assert_int_equal(sys_message_receive(pair[1], 0, data, sizeof(data), fds, &count), 8);
    assert_int_equal(sys_message_receive(pair[1], 0, data, sizeof(data), fds, &count), -EAGAIN);
}

static void the_end_is_told(void **state)
{
    int fds[SYS_MESSAGE_FDS];
    size_t count = 99;
    char data[8];

    assert_int_equal(sys_message_send(pair[0], "last", 4, NULL, 0), 0);
    fd_close(&pair[0]);
    assert_int_equal(sys_message_receive(pair[1], 1, data, sizeof(data), fds, &count), 4);
    assert_int_equal(sys_message_receive(pair[1], 1, data, sizeof(data), fds, &count), 0);
    assert_int_equal(count, 0);
    /* An error, not a SIGPIPE, which would end this program. */
    assert_int_equal(sys_message_send(pair[1], "x", 1, NULL, 0), -EPIPE);
}

static void what_does_not_fit_is_refused_and_closed(void **state)
{
    int fds[SYS_MESSAGE_FDS];
    size_t count = 99;
    char data[4];
    const int give[] = {pair[0], pair[0]};
    int open_before = open_fds();

    assert_int_equal(sys_message_send(pair[0], "12345", 5, give, 2), 0);
    assert_int_equal(sys_message_receive(pair[1], 1, data, sizeof(data), fds, &count), -EMSGSIZE);
    assert_int_equal(count, 0);
    assert_int_equal(open_fds(), open_before);
    /* The next one is whole again. */
    assert_int_equal(sys_message_send(pair[0], "1234", 4, NULL, 0), 0);
    assert_int_equal(sys_message_receive(pair[1], 1, data, sizeof(data), fds, &count), 4);
}

static void too_many_descriptors(void **state)
{
    enum { MANY = SYS_MESSAGE_FDS + 3 };
    union {
        char bytes[CMSG_SPACE(MANY * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec iov = {.iov_base = (char[]){'x'}, .iov_len = 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
    int give[MANY];
    int fds[SYS_MESSAGE_FDS];
    size_t count = 99;
    char data[4];
    int open_before = open_fds();

    for (int i = 0; i < MANY; i++)
        give[i] = pair[0];
    assert_int_equal(sys_message_send(pair[0], "x", 1, give, SYS_MESSAGE_FDS + 1), -EINVAL);

    /* Somebody else who sends more than we would. */
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(give));
    memcpy(CMSG_DATA(header), give, sizeof(give));
    assert_int_equal(sendmsg(pair[0], &msg, 0), 1);
    assert_int_equal(sys_message_receive(pair[1], 1, data, sizeof(data), fds, &count), -EMSGSIZE);
    assert_int_equal(count, 0);
    assert_int_equal(open_fds(), open_before);
}

static void bad_sockets(void **state)
{
    int fds[SYS_MESSAGE_FDS];
    size_t count;
    char data[4];
    const int closed = 1 << 20;

    assert_int_equal(sys_message_send(closed, "x", 1, NULL, 0), -EBADF);
    assert_int_equal(sys_message_receive(closed, 1, data, sizeof(data), fds, &count), -EBADF);
    assert_int_equal(sys_message_send(pair[0], "x", 1, &closed, 1), -EBADF);
    assert_int_equal(fcntl(pair[0], F_GETFD), FD_CLOEXEC);
}

#define MESSAGE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MESSAGE_TEST(descriptors_arrive),   MESSAGE_TEST(messages_keep_their_bounds),
        MESSAGE_TEST(the_end_is_told),      MESSAGE_TEST(what_does_not_fit_is_refused_and_closed),
        MESSAGE_TEST(too_many_descriptors), MESSAGE_TEST(bad_sockets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
