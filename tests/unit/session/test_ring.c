/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "session/ring.h"

#include <stdlib.h>
#include <string.h>

static void bytes_come_back_in_order(void **state)
{
    struct ring ring;
    char out[16];
    uint64_t cursor = 0;

    ring_init(&ring, 8);
    assert_int_equal(ring_read(&ring, &cursor, out, sizeof out), 0);
    ring_add(&ring, "abc", 3);
    ring_add(&ring, "", 0);
    assert_int_equal(ring_read(&ring, &cursor, out, 2), 2);
    assert_memory_equal(out, "ab", 2);
    assert_int_equal(cursor, 2);
    ring_add(&ring, "defgh", 5);
    assert_int_equal(ring_read(&ring, &cursor, out, sizeof out), 6);
    assert_memory_equal(out, "cdefgh", 6);
    assert_int_equal(ring_read(&ring, &cursor, out, sizeof out), 0);
    assert_int_equal(cursor, 8);
    ring_clear(&ring);
}

static void what_was_lost_is_skipped(void **state)
{
    struct ring ring;
    char out[16];
    uint64_t cursor = 1;

    ring_init(&ring, 4);
    ring_add(&ring, "abcdef", 6);
    assert_int_equal(ring_read(&ring, &cursor, out, 3), 3);
    assert_memory_equal(out, "cde", 3);
    assert_int_equal(cursor, 5); /* 1 + 3, and 1 was lost */
    ring_clear(&ring);
    cursor = 0;
    assert_int_equal(ring_read(&ring, &cursor, out, sizeof out), 0);
    assert_int_equal(cursor, 6);
}

/* Against a model that keeps everything. */
static void random_chunks_agree_with_a_model(void **state)
{
    enum { TOTAL = 1 << 20, CHUNK = 9000 };
    static const size_t sizes[] = {1, 7, 4096, 10000, 65536};
    char *model = malloc(TOTAL);
    char *out = malloc(TOTAL);

    assert_non_null(model);
    assert_non_null(out);
    srandom(5);
    for (size_t i = 0; i < TOTAL; i++)
        model[i] = (char)random();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct ring ring;
        size_t end = 0;

        ring_init(&ring, sizes[s]);
        while (end < TOTAL) {
            size_t len = (size_t)random() % (random() % 8 ? 200 : CHUNK);
            len = len < TOTAL - end ? len : TOTAL - end;
            ring_add(&ring, model + end, len);
            end += len;
            assert_int_equal(ring.end, end);
            assert_true(ring.cap <= sizes[s]);

            uint64_t cursor = end ? (uint64_t)random() % (end + 1) : 0;
            uint64_t oldest = end > sizes[s] ? end - sizes[s] : 0;
            size_t want = (size_t)random() % CHUNK;
            uint64_t from = cursor < oldest ? oldest : cursor;
            size_t got = ring_read(&ring, &cursor, out, want);
            assert_int_equal(got, end - from < want ? end - from : want);
            assert_memory_equal(out, model + from, got);
            assert_int_equal(cursor, from + got);
        }
        ring_clear(&ring);
    }
    free(model);
    free(out);
}

static void nothing_is_allocated_before_it_is_needed(void **state)
{
    struct ring ring;

    ring_init(&ring, SIZE_MAX / 2);
    assert_null(ring.data);
    ring_add(&ring, "abc", 3);
    assert_true(ring.cap <= 4096);
    ring_clear(&ring);
    ring_clear(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back_in_order),
        cmocka_unit_test(what_was_lost_is_skipped),
        cmocka_unit_test(random_chunks_agree_with_a_model),
        cmocka_unit_test(nothing_is_allocated_before_it_is_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
