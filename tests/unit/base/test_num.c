/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/num.h"

#include "base/str.h"

typedef const char *parse_fn(const char *text, uint64_t *ret);

/* `reason` is a part of the message, NULL when the text is good. */
struct number_case {
    const char *text;
    uint64_t number;
    const char *reason;
};

static void check_cases(parse_fn *parse, const struct number_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t number = 4711;
        const char *reason = parse(cases[i].text, &number);

        if (cases[i].reason && (!reason || !strstr(reason, cases[i].reason)))
            fail_msg("'%s': wanted '%s', got '%s'", cases[i].text, cases[i].reason,
                     reason ? reason : "no error");
        if (!cases[i].reason && (reason || number != cases[i].number))
            fail_msg("'%s': got %llu, '%s'", cases[i].text, (unsigned long long)number,
                     reason ? reason : "no error");
        if (cases[i].reason && number != 4711)
            fail_msg("'%s': touched its result", cases[i].text);
    }
}

static void sizes(void **state)
{
    static const struct number_case cases[] = {
        {"1", 1, NULL},
        {"512", 512, NULL},
        {"64M", 64 << 20, NULL},
        {"64m", 64 << 20, NULL},
        {"3K", 3 << 10, NULL},
        {"1G", 1 << 30, NULL},
        {"2T", UINT64_C(2) << 40, NULL},
        {"unlimited", NUM_NO_LIMIT, NULL},
        {"9223372036854775807", INT64_MAX, NULL},
        {"8388607T", UINT64_C(8388607) << 40, NULL},
        {"8388608T", 0, "too large"},
        {"9223372036854775808", 0, "too large"},
        {"18446744073709551615", 0, "too large"},
        {"18446744073709551616", 0, "too large"},
        {"99999999999999999999999999G", 0, "too large"},
        {"0", 0, "is not a limit"},
        {"0M", 0, "is not a limit"},
        {"", 0, "is not a size"},
        {"-1", 0, "is not a size"},
        {"+1", 0, "is not a size"},
        {"1.5G", 0, "is not a size"},
        {" 1", 0, "is not a size"},
        {"1 ", 0, "is not a size"},
        {"1 G", 0, "is not a size"},
        {"010", 0, "is not a size"},
        {"00", 0, "is not a size"},
        {"0x10", 0, "is not a size"},
        {"1e3", 0, "is not a size"},
        {"1GB", 0, "is not a size"},
        {"1GG", 0, "is not a size"},
        {"G", 0, "is not a size"},
        {"1P", 0, "is not a size"},
        {"Unlimited", 0, "is not a size"},
        {"unlimited ", 0, "is not a size"},
        {"infinity", 0, "is not a size"},
        {"\xd9\xa1", 0, "is not a size"},
    };

    check_cases(num_parse_size, cases, ARRAY_LEN(cases));
}

static void durations(void **state)
{
    static const struct number_case cases[] = {
        {"500ms", 500, NULL},
        {"30s", 30000, NULL},
        {"5m", 300000, NULL},
        {"2h", 7200000, NULL},
        {"30", 30000, NULL},
        {"unlimited", NUM_NO_LIMIT, NULL},
        {"0s", 0, "is not a limit"},
        {"9223372036854775807ms", INT64_MAX, NULL},
        {"9223372036854775807s", 0, "too large"},
        {"1d", 0, "is not a duration"},
        {"5M", 0, "is not a duration"},
        {"1m30s", 0, "is not a duration"},
        {"1.5s", 0, "is not a duration"},
        {"-1s", 0, "is not a duration"},
        {"s", 0, "is not a duration"},
        {"", 0, "is not a duration"},
    };

    check_cases(num_parse_duration, cases, ARRAY_LEN(cases));
}

static void counts(void **state)
{
    static const struct number_case cases[] = {
        {"256", 256, NULL},          {"unlimited", NUM_NO_LIMIT, NULL}, {"0", 0, "is not a limit"},
        {"1K", 0, "is not a count"}, {"1.0", 0, "is not a count"},      {"-5", 0, "is not a count"},
    };

    check_cases(num_parse_count, cases, ARRAY_LEN(cases));
}

static void cpus(void **state)
{
    static const struct number_case cases[] = {
        {"2", 2000, NULL},
        {"0.5", 500, NULL},
        {"1.25", 1250, NULL},
        {"1.250", 1250, NULL},
        {"0.001", 1, NULL},
        {"2.0", 2000, NULL},
        {"1000000", 1000000000, NULL},
        {"unlimited", NUM_NO_LIMIT, NULL},
        {"1000001", 0, "too large"},
        {"99999999999999999999", 0, "too large"},
        {"0", 0, "is not a limit"},
        {"0.0", 0, "is not a limit"},
        {"0.000", 0, "is not a limit"},
        {"1.2345", 0, "is not a number of CPUs"},
        {"1.", 0, "is not a number of CPUs"},
        {".5", 0, "is not a number of CPUs"},
        {"00.5", 0, "is not a number of CPUs"},
        {"1,5", 0, "is not a number of CPUs"},
        {"1.5.5", 0, "is not a number of CPUs"},
        {"1e1", 0, "is not a number of CPUs"},
        {"-0.5", 0, "is not a number of CPUs"},
        {"nan", 0, "is not a number of CPUs"},
    };

    check_cases(num_parse_cpus, cases, ARRAY_LEN(cases));
}

static void formats_are_short_and_exact(void **state)
{
    char out[NUM_TEXT_MAX];

    assert_string_equal(num_format_size(1, out), "1");
    assert_string_equal(num_format_size(1025, out), "1025");
    assert_string_equal(num_format_size(1024, out), "1K");
    assert_string_equal(num_format_size(1536 << 10, out), "1536K");
    assert_string_equal(num_format_size(UINT64_C(3) << 40, out), "3T");
    assert_string_equal(num_format_size(INT64_MAX, out), "9223372036854775807");
    assert_string_equal(num_format_size(NUM_NO_LIMIT, out), "unlimited");
    assert_string_equal(num_format_duration(1, out), "1ms");
    assert_string_equal(num_format_duration(1500, out), "1500ms");
    assert_string_equal(num_format_duration(90000, out), "90s");
    assert_string_equal(num_format_duration(120000, out), "2m");
    assert_string_equal(num_format_duration(7200000, out), "2h");
    assert_string_equal(num_format_duration(NUM_NO_LIMIT, out), "unlimited");
    assert_string_equal(num_format_cpus(2000, out), "2");
    assert_string_equal(num_format_cpus(500, out), "0.5");
    assert_string_equal(num_format_cpus(1, out), "0.001");
    assert_string_equal(num_format_cpus(1050, out), "1.05");
    assert_string_equal(num_format_cpus(NUM_NO_LIMIT, out), "unlimited");
}

static void digits_are_put(void **state)
{
    static const struct {
        uint64_t value;
        unsigned base;
        const char *want;
    } cases[] = {
        {0, 10, "0"},
        {7, 10, "7"},
        {10, 10, "10"},
        {1048576, 10, "1048576"},
        {UINT64_MAX, 10, "18446744073709551615"},
        {0, 8, "0"},
        {0755, 8, "755"},
        {5, 2, "101"},
        {UINT64_MAX, 2, "1111111111111111111111111111111111111111111111111111111111111111"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[72];

        memset(out, '#', sizeof(out));
        char *end = num_put(out, cases[i].value, cases[i].base);
        assert_int_equal(end - out, strlen(cases[i].want));
        assert_memory_equal(out, cases[i].want, strlen(cases[i].want));
        assert_int_equal(*end, '#'); /* no end is put */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(durations),
        cmocka_unit_test(counts),
        cmocka_unit_test(cpus),
        cmocka_unit_test(formats_are_short_and_exact),
        cmocka_unit_test(digits_are_put),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
