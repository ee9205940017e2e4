/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/rpc/backlog.h"

#include "base/json.h"
#include "base/str.h"

static void add(struct backlog *backlog, int stream, const char *text)
{
    backlog_add(backlog, stream, text, strlen(text));
}

/* What there is from `cursor` on, as JSON; sets the cursor behind it. */
static void expect(const struct backlog *backlog, uint64_t *cursor, size_t max, const char *want)
{
    uint64_t dropped;
    json_auto_ref json_t *list = backlog_from(backlog, *cursor, max, cursor, &dropped);
    str_auto char *text = json_dumps(list, JSON_COMPACT);

    assert_string_equal(text, want);
    assert_int_equal(dropped, 0);
}

static void keeps_the_order_of_streams(void **state)
{
    struct backlog backlog = {0};
    uint64_t cursor = 0, middle = 2;

    expect(&backlog, &cursor, 100, "[]");
    add(&backlog, 1, "ab");
    add(&backlog, 2, "c");
    add(&backlog, 1, "d");
    expect(&backlog, &cursor, 100,
           "[{\"stream\":\"stdout\",\"data\":\"ab\"},{\"stream\":\"stderr\",\"data\":\"c\"},"
           "{\"stream\":\"stdout\",\"data\":\"d\"}]");
    assert_int_equal(cursor, 4);
    expect(&backlog, &cursor, 100, "[]");
    expect(&backlog, &middle, 1, "[{\"stream\":\"stderr\",\"data\":\"c\"}]");
    assert_int_equal(middle, 3);
    backlog_clear(&backlog);
}

/* However a character is cut by writes, it arrives whole. */
static void characters_stay_whole(void **state)
{
    static const char euro[] = "\xe2\x82\xac";
    struct backlog backlog = {0};
    uint64_t cursor = 0;

    backlog_add(&backlog, 1, euro, 1);
    expect(&backlog, &cursor, 100, "[]");
    backlog_add(&backlog, 1, euro + 1, 1);
    add(&backlog, 2, "x");
    expect(&backlog, &cursor, 100, "[{\"stream\":\"stderr\",\"data\":\"x\"}]");
    backlog_add(&backlog, 1, euro + 2, 1);
    expect(&backlog, &cursor, 100, "[{\"stream\":\"stdout\",\"data\":\"\u20ac\"}]");

    /* A limit does not cut one either. */
    add(&backlog, 1, "a\u20ac\u20ac");
    expect(&backlog, &cursor, 6, "[{\"stream\":\"stdout\",\"data\":\"a\u20ac\"}]");
    expect(&backlog, &cursor, 6, "[{\"stream\":\"stdout\",\"data\":\"\u20ac\"}]");
    backlog_clear(&backlog);
}

static void what_is_not_utf8_is_exact_in_base64(void **state)
{
    struct backlog backlog = {0};
    uint64_t cursor = 0;

    add(&backlog, 1, "\xff");
    expect(&backlog, &cursor, 100,
           "[{\"stream\":\"stdout\",\"data\":\"\ufffd\",\"data_base64\":\"/w==\"}]");
    add(&backlog, 1, "\xe2\x82"); /* and no more */
    expect(&backlog, &cursor, 100, "[]");
    backlog_finish(&backlog);
    expect(&backlog, &cursor, 100,
           "[{\"stream\":\"stdout\",\"data\":\"\ufffd\ufffd\",\"data_base64\":\"4oI=\"}]");
    backlog_clear(&backlog);
}

/* All bytes from `cursor` to the end; returns how many, and in *dropped how many are lost. */
static uint64_t read_all(const struct backlog *backlog, uint64_t cursor, uint64_t *dropped)
{
    uint64_t total = 0, lost;

    *dropped = 0;
    while (cursor < backlog->end) {
        json_auto_ref json_t *list = backlog_from(backlog, cursor, 10000, &cursor, &lost);

        *dropped += lost;
        for (size_t i = 0; i < json_array_size(list); i++)
            total += json_string_length(json_object_get(json_array_get(list, i), "data"));
    }
    return total;
}

static void the_oldest_goes_and_is_counted(void **state)
{
    struct backlog backlog = {0};
    uint64_t written = 0, dropped;

    for (int i = 0; i < 50000; i++) {
        static const char text[] = "seventy bytes of output, more or less, and then a "
                                   "euro sign: \u20ac\n";

        add(&backlog, 1 + i % 2 * (i % 3 == 0), text);
        written += sizeof text - 1;
        assert_true(backlog.cost <= BACKLOG_MAX);
    }
    assert_int_equal(backlog.end, written);
    uint64_t kept = read_all(&backlog, 0, &dropped);
    assert_int_equal(kept + dropped, written);
    assert_true(kept > BACKLOG_MAX / 4);
    assert_int_equal(read_all(&backlog, dropped, &dropped), kept);
    assert_int_equal(dropped, 0);
    backlog_clear(&backlog);
}

/* Single bytes to alternating streams are the most expensive output there is. */
static void small_writes_are_bounded_too(void **state)
{
    struct backlog backlog = {0};

    for (int i = 0; i < 200000; i++)
        add(&backlog, 1 + i % 2, "x");
    assert_true(backlog.cost <= BACKLOG_MAX);
    assert_int_equal(backlog.end, 200000);
    backlog_clear(&backlog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order_of_streams),
        cmocka_unit_test(characters_stay_whole),
        cmocka_unit_test(what_is_not_utf8_is_exact_in_base64),
        cmocka_unit_test(the_oldest_goes_and_is_counted),
        cmocka_unit_test(small_writes_are_bounded_too),
    };

    return cmocka_run_group_tests_name("rpc backlog", tests, NULL, NULL);
}
