/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/rpc/outbox.h"

#include "base/str.h"

enum { SIZE = 3 << 20 };

/* Fill an outbox beyond what its descriptor takes, and read it all at the other end. */
static void passes_all_without_blocking(int in, int out)
{
    char *data = malloc(SIZE), *got = malloc(SIZE);
    struct outbox outbox;
    size_t used = 0;

    assert_true(data && got);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)(i * 7 + i / 251);
    outbox_init(&outbox, out);
    outbox_add(&outbox, data, SIZE);
    while (used < SIZE) {
        assert_int_equal(outbox_flush(&outbox), 0); /* would hang here if it blocked */
        ssize_t n = read(in, got + used, SIZE - used);

        assert_true(n > 0);
        used += (size_t)n;
    }
    assert_memory_equal(data, got, SIZE);
    assert_int_equal(outbox_len(&outbox), 0);
    assert_int_equal(fcntl(out, F_GETFL) & O_NONBLOCK, 0);
    outbox_clear(&outbox);
    free(data);
    free(got);
}

/* Nobody reads any more: an error, not a signal. */
static void ends_with_its_reader(int in, int out)
{
    struct outbox outbox;

    close(in);
    outbox_init(&outbox, out);
    outbox_puts(&outbox, "x");
    assert_int_equal(outbox_flush(&outbox), -EPIPE);
    outbox_clear(&outbox);
    close(out);
}

static void a_pipe(void **state)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    passes_all_without_blocking(ends[0], ends[1]);
    ends_with_its_reader(ends[0], ends[1]);
}

static void a_socket(void **state)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    passes_all_without_blocking(ends[0], ends[1]);
    ends_with_its_reader(ends[0], ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe),
        cmocka_unit_test(a_socket),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("rpc outbox", tests, NULL, NULL);
}
