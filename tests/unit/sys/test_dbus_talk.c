/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/dbus.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "../dbus_sample.h"
#include "../scratch.h"
#include "sys/clock.h"

#define LONG_MS 10000
#define SHORT_MS 60

/* ---- A peer ---- */

static int setup(void **state)
{
    static const char *const tree[] = {NULL};

    scratch_make(tree);
    return 0;
}

/* A connection; *ret_peer is its other side. */
static void open_pair(struct sys_dbus *bus, uint64_t timeout_ms, int *ret_peer)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    sys_dbus_init(bus, &pair[0], timeout_ms);
    assert_int_equal(pair[0], -1);
    *ret_peer = pair[1];
}

static void say(int peer, const void *data, size_t len)
{
    assert_int_equal(send(peer, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

static uint64_t now_ms(void)
{
    return sys_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

static void say_sample(int peer, const struct sample *sample)
{
    struct sys_dbus_out out = build(sample);

    say(peer, out.data, out.len);
}

/* ---- Talking ---- */

static void only_the_reply_is_the_reply(void **state)
{
    struct sys_dbus bus;
    struct sys_dbus_message reply;
    struct sys_dbus_out none = {0};
    fd_auto int peer = -1;
    const struct sample others[] = {
        removed("/job/1"),
        reply_to(2, "/wrong"),
        SAMPLE(.type = SYS_DBUS_ERROR, .reply_to = 77, .error = "a.b"),
        SAMPLE(.type = SYS_DBUS_CALL, .path = "/", .member = "M", .reply_to = 1),
        SAMPLE(.type = 9, .reply_to = 1),
        reply_to(1, "/right"),
        removed("/job/2"),
        SAMPLE(.type = SYS_DBUS_ERROR, .reply_to = 2, .error = "a.Refused"),
    };

    open_pair(&bus, LONG_MS, &peer);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        say_sample(peer, &others[i]);
    const struct sys_dbus_method plain = {"d.e", "/o", "i.f", "M", ""};
    assert_int_equal(sys_dbus_call(&bus, &plain, &none, &reply), 0);
    assert_string_equal(sys_dbus_get_string(&reply.body), "/right");
    assert_int_equal(sys_dbus_next(&bus, &reply), 0);
    assert_string_equal(reply.member, "JobRemoved");
    assert_int_equal(sys_dbus_call(&bus, &plain, &none, &reply), 0);
    assert_int_equal(reply.type, SYS_DBUS_ERROR);
    assert_string_equal(reply.error, "a.Refused");
    fd_close(&peer);
    assert_int_equal(sys_dbus_next(&bus, &reply), -ECONNRESET);
    assert_int_equal(sys_dbus_call(&bus, &plain, &none, &reply), -ECONNRESET);
    sys_dbus_clear(&bus);
}

static void the_end_may_come_anywhere(void **state)
{
    struct sample sample = removed("/job/1");
    struct sys_dbus_out out = build(&sample);

    for (size_t len = 0; len <= out.len; len++) {
        struct sys_dbus bus;
        struct sys_dbus_message message;
        fd_auto int peer = -1;

        open_pair(&bus, LONG_MS, &peer);
        if (len > 0)
            say(peer, out.data, len);
        fd_close(&peer);
        assert_int_equal(sys_dbus_next(&bus, &message), len < out.len ? -ECONNRESET : 0);
        sys_dbus_clear(&bus);
    }
}

/* fn(fd) in a process of its own, with the peer's side. */
static pid_t start_peer(int *peer, void (*fn)(int peer))
{
    pid_t pid = fork();

    if (pid == 0) {
        fn(*peer);
        _exit(0);
    }
    assert_true(pid > 0);
    fd_close(peer);
    return pid;
}

static void end_peer(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void send_bytes(int peer, const void *data, size_t len)
{
    if (send(peer, data, len, MSG_NOSIGNAL) != (ssize_t)len)
        _exit(1);
}

static void say_slowly(int peer)
{
    struct sample sample = removed("/slow");
    struct sys_dbus_out out = build(&sample);

    for (size_t i = 0; i < out.len; i++) {
        send_bytes(peer, out.data + i, 1);
        usleep(100);
    }
}

#define TOO_LONG (1U << 20)

static void say_too_much(int peer)
{
    static unsigned char body[TOO_LONG];
    struct sample sample = SAMPLE(.type = 77, .signature = "ay", .body_more = sizeof(body));
    struct sys_dbus_out out = build(&sample);
    struct sample after = removed("/after");

    for (int i = 0; i < 3; i++) {
        send_bytes(peer, out.data, out.len);
        send_bytes(peer, body, sizeof(body));
    }
    out = build(&after);
    send_bytes(peer, out.data, out.len);
}

static void messages_come_as_they_like(void **state)
{
    static const struct {
        void (*fn)(int peer);
        const char *job;
    } cases[] = {{say_slowly, "/slow"}, {say_too_much, "/after"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sys_dbus bus;
        struct sys_dbus_message message;
        fd_auto int peer = -1;

        open_pair(&bus, LONG_MS, &peer);
        pid_t pid = start_peer(&peer, cases[i].fn);
        assert_int_equal(sys_dbus_next(&bus, &message), 0);
        sys_dbus_get_u32(&message.body);
        assert_string_equal(sys_dbus_get_string(&message.body), cases[i].job);
        assert_int_equal(sys_dbus_next(&bus, &message), -ECONNRESET);
        end_peer(pid);
        sys_dbus_clear(&bus);
    }
}

static void a_length_is_not_believed(void **state)
{
    static const struct {
        uint32_t body, fields;
    } cases[] = {
        {128U << 20, 0}, {UINT32_MAX, UINT32_MAX}, {0, UINT32_MAX},
        {UINT32_MAX, 0}, {(128U << 20) - 15, 0},   {0, (128U << 20) - 15},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sys_dbus bus;
        struct sys_dbus_message message;
        unsigned char start[SYS_DBUS_START] = {'l', 4, 0, 1};
        fd_auto int peer = -1;

        memcpy(start + 4, &cases[i].body, 4);
        memcpy(start + 12, &cases[i].fields, 4);
        open_pair(&bus, LONG_MS, &peer);
        say(peer, start, sizeof(start));
        assert_int_equal(sys_dbus_next(&bus, &message), -EBADMSG);
        sys_dbus_clear(&bus);
    }
}

/* ---- Deadlines ---- */

static void say_nothing(int peer)
{
    for (;;)
        pause();
}

static void never_stop(int peer)
{
    struct sample sample = removed("/other");
    struct sys_dbus_out out = build(&sample);

    for (;;)
        send_bytes(peer, out.data, out.len);
}

static void never_end(int peer)
{
    static unsigned char body[TOO_LONG];
    struct sample sample = SAMPLE(.type = 77, .signature = "ay", .body_more = 100 * TOO_LONG);
    struct sys_dbus_out out = build(&sample);

    for (;;) {
        send_bytes(peer, out.data, out.len);
        for (int i = 0; i < 100; i++)
            send_bytes(peer, body, sizeof(body));
    }
}

static void the_deadline_holds(void **state)
{
    static void (*const peers[])(int) = {say_nothing, never_stop, never_end};

    for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
        struct sys_dbus bus;
        struct sys_dbus_message reply;
        struct sys_dbus_out none = {0};
        const struct sys_dbus_method plain = {"d.e", "/o", "i.f", "M", ""};
        fd_auto int peer = -1;
        uint64_t start = now_ms();

        open_pair(&bus, SHORT_MS, &peer);
        pid_t pid = start_peer(&peer, peers[i]);
        assert_int_equal(sys_dbus_call(&bus, &plain, &none, &reply), -ETIMEDOUT);
        assert_true(now_ms() - start >= SHORT_MS - 1 && now_ms() - start < LONG_MS / 2);
        end_peer(pid);
        sys_dbus_clear(&bus);
    }
}

static void who_does_not_read_is_left(void **state)
{
    struct sys_dbus bus;
    struct sys_dbus_message reply;
    struct sys_dbus_out none = {0};
    const struct sys_dbus_method plain = {"d.e", "/o", "i.f", "M", ""};
    char filler[4096] = {0};
    fd_auto int peer = -1;

    open_pair(&bus, SHORT_MS, &peer);
    while (send(bus.fd, filler, sizeof(filler), MSG_DONTWAIT) > 0)
        ;
    assert_int_equal(sys_dbus_call(&bus, &plain, &none, &reply), -ETIMEDOUT);
    sys_dbus_clear(&bus);
}

static void on_alarm(int number)
{
}

static void signals_change_nothing(void **state)
{
    const struct sigaction act = {.sa_handler = on_alarm};
    const struct itimerval often = {{0, 3000}, {0, 3000}};
    const struct itimerval never = {0};
    struct sys_dbus bus;
    struct sys_dbus_message message;
    fd_auto int peer = -1;

    open_pair(&bus, SHORT_MS, &peer);
    assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    uint64_t start = now_ms();
    assert_int_equal(sys_dbus_next(&bus, &message), -ETIMEDOUT);
    assert_true(now_ms() - start >= SHORT_MS - 1);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    sys_dbus_clear(&bus);
}

/* ---- Connecting ---- */

static void who_we_are(void **state)
{
    static const struct {
        const char *answer;
        int want;
    } cases[] = {
        {"OK 1234deadbeef\r\n", 0},
        {"OK\r\n", 0},
        {"REJECTED EXTERNAL KERBEROS\r\n", -EACCES},
        {"REJECTED\r\n", -EACCES},
        {"ERROR\r\n", -EBADMSG},
        {"DATA\r\n", -EBADMSG},
        {"OKAY\r\n", -EBADMSG},
        {"\r\n", -EBADMSG},
        {"OK 1234", -ECONNRESET},
        {"OK 1234\n", -ECONNRESET},
        {"", -ECONNRESET},
    };
    char want[128];
    size_t len = 0;
    char uid[32];

    len = (size_t)snprintf(want, sizeof(want), "%cAUTH EXTERNAL ", 0);
    snprintf(uid, sizeof(uid), "%u", geteuid());
    for (const char *digit = uid; *digit; digit++)
        len += (size_t)snprintf(want + len, sizeof(want) - len, "%02x", *digit);
    len += (size_t)snprintf(want + len, sizeof(want) - len, "\r\n");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[256] = "";
        struct sys_dbus bus;
        fd_auto int peer = -1;

        open_pair(&bus, LONG_MS, &peer);
        if (cases[i].answer[0])
            say(peer, cases[i].answer, strlen(cases[i].answer));
        shutdown(peer, SHUT_WR);
        assert_int_equal(sys_dbus_auth(&bus), cases[i].want);
        ssize_t n = recv(peer, got, sizeof(got) - 1, 0);
        assert_int_equal(n, len + (cases[i].want == 0 ? 7 : 0));
        assert_memory_equal(got, want, len);
        assert_string_equal(got + len, cases[i].want == 0 ? "BEGIN\r\n" : "");
        sys_dbus_clear(&bus);
    }
}

static void a_line_has_an_end(void **state)
{
    char line[4096];
    struct sys_dbus bus;
    fd_auto int peer = -1;

    memset(line, 'O', sizeof(line));
    open_pair(&bus, LONG_MS, &peer);
    say(peer, line, sizeof(line));
    assert_int_equal(sys_dbus_auth(&bus), -EBADMSG);
    sys_dbus_clear(&bus);
    fd_close(&peer);
    open_pair(&bus, SHORT_MS, &peer);
    say(peer, "OK 12", 5);
    assert_int_equal(sys_dbus_auth(&bus), -ETIMEDOUT);
    sys_dbus_clear(&bus);
}

static void what_follows_the_line_is_kept(void **state)
{
    struct sys_dbus bus;
    struct sys_dbus_message message;
    struct sample sample = removed("/job/1");
    fd_auto int peer = -1;

    open_pair(&bus, LONG_MS, &peer);
    say(peer, "OK 12\r\n", 7);
    say_sample(peer, &sample);
    assert_int_equal(sys_dbus_auth(&bus), 0);
    assert_int_equal(sys_dbus_next(&bus, &message), 0);
    assert_string_equal(message.member, "JobRemoved");
    sys_dbus_clear(&bus);
}

static int listen_at(const char *path, int backlog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", at(path));
    if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(sock, backlog) < 0)
        fd_close(&sock);
    return sock;
}

static void accept_and_agree(int sock)
{
    int peer = accept(sock, NULL, NULL);
    char got[256];

    if (peer < 0 || recv(peer, got, sizeof(got), 0) <= 0)
        _exit(1);
    send_bytes(peer, "OK 1\r\n", 6);
    recv(peer, got, sizeof(got), 0);
}

static void a_socket_is_connected_to_by_its_file(void **state)
{
    struct sys_dbus bus;
    int before = open_fds();
    fd_auto int sock = listen_at("@/bus", 1);
    fd_auto int file = open(at("@/bus"), O_PATH | O_CLOEXEC);

    assert_true(sock >= 0 && file >= 0);
    /* Whatever is at its name by now. */
    assert_int_equal(unlink(at("@/bus")), 0);
    pid_t pid = start_peer(&sock, accept_and_agree);
    assert_int_equal(sys_dbus_connect(&bus, file, LONG_MS), 0);
    sys_dbus_clear(&bus);
    assert_int_equal(bus.fd, -1);
    end_peer(pid);
    /* Nobody is there any more; not a socket at all. */
    assert_int_equal(sys_dbus_connect(&bus, file, LONG_MS), -ECONNREFUSED);
    fd_close(&file);
    file = open("/dev/null", O_PATH | O_CLOEXEC);
    assert_int_equal(sys_dbus_connect(&bus, file, LONG_MS), -ECONNREFUSED);
    fd_close(&file);
    assert_int_equal(open_fds(), before);
}

static void a_full_queue_is_waited_for(void **state)
{
    struct sys_dbus bus;
    fd_auto int sock = listen_at("@/full", 0);
    fd_auto int file = open(at("@/full"), O_PATH | O_CLOEXEC);
    int before = open_fds();
    uint64_t start = now_ms();

    assert_true(sock >= 0 && file >= 0);
    /* The first is in the queue, and nobody answers it; there is no room for the second. */
    fd_auto int queued = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", at("@/full"));
    assert_int_equal(connect(queued, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(sys_dbus_connect(&bus, file, SHORT_MS), -ETIMEDOUT);
    assert_true(now_ms() - start >= SHORT_MS - 1 && now_ms() - start < LONG_MS / 2);
    fd_close(&queued);
    assert_int_equal(open_fds(), before);
}

static void another_listens(int ready)
{
    fd_auto int sock = -1;

    if (setresgid(23456, 23456, 23456) < 0 || setresuid(23456, 23456, 23456) < 0)
        _exit(1);
    sock = listen_at("@/open/other", 1);
    send_bytes(ready, "", 1);
    say_nothing(sock);
}

static void another_user_is_not_trusted(void **state)
{
    struct sys_dbus bus;
    int ready[2];
    char byte;

    if (geteuid() != 0)
        SKIP("only root can be two users");
    scratch_add("open/");
    assert_int_equal(chmod(at("@/open"), 0777), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ready), 0);
    pid_t pid = start_peer(&ready[1], another_listens);
    assert_int_equal(recv(ready[0], &byte, 1, 0), 1);
    close(ready[0]);
    int file = open(at("@/open/other"), O_PATH | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(sys_dbus_connect(&bus, file, LONG_MS), -EPERM);
    close(file);
    end_peer(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_reply_is_the_reply),
        cmocka_unit_test(the_end_may_come_anywhere),
        cmocka_unit_test(messages_come_as_they_like),
        cmocka_unit_test(a_length_is_not_believed),
        cmocka_unit_test(the_deadline_holds),
        cmocka_unit_test(who_does_not_read_is_left),
        cmocka_unit_test(signals_change_nothing),
        cmocka_unit_test(who_we_are),
        cmocka_unit_test(a_line_has_an_end),
        cmocka_unit_test(what_follows_the_line_is_kept),
        cmocka_unit_test(a_socket_is_connected_to_by_its_file),
        cmocka_unit_test(a_full_queue_is_waited_for),
        cmocka_unit_test(another_user_is_not_trusted),
    };

    return cmocka_run_group_tests(tests, setup, scratch_remove);
}
