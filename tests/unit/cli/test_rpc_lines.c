/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/rpc/lines.h"

#include "base/buf.h"
#include "base/str.h"

enum { MAX = 5 };

/* What comes out, as one text: lines in brackets; of one that is too long the beginning, in others. */
static void drain(struct lines *lines, struct buf *out)
{
    const char *line;
    size_t len;
    enum lines_next next;

    while ((next = lines_next(lines, &line, &len)) != LINES_NONE) {
        if (next == LINES_TOO_LONG)
            buf_printf(out, "(%.*s)", len > MAX ? MAX + 1 : (int)len, line);
        else
            buf_printf(out, "[%.*s]", (int)len, line);
    }
}

/* The same, when the input arrives in pieces of `step` bytes. */
static char *split(const char *input, size_t step)
{
    struct lines lines;
    struct buf out;
    size_t len = strlen(input);

    lines_init(&lines, MAX);
    buf_init(&out, SIZE_MAX);
    for (size_t i = 0; i < len; i += step) {
        lines_add(&lines, input + i, len - i < step ? len - i : step);
        drain(&lines, &out);
    }
    lines_finish(&lines);
    drain(&lines, &out);
    drain(&lines, &out);
    lines_clear(&lines);
    buf_puts(&out, "");
    return buf_take(&out);
}

static void splits_the_same_however_it_arrives(void **state)
{
    static const struct {
        const char *input, *want;
    } cases[] = {
        {"", ""},
        {"a\n", "[a]"},
        {"a", "[a]"},
        {"\n", "[]"},
        {"\n\n", "[][]"},
        {"a\nb\n", "[a][b]"},
        {"12345\n", "[12345]"},
        {"123456\n", "(123456)"},
        {"123456", "(123456)"},
        {"123456\na\n", "(123456)[a]"},
        {"a\n123456789012345678\nb", "[a](123456)[b]"},
        {"123456\n123456\n", "(123456)(123456)"},
        {"12345\n123456\n12345", "[12345](123456)[12345]"},
        {"123456\n\n", "(123456)[]"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t step = 1; step < 20; step++) {
            str_auto char *got = split(cases[i].input, step);

            assert_string_equal(got, cases[i].want);
        }
    }
}

/* A line without an end takes no more memory than the longest that is allowed. */
static void an_endless_line_is_told_once_and_not_kept(void **state)
{
    static const char piece[1000] = {'x'};
    struct lines lines;
    const char *line;
    size_t len, told = 0;

    lines_init(&lines, 10000);
    for (int i = 0; i < 5000; i++) {
        lines_add(&lines, piece, sizeof piece);
        enum lines_next next = lines_next(&lines, &line, &len);

        assert_true(next != LINES_ONE);
        told += next == LINES_TOO_LONG;
        assert_true(lines.cap < 50000);
    }
    assert_int_equal(told, 1);
    lines_clear(&lines);
}

static void memory_of_a_long_line_is_given_back(void **state)
{
    const size_t size = 4 << 20;
    char *text = malloc(size);
    struct lines lines;
    const char *line;
    size_t len;

    assert_non_null(text);
    memset(text, 'x', size);
    text[size - 1] = '\n';
    lines_init(&lines, size);
    lines_add(&lines, text, size);
    assert_int_equal(lines_next(&lines, &line, &len), LINES_ONE);
    assert_int_equal(len, size - 1);
    assert_int_equal(lines_next(&lines, &line, &len), LINES_NONE);
    lines_add(&lines, "a", 1);
    assert_true(lines.cap < 1 << 20);
    lines_clear(&lines);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_the_same_however_it_arrives),
        cmocka_unit_test(an_endless_line_is_told_once_and_not_kept),
        cmocka_unit_test(memory_of_a_long_line_is_given_back),
    };

    return cmocka_run_group_tests_name("rpc lines", tests, NULL, NULL);
}
