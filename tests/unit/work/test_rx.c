/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/rx.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/str.h"
#include "sys/clock.h"

#define NEVER UINT64_MAX

static struct arena arena;

static int setup(void **state)
{
    arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    arena_clear(&arena);
    return 0;
}

static int find(const char *pattern, bool ignore_case, const char *line)
{
    struct rx rx;
    const char *why = rx_compile(&rx, pattern, ignore_case, &arena);

    if (why)
        fail_msg("'%s' %s", pattern, why);
    return rx_search(&rx, line, strlen(line), NEVER);
}

static void finds(void **state)
{
    static const struct {
        const char *pattern, *line;
        int want;
    } cases[] = {
        {"a", "a", 1},
        {"a", "", 0},
        {"a.c", "xabcx", 1},
        {"a.c", "ac", 0},
        {"^b", "abc", 0},
        {"^a", "abc", 1},
        {"c$", "abc", 1},
        {"b$", "abc", 0},
        {"^$", "", 1},
        {"^$", "a", 0},
        {"$", "a", 1},
        {"a^b", "a^b", 0},
        {"(foo|bar)+baz", "foobarbaz", 1},
        {"(?:foo|bar)baz", "xbarbaz", 1},
        {"a|", "x", 1},
        {"()", "", 1},
        {"x()y", "xy", 1},
        {"a{2,3}b", "xaab", 1},
        {"a{2,3}b", "xab", 0},
        {"^a{2,3}$", "aaaa", 0},
        {"^a{2}$", "aa", 1},
        {"^a{2,}$", "aaaaa", 1},
        {"^a{0}b$", "b", 1},
        {"a{0,0}b", "b", 1},
        {"if {", "if {", 1},
        {"{", "{", 1},
        {"a{x}", "a{x}", 1},
        {"a{1", "a{1", 1},
        {"a{,2}", "a{,2}", 1},
        {"^a+?b??$", "aab", 1},
        {"a**", "", 1},
        {"(a*)*b", "aaab", 1},
        {"((a?)+)+$", "b", 1},
        {"\\d+", "abc 42", 1},
        {"\\d", "abc", 0},
        {"^\\D+$", "abö", 1},
        {"\\w+\\s\\w+", "one\ttwo", 1},
        {"^\\W\\S$", "-x", 1},
        {"\\bword\\b", "a word here", 1},
        {"\\bword\\b", "swords", 0},
        {"\\Bord", "word", 1},
        {"\\<word\\>", "word", 1},
        {"\\<ord", "word", 0},
        {"wor\\>", "word", 0},
        {"[[:upper:]][]x]", "A]", 1},
        {"[^]]", "]", 0},
        {"[^a]", "a", 0},
        {"[a\\]b]", "]", 1},
        {"[\\w.-]+@", "a.b-c@", 1},
        {"^[\\D]$", "x", 1},
        {"[a-]", "-", 1},
        {"[+--]", ",", 1},
        {"[[:alpha:][:digit:]]", "7", 1},
        {"[[]", "[", 1},
        {"\\(x\\)", "f(x)", 1},
        {"\\.", "ab", 0},
        {"\\t", "\t", 1},
        {"\\{\\}\\|\\/", "{}|/", 1},
        {"^...$", "äöü", 1},
        {"^.$", "\xff", 1},
        {"^..$", "\xff\xfe", 1},
        {"[ä-ö]", "ö", 1},
        {"[ä-ö]", "z", 0},
        {"^[^x]$", "€", 1},
        {"ö", "Ö", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (find(cases[i].pattern, false, cases[i].line) != cases[i].want)
            fail_msg("'%s' in '%s'", cases[i].pattern, cases[i].line);
}

static void case_may_not_matter(void **state)
{
    static const struct {
        const char *pattern, *line;
        int want;
    } cases[] = {
        {"FOO", "a foo", 1}, {"foo", "a FOO", 1},     {"[a-c]+X", "ABCx", 1},
        {"[^a]", "A", 0},    {"[[:upper:]]", "a", 1}, {"\\bFoo", "xfoo", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (find(cases[i].pattern, true, cases[i].line) != cases[i].want)
            fail_msg("'%s' in '%s'", cases[i].pattern, cases[i].line);
}

static void refuses(void **state)
{
    static char longest[2000], deep[300];
    const char *const cases[] = {
        "(a)\\1",
        "a{1001}",
        "a{1,4000}",
        "(a{100}){100}",
        "((a{9}){9}){99}",
        "(",
        "(a",
        ")",
        "a)",
        "[a",
        "[",
        "[]",
        "[^]",
        "[[:nope:]]",
        "[[.x.]]",
        "[b-a]",
        "[a-\\d]",
        "*a",
        "+",
        "?",
        "(|*)",
        "a{2,1}",
        "\\",
        "\\q",
        "\\_\\y",
        "(?=a)",
        "(?i)a",
        longest,
        deep,
        "a{99999999999999999999}",
        "(a{900}b{900}c{900}d{900}){2}",
    };

    memset(longest, 'a', sizeof longest - 1);
    memset(deep, '(', 100);
    memset(deep + 100, ')', 100);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rx rx;

        if (!rx_compile(&rx, cases[i], false, &arena))
            fail_msg("'%s' is taken", cases[i]);
    }
}

/* ---- The same as libc's, where both mean the same ---- */

static unsigned seed;

static unsigned dice(unsigned sides)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % sides;
}

/* A random expression over a small alphabet. */
static void grow(char *out, size_t room, int depth)
{
    static const char *const atoms[] = {"a", "b", "c", ".", "[ab]", "[^a]", "[a-c]"};
    static const char *const signs[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,3}"};
    size_t len = 0;

    for (unsigned parts = 1 + dice(3); parts > 0; parts--) {
        char inner[256];

        if (depth > 0 && dice(3) == 0) {
            grow(inner + 1, sizeof inner - 40, depth - 1);
            inner[0] = '(';
            strcat(inner, ")");
        } else {
            strcpy(inner, atoms[dice(ARRAY_LEN(atoms))]);
        }
        strcat(inner, signs[dice(ARRAY_LEN(signs))]);
        if (len + strlen(inner) + 2 >= room)
            break;
        len += (size_t)sprintf(out + len, "%s%s", len && dice(4) == 0 ? "|" : "", inner);
    }
    out[len] = '\0';
}

static void agrees_with_libc(void **state)
{
    unsigned compared = 0;

    for (unsigned round = 1; round <= 5000; round++) {
        char pattern[256] = "";
        struct rx rx;
        regex_t other;

        seed = round * 7919;
        /* "^" only in front: repeated ones are wrong in glibc ("((^[a-c])|(b{2}){2}){2}" in "bcbc"). */
        pattern[0] = '^';
        bool anchored = dice(3) == 0;
        grow(pattern + anchored, sizeof pattern - 40, 2);
        if (dice(3) == 0)
            strcat(pattern, "$");
        if (regcomp(&other, pattern, REG_EXTENDED | REG_NOSUB) != 0)
            continue;
        arena_clear(&arena);
        const char *why = rx_compile(&rx, pattern, false, &arena);
        if (why)
            fail_msg("'%s' %s", pattern, why);
        for (int k = 0; k < 12; k++, compared++) {
            char line[16] = "";
            for (unsigned len = dice(9); len > 0; len--)
                line[len - 1] = (char)('a' + dice(4));
            int want = regexec(&other, line, 0, NULL, 0) == 0;
            if (rx_search(&rx, line, strlen(line), NEVER) != want)
                fail_msg("'%s' in '%s': libc says %d", pattern, line, want);
        }
        regfree(&other);
    }
    assert_true(compared > 40000);
    print_message("# %u searches compared\n", compared);
}

/* Expressions that are slow in engines that go back, and that make those with states have many. */
static void takes_no_more_than_its_time(void **state)
{
    static const char *const cases[] = {
        "(x+x+)+y$",          "(x|xx)+$y", "((x*)*)*z",        "(x|y)*x(x|y){20}z",
        "(x|y)*x(x|y){500}z", "(.*){60}z", "(x?){400}x{400}z",
    };
    enum { LEN = 64 << 10 };
    char *line = malloc(LEN);

    assert_non_null(line);
    for (size_t i = 0; i < LEN; i++)
        line[i] = i * i % 7 > 3 ? 'x' : 'y';
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rx rx;
        clock_t start = clock();

        assert_null(rx_compile(&rx, cases[i], false, &arena));
        int r = rx_search(&rx, line, LEN, sys_clock_ns(CLOCK_MONOTONIC) + 300000000);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        assert_true(r == 0 || r == -ETIMEDOUT);
        if (seconds > 3)
            fail_msg("'%s': %.1f s", cases[i], seconds);
    }
    free(line);
}

static void says_when_there_is_no_memory(void **state)
{
    struct rx rx;

    arena.failed = true;
    assert_non_null(rx_compile(&rx, "[a](b|c)*", false, &arena));
    arena.failed = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds, setup, teardown),
        cmocka_unit_test_setup_teardown(case_may_not_matter, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(agrees_with_libc, setup, teardown),
        cmocka_unit_test_setup_teardown(takes_no_more_than_its_time, setup, teardown),
        cmocka_unit_test_setup_teardown(says_when_there_is_no_memory, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
