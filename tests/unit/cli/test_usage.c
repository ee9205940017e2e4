/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/usage.h"

#include "base/buf.h"
#include "base/str.h"

#define MiB (UINT64_C(1) << 20)
#define GiB (UINT64_C(1) << 30)

/* The line of `usage`, the caller's to free. */
static char *line_of(const struct usage *usage)
{
    struct buf out;

    buf_init(&out, SIZE_MAX);
    usage_put(&out, usage);
    return buf_take(&out);
}

static void lines(void **state)
{
    static const struct {
        struct usage usage;
        const char *want;
    } cases[] = {
        {{310, 1200, 42 * MiB, GiB, 5, 256, USAGE_NONE, GiB},
         "cpu 0.31s  mem 42M/1G  procs 5/256  wall 1.2s"},
        {{310, 1200, 42 * MiB, GiB, 5, 256, 12 * MiB, GiB},
         "cpu 0.31s  mem 42M/1G  procs 5/256  disk 12M/1G  wall 1.2s"},
        {{310, 1200, 42 * MiB, GiB, 5, 256, 0, GiB},
         "cpu 0.31s  mem 42M/1G  procs 5/256  wall 1.2s"},
        {{310, 1200, 42 * MiB, USAGE_NONE, 5, USAGE_NONE, 12 * MiB, USAGE_NONE},
         "cpu 0.31s  mem 42M  procs 5  disk 12M  wall 1.2s"},
        {USAGE_INIT, "cpu 0.00s  wall 0.00s"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str_auto char *line = line_of(&cases[i].usage);

        assert_string_equal(line, cases[i].want);
    }
}

static void times(void **state)
{
    static const struct {
        double ms;
        const char *want;
    } cases[] = {
        {-1, "0.00s"},      {0, "0.00s"},
        {4, "0.00s"},       {5.1, "0.01s"},
        {994, "0.99s"},     {996, "1.0s"},
        {1250, "1.2s"},     {9999, "10.0s"},
        {59900, "59.9s"},   {59960, "1m00s"},
        {312000, "5m12s"},  {3599400, "59m59s"},
        {3599600, "1h00m"}, {2 * 3600e3 + 300e3, "2h05m"},

    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct usage usage = USAGE_INIT;

        usage.wall_ms = cases[i].ms;
        str_auto char *line = line_of(&usage);
        assert_string_equal(strstr(line, "wall ") + strlen("wall "), cases[i].want);
    }
}

static void sizes(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *want;
    } cases[] = {
        {0, "0B"},
        {900, "900B"},
        {1023, "1023B"},
        {1024, "1K"},
        {1536, "1.5K"},
        {9 * 1024 + 1000, "10K"},
        {10 * 1024 + 600, "11K"},
        {MiB - 1, "1M"},
        {1023 * MiB, "1023M"},
        {1024 * MiB - 1, "1G"},
        {1536 * MiB, "1.5G"},
        {UINT64_MAX - 1, "16E"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct usage usage = USAGE_INIT;
        char want[64] = "cpu 0.00s  mem ";

        usage.memory_bytes = cases[i].bytes;
        strcat(strcat(want, cases[i].want), "  wall 0.00s");
        str_auto char *line = line_of(&usage);
        assert_string_equal(line, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(times),
        cmocka_unit_test(sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
