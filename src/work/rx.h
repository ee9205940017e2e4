/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions over lines, in time that is at most their length times the line's. Expressions come
 * from agents and lines from the untrusted; the engines of libc take exponential time or memory for some
 * of them, and cannot be stopped.
 *
 * POSIX extended expressions, without back references, and what people write beside them: \d \D \w \W
 * \s \S (in brackets too), \b \B \< \>, \t \r \f \v, "(?:", and "?" after a repetition, which does not
 * matter here. Characters are those of UTF-8, or bytes that are not. Case and classes are those of ASCII.
 *
 * rx_parse.c makes nodes of the text, rx_emit.c instructions of the nodes, rx_run.c follows all ways
 * through them at once. A program belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RX_LENGTH_MAX 1024 /* bytes of an expression */
#define RX_PROGRAM_MAX 4000
#define RX_REPEAT_MAX 1000
#define RX_DEPTH_MAX 64 /* groups in groups */

struct arena;

struct rx_range {
    uint32_t low, high;
};

struct rx_set {
    uint64_t ascii[2]; /* the answer for these, case and negation included */
    bool negated;
    struct rx_range *ranges;
    size_t count;
    size_t cap;
};

enum rx_op {
    RX_CHAR, /* value: the character, in lower case when case does not matter */
    RX_ANY,
    RX_SET, /* value: which one */
    RX_LINE_START,
    RX_LINE_END,
    RX_WORD_EDGE,
    RX_NO_WORD_EDGE,
    RX_WORD_START,
    RX_WORD_END,
    RX_SPLIT, /* value, other: both ways */
    RX_JUMP,  /* value */
    RX_MATCH,
    /* Nodes only. */
    RX_EMPTY,
    RX_CONCAT,
    RX_EITHER,
    RX_REPEAT,
};

struct rx_node {
    enum rx_op op;
    uint32_t value;
    uint32_t first, second; /* nodes */
    uint32_t least, most;   /* RX_REPEAT; most may be RX_NO_END */
};
#define RX_NO_END UINT32_MAX

struct rx_inst {
    enum rx_op op;
    uint32_t value;
    uint32_t other;
};

struct rx {
    struct arena *arena;
    bool ignore_case;
    struct rx_node *nodes;
    size_t node_count, node_cap;
    struct rx_set *sets;
    size_t set_count, set_cap;
    struct rx_inst *program;
    size_t length;
    bool starts[256]; /* bytes that a match can begin with */
    /* For the run. */
    uint32_t *current, *seeds, *stack;
    uint32_t *seen; /* when an instruction was last added */
    uint32_t now;
};

/* Returns NULL, or why not, as the end of a sentence. Out of memory: the arena has failed. */
const char *rx_compile(struct rx *rx, const char *text, bool ignore_case, struct arena *arena);

/* Whether there is a match in the line. Returns 1, 0 or -ETIMEDOUT. */
int rx_search(struct rx *rx, const char *line, size_t len, uint64_t deadline_ns);

/* The steps of rx_compile(). */
const char *rx_parse(struct rx *rx, const char *text, uint32_t *ret_node);
const char *rx_emit(struct rx *rx, uint32_t node);

static inline bool rx_is_word(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static inline uint32_t rx_lower(uint32_t c)
{
    return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

static inline uint32_t rx_upper(uint32_t c)
{
    return c >= 'a' && c <= 'z' ? c + 'A' - 'a' : c;
}
