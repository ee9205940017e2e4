/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All ways through the program are followed at once, one character after the other: an instruction is in
 * the list of the current place once or not at all, however many ways lead to it. So a place costs at most
 * the length of the program.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "sys/clock.h"
#include "work/rx.h"
#include "work/rx_set.h"
#include "work/text.h"

#define CLOCK_EVERY 4096 /* characters */

struct place {
    bool line_start, line_end;
    bool word_before, word_after;
};

static bool holds(enum rx_op op, const struct place *place)
{
    switch (op) {
    case RX_LINE_START: return place->line_start;
    case RX_LINE_END: return place->line_end;
    case RX_WORD_EDGE: return place->word_before != place->word_after;
    case RX_NO_WORD_EDGE: return place->word_before == place->word_after;
    case RX_WORD_START: return !place->word_before && place->word_after;
    case RX_WORD_END: return place->word_before && !place->word_after;
    default: return false;
    }
}

/*
 * Add what can be reached from `start` without a character. With no place, conditions are taken to hold.
 * Every instruction goes on the stack at most once, when it is first seen. Returns whether it matches.
 */
static bool add(struct rx *rx, uint32_t start, const struct place *place, size_t *count)
{
    size_t depth = 0;
    bool matched = false;

#define PUSH(to)                                                                                   \
    do {                                                                                           \
        if (rx->seen[to] != rx->now) {                                                             \
            rx->seen[to] = rx->now;                                                                \
            rx->stack[depth++] = (to);                                                             \
        }                                                                                          \
    } while (0)
    PUSH(start);
    while (depth > 0) {
        uint32_t at = rx->stack[--depth];
        const struct rx_inst *inst = &rx->program[at];

        switch (inst->op) {
        case RX_CHAR:
        case RX_ANY:
        case RX_SET: rx->current[(*count)++] = at; break;
        case RX_MATCH: matched = true; break;
        case RX_SPLIT:
            PUSH(inst->other);
            PUSH(inst->value);
            break;
        case RX_JUMP: PUSH(inst->value); break;
        default:
            if (!place || holds(inst->op, place))
                PUSH(at + 1);
            break;
        }
    }
#undef PUSH
    return matched;
}

/* A new moment: nothing has been added in it. */
static void tick(struct rx *rx)
{
    if (++rx->now == 0) {
        memset(rx->seen, 0, rx->length * sizeof *rx->seen);
        rx->now = 1;
    }
}

static bool takes(const struct rx *rx, const struct rx_inst *inst, uint32_t c)
{
    switch (inst->op) {
    case RX_CHAR: return inst->value == (rx->ignore_case ? rx_lower(c) : c);
    case RX_SET: return rx_set_has(&rx->sets[inst->value], c);
    default: return true;
    }
}

static void note_start(struct rx *rx, const struct rx_inst *inst)
{
    for (uint32_t byte = 0; byte < 128; byte++)
        rx->starts[byte] |= takes(rx, inst, byte);
    if (inst->op != RX_CHAR || inst->value >= 128)
        memset(rx->starts + 128, true, 128);
}

/* Which bytes a match can begin with: most of a line is passed over by that alone. */
static void find_starts(struct rx *rx)
{
    size_t count = 0;

    tick(rx);
    if (add(rx, 0, NULL, &count))
        memset(rx->starts, true, sizeof rx->starts);
    for (size_t i = 0; i < count; i++)
        note_start(rx, &rx->program[rx->current[i]]);
}

const char *rx_compile(struct rx *rx, const char *text, bool ignore_case, struct arena *arena)
{
    uint32_t root;

    *rx = (struct rx){.arena = arena, .ignore_case = ignore_case};
    const char *why = rx_parse(rx, text, &root);
    if (!why)
        why = rx_emit(rx, root);
    if (why)
        return why;
    rx->current = arena_alloc(arena, rx->length * sizeof *rx->current);
    rx->seeds = arena_alloc(arena, (rx->length + 1) * sizeof *rx->seeds);
    rx->stack = arena_alloc(arena, rx->length * sizeof *rx->stack);
    rx->seen = arena_alloc(arena, rx->length * sizeof *rx->seen);
    if (arena_failed(arena))
        return "takes too much memory";
    find_starts(rx);
    return NULL;
}

static struct place look(const char *line, const char *at, const char *end)
{
    return (struct place){
        .line_start = at == line,
        .line_end = at == end,
        .word_before = at > line && rx_is_word((unsigned char)at[-1]),
        .word_after = at < end && rx_is_word((unsigned char)*at),
    };
}

/* Everything that can be done at this place, before a character is taken. */
static bool enter(struct rx *rx, const struct place *place, size_t seeds, size_t *count)
{
    bool matched = false;

    tick(rx);
    *count = 0;
    for (size_t i = 0; i < seeds; i++)
        matched |= add(rx, rx->seeds[i], place, count);
    return add(rx, 0, place, count) || matched;
}

int rx_search(struct rx *rx, const char *line, size_t len, uint64_t deadline_ns)
{
    const char *at = line, *end = line + len;
    size_t seeds = 0, count;

    for (size_t steps = 1;; steps++) {
        while (seeds == 0 && at < end && !rx->starts[(unsigned char)*at])
            at++;
        struct place place = look(line, at, end);
        if (enter(rx, &place, seeds, &count))
            return 1;
        if (at == end)
            return 0;
        if (steps % CLOCK_EVERY == 0 && sys_clock_ns(CLOCK_MONOTONIC) > deadline_ns)
            return -ETIMEDOUT;
        uint32_t c = text_take(&at, end);
        seeds = 0;
        for (size_t i = 0; i < count; i++)
            if (takes(rx, &rx->program[rx->current[i]], c))
                rx->seeds[seeds++] = rx->current[i] + 1;
    }
}
