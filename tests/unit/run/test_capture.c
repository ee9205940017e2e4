/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "run/capture.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/str.h"

/* Feed `data` in pieces of at most `piece`; the answer is the test's to free. */
static char *captured(uint64_t limit, const char *data, size_t len, size_t piece, size_t *ret_len,
                      bool *truncated)
{
    struct capture capture;

    capture_init(&capture, limit);
    for (size_t i = 0; i < len; i += piece)
        capture_add(&capture, data + i, len - i < piece ? len - i : piece);
    assert_int_equal(capture.total, len);
    *truncated = capture_truncated(&capture);
    char *text = capture_take(&capture, ret_len);
    capture_clear(&capture);
    assert_non_null(text);
    assert_int_equal(text[*ret_len], '\0');
    return text;
}

#define MISSING(n) "\n... " n " bytes of output are missing here ...\n"

static void limits_and_boundaries(void **state)
{
    static const struct {
        uint64_t limit;
        const char *data, *want;
    } cases[] = {
        {0, "", ""},
        {0, "a", MISSING("1")},
        {0, "abc", MISSING("3")},
        {1, "", ""},
        {1, "a", "a"},
        {1, "ab", "a" MISSING("1")},
        {1, "abc", "a" MISSING("2")},
        {2, "ab", "ab"},
        {2, "abc", "a" MISSING("1") "c"},
        {2, "abcdef", "a" MISSING("4") "f"},
        {3, "abc", "abc"},
        {3, "abcd", "ab" MISSING("1") "d"},
        {4, "abcd", "abcd"},
        {4, "abcde", "ab" MISSING("1") "de"},
        {5, "abcdefgh", "abc" MISSING("3") "gh"},
        {8, "abcdefgh", "abcdefgh"},
        {8, "abcdefghi", "abcd" MISSING("1") "fghi"},
        {100, "abc", "abc"},
        {NUM_NO_LIMIT, "", ""},
        {NUM_NO_LIMIT, "abcdefghi", "abcdefghi"},
        {NUM_NO_LIMIT - 1, "abcdefghi", "abcdefghi"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t size = strlen(cases[i].data);
        for (size_t piece = 1; piece <= size + 1; piece++) {
            size_t len;
            bool truncated;
            str_auto char *text = captured(cases[i].limit, cases[i].data, size, piece, &len,
                                           &truncated);

            if (!str_eq(text, cases[i].want) || len != strlen(cases[i].want))
                fail_msg("row %zu in pieces of %zu: '%s'", i, piece, text);
            assert_int_equal(truncated, strstr(cases[i].want, "missing") != NULL);
        }
    }
}

static void bytes_are_bytes(void **state)
{
    static const char data[] = "a\0b\377\n\0c";
    size_t len;
    bool truncated;
    str_auto char *text = captured(100, data, sizeof(data), 3, &len, &truncated);

    assert_int_equal(len, sizeof(data));
    assert_memory_equal(text, data, sizeof(data));
    assert_false(truncated);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

/* The obvious way: keep everything, then cut. */
static char *naive(uint64_t limit, const char *data, size_t len, size_t *ret_len)
{
    size_t head = (size_t)(limit - limit / 2);
    size_t tail = (size_t)(limit / 2);
    char *text = malloc(len + 128);

    assert_non_null(text);
    if (len <= limit) {
        memcpy(text, data, len);
        *ret_len = len;
        return text;
    }
    memcpy(text, data, head);
    int line = snprintf(text + head, 128, "\n... %zu bytes of output are missing here ...\n",
                        len - head - tail);
    memcpy(text + head + (size_t)line, data + len - tail, tail);
    *ret_len = head + (size_t)line + tail;
    return text;
}

static void random_chunks_agree_with_a_model(void **state)
{
    static char data[20000];
    uint32_t seed = 20260101;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)next_random(&seed);
    for (int round = 0; round < 2000; round++) {
        uint64_t limit = next_random(&seed) % 300;
        size_t len = next_random(&seed) % (round % 10 ? 700 : sizeof(data));
        size_t most = 1 + next_random(&seed) % (round % 3 ? 40 : 2000);
        struct capture capture;
        size_t want_len;
        size_t got_len;

        capture_init(&capture, limit);
        for (size_t done = 0; done < len;) {
            size_t piece = next_random(&seed) % (most + 1);
            if (piece > len - done)
                piece = len - done;
            capture_add(&capture, data + done, piece);
            done += piece;
            /* What is held never grows past the limit. */
            assert_true(capture.head.len + capture.tail_size <= limit);
        }
        str_auto char *want = naive(limit, data, len, &want_len);
        str_auto char *got = capture_take(&capture, &got_len);
        if (got_len != want_len || memcmp(got, want, want_len) != 0)
            fail_msg("round %d: limit %d, %zu bytes", round, (int)limit, len);
        assert_int_equal(capture_truncated(&capture), len > limit);
        capture_clear(&capture);
    }
}

static void a_huge_output_keeps_its_ends(void **state)
{
    enum { LIMIT = 1 << 20, CHUNK = 1 << 16, CHUNKS = 256 };
    struct capture capture;
    str_auto char *chunk = malloc(CHUNK);
    size_t len;

    assert_non_null(chunk);
    capture_init(&capture, LIMIT);
    for (int i = 0; i < CHUNKS; i++) {
        memset(chunk, i, CHUNK);
        capture_add(&capture, chunk, CHUNK);
    }
    str_auto char *text = capture_take(&capture, &len);
    assert_non_null(strstr(text + LIMIT / 2, MISSING("15728640")));
    assert_int_equal((unsigned char)text[LIMIT / 2 - 1], LIMIT / 2 / CHUNK - 1);
    assert_int_equal((unsigned char)text[len - 1], CHUNKS - 1);
    assert_int_equal(capture.total, CHUNK * CHUNKS);
    capture_clear(&capture);
}

static void nothing_is_allocated_before_it_is_needed(void **state)
{
    struct capture capture;

    capture_init(&capture, 1ULL << 40);
    capture_add(&capture, "abc", 3);
    assert_null(capture.tail);
    assert_true(capture.head.cap < 4096);
    capture_clear(&capture);
    capture_clear(&capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_and_boundaries),
        cmocka_unit_test(bytes_are_bytes),
        cmocka_unit_test(random_chunks_agree_with_a_model),
        cmocka_unit_test(a_huge_output_keeps_its_ends),
        cmocka_unit_test(nothing_is_allocated_before_it_is_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
