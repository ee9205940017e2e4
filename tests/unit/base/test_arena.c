/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"

#include <string.h>

static void alloc_gives_zeroed_aligned_memory(void **state)
{
    struct arena arena;
    static const size_t sizes[] = {1, 7, 16, 100, 8192, 100000, 0, 3};

    arena_init(&arena);
    for (size_t round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned char *memory = arena_alloc(&arena, sizes[i]);

            assert_non_null(memory);
            assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
            for (size_t j = 0; j < sizes[i]; j++)
                assert_int_equal(memory[j], 0);
            memset(memory, 0xff, sizes[i]);
        }
    }
    assert_false(arena_failed(&arena));
    arena_clear(&arena);
}

static void strings_are_copies(void **state)
{
    struct arena arena;
    char text[] = "hello";

    arena_init(&arena);
    char *copy = arena_strdup(&arena, text);
    char *part = arena_strndup(&arena, text, 3);
    char *whole = arena_strndup(&arena, text, 300);
    text[0] = 'J';
    assert_string_equal(copy, "hello");
    assert_string_equal(part, "hel");
    assert_string_equal(whole, "hello");
    assert_string_equal(arena_printf(&arena, "%s-%d", text, 42), "Jello-42");
    arena_clear(&arena);
}

static void grow_keeps_what_was_there(void **state)
{
    struct arena arena;
    int *items = NULL;
    size_t cap = 0;

    arena_init(&arena);
    for (int i = 0; i < 5000; i++) {
        items = arena_grow(&arena, items, (size_t)i, &cap, sizeof(*items));
        assert_non_null(items);
        items[i] = i;
    }
    assert_true(cap >= 5000);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(items[i], i);
    arena_clear(&arena);
}

static void failure_is_sticky(void **state)
{
    struct arena arena;
    size_t cap = SIZE_MAX / 4;
    int item;

    arena_init(&arena);
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_true(arena_failed(&arena));
    assert_null(arena_alloc(&arena, 1));
    assert_null(arena_strdup(&arena, "x"));
    assert_null(arena_printf(&arena, "x"));
    arena_clear(&arena);
    assert_false(arena_failed(&arena));

    assert_null(arena_grow(&arena, &item, cap, &cap, 8));
    assert_true(arena_failed(&arena));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alloc_gives_zeroed_aligned_memory),
        cmocka_unit_test(strings_are_copies),
        cmocka_unit_test(grow_keeps_what_was_there),
        cmocka_unit_test(failure_is_sticky),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
