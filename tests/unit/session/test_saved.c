/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "session/saved.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

/* Parse an exact copy of the bytes, so that a sanitizer sees one that is read too many. */
static bool parse(struct arena *arena, const char *data, size_t len, struct saved *ret)
{
    char *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    memcpy(copy, data, len);
    arena_init(arena);
    bool ok = saved_parse(arena, copy, len, ret);
    free(copy);
    return ok;
}

#define TEXT(text) text, sizeof(text) - 1

static void what_is_there_is_read(void **state)
{
    struct arena arena;
    struct saved saved;

    assert_true(parse(&arena, TEXT("12\n345\0/tmp/a b\0A=1\0_b2=x=y\nz\0EMPTY=\0"), &saved));
    assert_int_equal(saved.generation, 12);
    assert_int_equal(saved.pid, 345);
    assert_string_equal(saved.cwd, "/tmp/a b");
    assert_int_equal(saved.env_count, 3);
    assert_string_equal(saved.env[0], "A=1");
    assert_string_equal(saved.env[1], "_b2=x=y\nz");
    assert_string_equal(saved.env[2], "EMPTY=");
    assert_null(saved.env[3]);
    arena_clear(&arena);

    assert_true(parse(&arena, TEXT("18446744073709551615\n2147483647\0/\0"), &saved));
    assert_true(saved.generation == UINT64_MAX);
    assert_int_equal(saved.env_count, 0);
    assert_null(saved.env[0]);
    arena_clear(&arena);
}

static void what_is_no_variable_is_left_out(void **state)
{
    struct arena arena;
    struct saved saved;

    assert_true(parse(&arena,
                      TEXT("1\n1\0/\0\0=x\0no equals\0 A=1\0A B=1\0001A=1\0BASH_FUNC_f%%=()\0"
                           "\xff=1\0OK=\xff\0not ended=1"),
                      &saved));
    assert_int_equal(saved.env_count, 1);
    assert_string_equal(saved.env[0], "OK=\xff");
    arena_clear(&arena);
}

static void nonsense_is_refused(void **state)
{
    static const struct {
        const char *data;
        size_t len;
    } cases[] = {
        {TEXT("")},
        {TEXT("\0")},
        {TEXT("\n")},
        {TEXT("1")},
        {TEXT("1\n")},
        {TEXT("1\n1")},
        {TEXT("1\n1\0")},
        {TEXT("1\n1\0\0")},
        {TEXT("1\n1\0/tmp")},
        {TEXT("1\n1\0tmp\0")},
        {TEXT("0\n1\0/\0")},
        {TEXT("1\n0\0/\0")},
        {TEXT("-1\n1\0/\0")},
        {TEXT("+1\n1\0/\0")},
        {TEXT(" 1\n1\0/\0")},
        {TEXT("1 \n1\0/\0")},
        {TEXT("0x1\n1\0/\0")},
        {TEXT("1\0\n1\0/\0")},
        {TEXT("18446744073709551616\n1\0/\0")},
        {TEXT("99999999999999999999999\n1\0/\0")},
        {TEXT("1\n2147483648\0/\0")},
        {TEXT("1\n\0/\0")},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena arena;
        struct saved saved = {.pid = -7};

        if (parse(&arena, cases[i].data, cases[i].len, &saved))
            fail_msg("case %zu was accepted", i);
        assert_int_equal(saved.pid, -7);
        arena_clear(&arena);
    }
}

static void there_are_bounds(void **state)
{
    enum { MANY = SAVED_ENV_MAX + 100 };
    char *data = calloc(1, SAVED_BYTES_MAX);
    struct arena arena;
    struct saved saved;

    assert_non_null(data);
    size_t len = (size_t)sprintf(data, "1\n1%c/%c", 0, 0);
    for (int i = 0; i < MANY; i++)
        len += (size_t)sprintf(data + len, "V%d=%d", i, i) + 1;
    assert_true(parse(&arena, data, len, &saved));
    assert_int_equal(saved.env_count, SAVED_ENV_MAX);
    assert_null(saved.env[SAVED_ENV_MAX]);
    arena_clear(&arena);

    for (size_t cwd = SAVED_CWD_MAX - 1; cwd <= SAVED_CWD_MAX + 1; cwd++) {
        memset(data, '/', SAVED_BYTES_MAX);
        memcpy(data, "1\n1", 4);
        data[4 + cwd] = '\0';
        assert_int_equal(parse(&arena, data, 4 + cwd + 1, &saved), cwd <= SAVED_CWD_MAX);
        arena_clear(&arena);
    }
    free(data);
}

/* Every prefix and every changed byte of a good one: no crash, and what is accepted is whole. */
static void damage_is_survived(void **state)
{
    static const char good[] = "12\n345\0/tmp\0A=1\0B=2";
    char bytes[sizeof good];
    struct arena arena;
    struct saved saved;

    for (size_t len = 0; len <= sizeof good; len++) {
        bool ok = parse(&arena, good, len, &saved);
        assert_int_equal(ok, len >= 12);
        arena_clear(&arena);
    }
    for (size_t at = 0; at < sizeof good; at++) {
        for (int value = 0; value < 256; value++) {
            memcpy(bytes, good, sizeof good);
            bytes[at] = (char)value;
            if (parse(&arena, bytes, sizeof bytes, &saved)) {
                assert_int_equal(saved.cwd[0], '/');
                for (size_t i = 0; i < saved.env_count; i++)
                    assert_non_null(strchr(saved.env[i], '='));
            }
            arena_clear(&arena);
        }
    }
}

static void numbers(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        bool ok;
    } cases[] = {
        {TEXT("1\n"), true},   {TEXT("99\n"), true}, {TEXT("100\n"), false},
        {TEXT("0\n"), false},  {TEXT("7"), false},   {TEXT("7\n\n"), false},
        {TEXT("7\n8"), false}, {TEXT(""), false},    {TEXT("7\0\n"), false},
        {TEXT("-7\n"), false}, {TEXT("\n"), false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t number = 0;
        assert_int_equal(saved_parse_number(cases[i].data, cases[i].len, 99, &number), cases[i].ok);
        assert_int_equal(number != 0, cases[i].ok);
    }
}

static void names(void **state)
{
    static const struct {
        const char *name;
        bool ok;
    } cases[] = {
        {"", false},   {"A", true},   {"_", true},    {"a9_Z", true}, {"9a", false},
        {"A-", false}, {"A=", false}, {"A B", false}, {"é", false},   {"A\n", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(saved_is_name(cases[i].name, strlen(cases[i].name)), cases[i].ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_read),
        cmocka_unit_test(what_is_no_variable_is_left_out),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(there_are_bounds),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(numbers),
        cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
