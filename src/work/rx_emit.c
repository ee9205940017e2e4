/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "work/rx.h"

/* The place of a new instruction. Beyond the end of the room nothing is written; the length tells. */
static uint32_t put(struct rx *rx, enum rx_op op, uint32_t value)
{
    if (rx->length < RX_PROGRAM_MAX)
        rx->program[rx->length] = (struct rx_inst){.op = op, .value = value};
    return (uint32_t)rx->length++;
}

static void patch(struct rx *rx, uint32_t at, uint32_t value, uint32_t other)
{
    if (at < RX_PROGRAM_MAX) {
        rx->program[at].value = value;
        rx->program[at].other = other;
    }
}

static uint32_t here(const struct rx *rx)
{
    return (uint32_t)rx->length;
}

static bool is_full(const struct rx *rx)
{
    return rx->length > RX_PROGRAM_MAX;
}

static void emit(struct rx *rx, uint32_t index);

static void emit_either(struct rx *rx, const struct rx_node *node)
{
    uint32_t split = put(rx, RX_SPLIT, 0);

    emit(rx, node->first);
    uint32_t jump = put(rx, RX_JUMP, 0);
    patch(rx, split, split + 1, here(rx));
    emit(rx, node->second);
    patch(rx, jump, here(rx), 0);
}

static void emit_repeat(struct rx *rx, const struct rx_node *node)
{
    for (uint32_t i = 0; i < node->least && !is_full(rx); i++)
        emit(rx, node->first);
    if (node->most == RX_NO_END) {
        uint32_t split = put(rx, RX_SPLIT, 0);
        emit(rx, node->first);
        put(rx, RX_JUMP, split);
        patch(rx, split, split + 1, here(rx));
        return;
    }
    /*
     * Leaving out one of those that may be left out leads to the next: the language is the same as if it
     * led to the end, and no list of places to patch is needed.
     */
    for (uint32_t i = node->least; i < node->most && !is_full(rx); i++) {
        uint32_t split = put(rx, RX_SPLIT, 0);
        emit(rx, node->first);
        patch(rx, split, split + 1, here(rx));
    }
}

static void emit(struct rx *rx, uint32_t index)
{
    const struct rx_node *node = &rx->nodes[index];

    if (is_full(rx))
        return;
    switch (node->op) {
    case RX_EMPTY: break;
    case RX_CONCAT:
        emit(rx, node->first);
        emit(rx, node->second);
        break;
    case RX_EITHER: emit_either(rx, node); break;
    case RX_REPEAT: emit_repeat(rx, node); break;
    default: put(rx, node->op, node->value); break;
    }
}

const char *rx_emit(struct rx *rx, uint32_t node)
{
    rx->program = arena_alloc(rx->arena, RX_PROGRAM_MAX * sizeof *rx->program);
    if (!rx->program)
        return "takes too much memory";
    emit(rx, node);
    put(rx, RX_MATCH, 0);
    return is_full(rx) ? "repeats too much" : NULL;
}
