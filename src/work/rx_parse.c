/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "work/rx.h"
#include "work/rx_set.h"
#include "work/text.h"

struct parser {
    struct rx *rx;
    const char *at;
    const char *end;
    unsigned depth;
    const char *why; /* it is refused; nothing is parsed any more */
};

static uint32_t parse_either(struct parser *parser);

static uint32_t refuse(struct parser *parser, const char *why)
{
    if (!parser->why)
        parser->why = why;
    parser->at = parser->end;
    return 0;
}

static uint32_t add_node(struct parser *parser, struct rx_node node)
{
    struct rx *rx = parser->rx;

    rx->nodes = arena_grow(rx->arena, rx->nodes, rx->node_count, &rx->node_cap, sizeof *rx->nodes);
    if (!rx->nodes)
        return refuse(parser, "takes too much memory");
    rx->nodes[rx->node_count] = node;
    return (uint32_t)rx->node_count++;
}

static uint32_t add_char(struct parser *parser, uint32_t c)
{
    return add_node(parser, (struct rx_node){
                                .op = RX_CHAR,
                                .value = parser->rx->ignore_case ? rx_lower(c) : c,
                            });
}

static uint32_t add_set(struct parser *parser, struct rx_set *set)
{
    uint32_t index;

    if (!set || !rx_set_add(parser->rx, set, &index))
        return refuse(parser, "takes too much memory");
    return add_node(parser, (struct rx_node){.op = RX_SET, .value = index});
}

static uint32_t parse_brackets(struct parser *parser)
{
    struct rx_set set = {0};
    const char *why = rx_set_parse(parser->rx, &parser->at, parser->end, &set);

    return why ? refuse(parser, why) : add_set(parser, &set);
}

static uint32_t parse_escape(struct parser *parser)
{
    static const struct {
        char letter;
        enum rx_op op;
    } asserts[] = {
        {'b', RX_WORD_EDGE}, {'B', RX_NO_WORD_EDGE}, {'<', RX_WORD_START}, {'>', RX_WORD_END}};
    struct rx_set set = {0};
    uint32_t c;

    if (parser->at == parser->end)
        return refuse(parser, "ends with a backslash");
    char letter = *parser->at;
    for (size_t i = 0; i < ARRAY_LEN(asserts); i++)
        if (asserts[i].letter == letter) {
            parser->at++;
            return add_node(parser, (struct rx_node){.op = asserts[i].op});
        }
    if (rx_set_add_escape(parser->rx, &set, letter)) {
        parser->at++;
        return add_set(parser, &set);
    }
    if (letter >= '1' && letter <= '9')
        return refuse(parser, "has a back reference");
    if (!rx_take_escaped(&parser->at, parser->end, &c))
        return refuse(parser, "has an escape that means nothing");
    return add_char(parser, c);
}

static uint32_t parse_group(struct parser *parser)
{
    if (++parser->depth > RX_DEPTH_MAX)
        return refuse(parser, "nests too deep");
    if (parser->end - parser->at >= 2 && parser->at[0] == '?') {
        if (parser->at[1] != ':')
            return refuse(parser, "has a group of an unknown kind");
        parser->at += 2;
    }
    uint32_t node = parse_either(parser);
    if (parser->at == parser->end)
        return refuse(parser, "has a group without an end");
    parser->at++;
    parser->depth--;
    return node;
}

static uint32_t parse_atom(struct parser *parser)
{
    switch (*parser->at) {
    case '*':
    case '+':
    case '?': return refuse(parser, "repeats nothing");
    case '.': parser->at++; return add_node(parser, (struct rx_node){.op = RX_ANY});
    case '^': parser->at++; return add_node(parser, (struct rx_node){.op = RX_LINE_START});
    case '$': parser->at++; return add_node(parser, (struct rx_node){.op = RX_LINE_END});
    case '[': parser->at++; return parse_brackets(parser);
    case '(': parser->at++; return parse_group(parser);
    case '\\': parser->at++; return parse_escape(parser);
    default: return add_char(parser, text_take(&parser->at, parser->end));
    }
}

static bool take_number(const char **at, const char *end, uint32_t *ret)
{
    uint32_t number = 0;
    const char *start = *at;

    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if (number <= RX_REPEAT_MAX)
            number = number * 10 + (uint32_t)(**at - '0');
    *ret = number;
    return *at > start;
}

/* "{n}", "{n,}" or "{n,m}"; any other brace is a character. */
static bool take_interval(struct parser *parser, struct rx_node *node)
{
    const char *at = parser->at + 1;

    if (!take_number(&at, parser->end, &node->least))
        return false;
    node->most = node->least;
    if (at < parser->end && *at == ',') {
        at++;
        if (!take_number(&at, parser->end, &node->most))
            node->most = RX_NO_END;
    }
    if (at == parser->end || *at != '}')
        return false;
    parser->at = at + 1;
    if (node->least > RX_REPEAT_MAX || (node->most > RX_REPEAT_MAX && node->most != RX_NO_END))
        refuse(parser, "repeats too much");
    else if (node->least > node->most)
        refuse(parser, "has an interval that ends before it begins");
    return true;
}

/* A repetition sign. False when there is none here. */
static bool take_repeat(struct parser *parser, struct rx_node *node)
{
    *node = (struct rx_node){.op = RX_REPEAT, .most = RX_NO_END};
    if (parser->at == parser->end)
        return false;
    switch (*parser->at) {
    case '*': break;
    case '+': node->least = 1; break;
    case '?': node->most = 1; break;
    case '{': return take_interval(parser, node);
    default: return false;
    }
    parser->at++;
    return true;
}

static uint32_t parse_repeat(struct parser *parser)
{
    struct rx_node repeat;
    uint32_t node = parse_atom(parser);

    while (take_repeat(parser, &repeat)) {
        /* As few as possible, or as many: whether there is a match is the same. */
        if (parser->at < parser->end && *parser->at == '?')
            parser->at++;
        repeat.first = node;
        node = add_node(parser, repeat);
    }
    return node;
}

static uint32_t parse_concat(struct parser *parser)
{
    uint32_t node = add_node(parser, (struct rx_node){.op = RX_EMPTY});

    while (parser->at < parser->end && *parser->at != '|' && *parser->at != ')') {
        uint32_t next = parse_repeat(parser);
        node = add_node(parser, (struct rx_node){.op = RX_CONCAT, .first = node, .second = next});
    }
    return node;
}

static uint32_t parse_either(struct parser *parser)
{
    uint32_t node = parse_concat(parser);

    while (parser->at < parser->end && *parser->at == '|') {
        parser->at++;
        uint32_t next = parse_concat(parser);
        node = add_node(parser, (struct rx_node){.op = RX_EITHER, .first = node, .second = next});
    }
    if (parser->at < parser->end && *parser->at == ')' && parser->depth == 0)
        return refuse(parser, "closes a group that was not opened");
    return node;
}

const char *rx_parse(struct rx *rx, const char *text, uint32_t *ret_node)
{
    struct parser parser = {.rx = rx, .at = text, .end = text + strlen(text)};

    if (strlen(text) > RX_LENGTH_MAX)
        return "is too long";
    uint32_t node = parse_either(&parser);
    if (!parser.why)
        *ret_node = node;
    return parser.why;
}
