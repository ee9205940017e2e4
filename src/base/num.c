/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/str.h"

/* The kernel keeps limits in signed 64 bits; more than that is a slip, not a limit. */
#define NUMBER_MOST ((uint64_t)INT64_MAX)
#define CPUS_MOST 1000000

#define NO_ZERO "is not a limit: use 'unlimited' to lift it"
#define TOO_LARGE "is too large"
#define NO_SIZE                                                                                    \
    "is not a size: use a whole number with K, M, G or T (powers of 1024), or 'unlimited'"
#define NO_DURATION "is not a duration: use a whole number with ms, s, m or h, or 'unlimited'"
#define NO_COUNT "is not a count: use a whole number, or 'unlimited'"
#define NO_CPUS "is not a number of CPUs: use one such as 2 or 0.5, or 'unlimited'"

struct unit {
    const char *name;
    uint64_t factor;
};

/* Largest first: formatting takes the first that divides. Lower case as docker's users write it. */
static const struct unit size_units[] = {
    {"T", UINT64_C(1) << 40},
    {"G", UINT64_C(1) << 30},
    {"M", UINT64_C(1) << 20},
    {"K", UINT64_C(1) << 10},
    {"", 1},
    {"t", UINT64_C(1) << 40},
    {"g", UINT64_C(1) << 30},
    {"m", UINT64_C(1) << 20},
    {"k", UINT64_C(1) << 10},
};

/* A bare number is seconds, as for timeout(1). */
static const struct unit duration_units[] = {
    {"h", 3600 * 1000}, {"m", 60 * 1000}, {"s", 1000}, {"ms", 1}, {"", 1000},
};

static const struct unit count_units[] = {
    {"", 1},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/*
 * The whole number that `text` begins with; *end is what follows. False for no number, and for
 * leading zeros: somebody who writes 010 may mean eight. Too large gives NUM_NO_LIMIT.
 */
static bool scan_whole(const char *text, const char **end, uint64_t *ret)
{
    uint64_t number = 0;
    const char *p = text;

    if (!is_digit(p[0]) || (p[0] == '0' && is_digit(p[1])))
        return false;
    for (; is_digit(*p); p++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
            number = NUM_NO_LIMIT;
    }
    *end = p;
    *ret = number;
    return true;
}

static const char *parse_unit(const char *text, const struct unit *units, size_t count,
                              const char *bad, uint64_t *ret)
{
    const char *suffix;
    uint64_t number;
    size_t i = 0;

    if (str_eq(text, "unlimited")) {
        *ret = NUM_NO_LIMIT;
        return NULL;
    }
    if (!scan_whole(text, &suffix, &number))
        return bad;
    while (i < count && !str_eq(units[i].name, suffix))
        i++;
    if (i == count)
        return bad;
    if (number == 0)
        return NO_ZERO;
    if (__builtin_mul_overflow(number, units[i].factor, &number) || number > NUMBER_MOST)
        return TOO_LARGE;
    *ret = number;
    return NULL;
}

const char *num_parse_size(const char *text, uint64_t *ret)
{
    return parse_unit(text, size_units, ARRAY_LEN(size_units), NO_SIZE, ret);
}

const char *num_parse_duration(const char *text, uint64_t *ret_ms)
{
    return parse_unit(text, duration_units, ARRAY_LEN(duration_units), NO_DURATION, ret_ms);
}

const char *num_parse_count(const char *text, uint64_t *ret)
{
    return parse_unit(text, count_units, ARRAY_LEN(count_units), NO_COUNT, ret);
}

/* One to three digits after the point, as thousandths. */
static bool scan_thousandths(const char *text, uint64_t *ret)
{
    uint64_t number = 0;
    size_t digits = 0;

    for (; is_digit(text[digits]); digits++) {
        if (digits == 3)
            return false;
        number = number * 10 + (uint64_t)(text[digits] - '0');
    }
    if (digits == 0 || text[digits])
        return false;
    for (; digits < 3; digits++)
        number *= 10;
    *ret = number;
    return true;
}

const char *num_parse_cpus(const char *text, uint64_t *ret_milli)
{
    uint64_t whole;
    uint64_t milli = 0;
    const char *end;

    if (str_eq(text, "unlimited")) {
        *ret_milli = NUM_NO_LIMIT;
        return NULL;
    }
    if (!scan_whole(text, &end, &whole))
        return NO_CPUS;
    if (*end && !(*end == '.' && scan_thousandths(end + 1, &milli)))
        return NO_CPUS;
    if (whole > CPUS_MOST)
        return TOO_LARGE;
    if (whole == 0 && milli == 0)
        return NO_ZERO;
    *ret_milli = whole * 1000 + milli;
    return NULL;
}

static const char *format_unit(uint64_t number, const struct unit *units, char out[NUM_TEXT_MAX])
{
    size_t i = 0;

    if (number == NUM_NO_LIMIT) {
        snprintf(out, NUM_TEXT_MAX, "unlimited");
        return out;
    }
    /* Ends: every table has a row with factor 1. */
    while (number % units[i].factor != 0)
        i++;
    snprintf(out, NUM_TEXT_MAX, "%" PRIu64 "%s", number / units[i].factor, units[i].name);
    return out;
}

const char *num_format_size(uint64_t bytes, char out[NUM_TEXT_MAX])
{
    return format_unit(bytes, size_units, out);
}

const char *num_format_duration(uint64_t ms, char out[NUM_TEXT_MAX])
{
    return format_unit(ms, duration_units, out);
}

const char *num_format_cpus(uint64_t milli, char out[NUM_TEXT_MAX])
{
    uint64_t rest = milli % 1000;
    int digits = 3;

    if (milli == NUM_NO_LIMIT || rest == 0)
        return format_unit(milli == NUM_NO_LIMIT ? milli : milli / 1000, count_units, out);
    for (; rest % 10 == 0; rest /= 10)
        digits--;
    snprintf(out, NUM_TEXT_MAX, "%" PRIu64 ".%0*" PRIu64, milli / 1000, digits, rest);
    return out;
}

char *num_put(char *out, uint64_t value, unsigned base)
{
    char digits[64];
    size_t len = 0;

    do {
        digits[len++] = (char)('0' + value % base);
        value /= base;
    } while (value > 0);
    while (len > 0)
        *out++ = digits[--len];
    return out;
}
