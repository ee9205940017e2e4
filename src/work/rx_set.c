/* SPDX-License-Identifier: Apache-2.0 */
#include "work/rx_set.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "work/text.h"

/* Pairs of first and last. */
static const struct {
    const char *name, *ranges;
} classes[] = {
    {"alnum", "09AZaz"},   {"alpha", "AZaz"},   {"blank", "  \t\t"}, {"cntrl", "\001\037\177\177"},
    {"digit", "09"},       {"graph", "!~"},     {"lower", "az"},     {"print", " ~"},
    {"punct", "!/:@[`{~"}, {"space", "  \t\r"}, {"upper", "AZ"},     {"xdigit", "09AFaf"},
    {"word", "09AZaz__"},
};

/* Failure shows in the arena. */
static void add_range(struct rx *rx, struct rx_set *set, uint32_t low, uint32_t high)
{
    set->ranges = arena_grow(rx->arena, set->ranges, set->count, &set->cap, sizeof *set->ranges);
    if (set->ranges)
        set->ranges[set->count++] = (struct rx_range){low, high};
}

/* The ranges, or all that is between them. */
static void add_class(struct rx *rx, struct rx_set *set, const char *ranges, bool negated)
{
    if (!negated) {
        for (; *ranges; ranges += 2)
            add_range(rx, set, (unsigned char)ranges[0], (unsigned char)ranges[1]);
        return;
    }
    for (uint32_t c = 0; c < 128; c++) {
        bool in = false;
        for (const char *r = ranges; *r; r += 2)
            in |= c >= (unsigned char)r[0] && c <= (unsigned char)r[1];
        if (!in)
            add_range(rx, set, c, c);
    }
    add_range(rx, set, 128, UINT32_MAX);
}

static const char *find_class(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0)
            return classes[i].ranges;
    return NULL;
}

bool rx_set_add_escape(struct rx *rx, struct rx_set *set, char letter)
{
    const char *name = letter == 'd' || letter == 'D'   ? "digit"
                       : letter == 'w' || letter == 'W' ? "word"
                       : letter == 's' || letter == 'S' ? "space"
                                                        : NULL;

    if (!name)
        return false;
    add_class(rx, set, find_class(name, strlen(name)), letter < 'a');
    return true;
}

bool rx_take_escaped(const char **at, const char *end, uint32_t *ret)
{
    static const char letters[] = "tnrfv", values[] = "\t\n\r\f\v";

    if (*at == end)
        return false;
    const char *letter = strchr(letters, **at);
    if (letter && *letter) {
        *ret = (unsigned char)values[letter - letters];
        ++*at;
        return true;
    }
    uint32_t c = (unsigned char)**at;
    if (c < 0x80 && rx_is_word(c) && c != '_')
        return false;
    *ret = text_take(at, end);
    return true;
}

/* "[:alpha:]" at *at. Returns why not; NULL also when there is no such thing, with *at as it was. */
static const char *take_class(struct rx *rx, const char **at, const char *end, struct rx_set *set)
{
    const char *p = *at;

    if (end - p < 4 || p[0] != '[' || (p[1] != ':' && p[1] != '.' && p[1] != '='))
        return NULL;
    const char *close = memmem(p + 2, (size_t)(end - p - 2), (const char[]){p[1], ']'}, 2);
    if (!close)
        return NULL;
    if (p[1] != ':')
        return "has a collating element";
    const char *ranges = find_class(p + 2, (size_t)(close - p) - 2);
    if (!ranges)
        return "has a class that is not known";
    add_class(rx, set, ranges, false);
    *at = close + 2;
    return NULL;
}

/* One member of a set that is a character, for itself or as the end of a range. */
static const char *take_member(const char **at, const char *end, uint32_t *ret)
{
    if (**at != '\\') {
        *ret = text_take(at, end);
        return NULL;
    }
    ++*at;
    return rx_take_escaped(at, end, ret) ? NULL : "has an escape that means nothing";
}

static const char *take_range(struct rx *rx, const char **at, const char *end, struct rx_set *set)
{
    uint32_t low = 0;
    const char *why = take_member(at, end, &low);
    uint32_t high = low;

    if (!why && end - *at >= 2 && (*at)[0] == '-' && (*at)[1] != ']') {
        ++*at;
        why = take_member(at, end, &high);
    }
    if (!why && low > high)
        why = "has a range that ends before it begins";
    if (!why)
        add_range(rx, set, low, high);
    return why;
}

const char *rx_set_parse(struct rx *rx, const char **at, const char *end, struct rx_set *set)
{
    const char *why = NULL;

    set->negated = *at < end && **at == '^';
    *at += set->negated;
    for (bool first = true; !why; first = false) {
        if (*at == end)
            return "has brackets without an end";
        if (**at == ']' && !first)
            break;
        const char *before = *at;
        why = take_class(rx, at, end, set);
        if (why || *at != before)
            continue;
        if (end - *at >= 2 && (*at)[0] == '\\' && rx_set_add_escape(rx, set, (*at)[1]))
            *at += 2;
        else
            why = take_range(rx, at, end, set);
    }
    *at += !why;
    return why;
}

static bool is_in_ranges(const struct rx_set *set, uint32_t c)
{
    for (size_t i = 0; i < set->count; i++)
        if (c >= set->ranges[i].low && c <= set->ranges[i].high)
            return true;
    return false;
}

bool rx_set_add(struct rx *rx, struct rx_set *set, uint32_t *ret)
{
    if (arena_failed(rx->arena))
        return false;
    for (uint32_t c = 0; c < 128; c++) {
        bool in = is_in_ranges(set, c);
        if (rx->ignore_case)
            in |= is_in_ranges(set, rx_lower(c)) || is_in_ranges(set, rx_upper(c));
        set->ascii[c / 64] |= (uint64_t)(in != set->negated) << c % 64;
    }
    rx->sets = arena_grow(rx->arena, rx->sets, rx->set_count, &rx->set_cap, sizeof *rx->sets);
    if (!rx->sets)
        return false;
    *ret = (uint32_t)rx->set_count;
    rx->sets[rx->set_count++] = *set;
    return true;
}

bool rx_set_has(const struct rx_set *set, uint32_t c)
{
    if (c < 128)
        return set->ascii[c / 64] >> c % 64 & 1;
    return is_in_ranges(set, c) != set->negated;
}
