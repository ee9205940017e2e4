/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classic BPF jumps forward only, so the program is made from its end: whatever an instruction jumps
 * to is there already. Positions are counted from the end. A conditional jump reaches 255
 * instructions; where that is not enough an unconditional one, or one more return, is put between.
 */
#include "emit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX 512
#define REACH 255
#define SINGLES_MAX 4 /* of a leaf that is all one verdict but for some numbers */

/* Where to go on: a verdict, or code at `at`. */
struct label {
    uint32_t ret; /* 0: code */
    size_t at;
    /* That code begins with loading this; `loaded` is the place after. */
    struct rule_check load;
    size_t loaded;
};

struct emit {
    struct sock_filter code[EMIT_MAX]; /* last instruction first */
    size_t count;
    const struct emit_range *ranges;
    size_t range_count;
    uint64_t weights[RANGES_MAX + 1]; /* call numbers before range i */
    uint64_t cost[RANGES_MAX][RANGES_MAX];
    size_t split[RANGES_MAX][RANGES_MAX]; /* first range of the right side, or one of these */
    struct {
        const struct rule *rules;
        struct label label;
    } made[RANGES_MAX];
    size_t made_count;
};

enum { SPLIT_SINGLES_A = RANGES_MAX, SPLIT_SINGLES_B };

static size_t add(struct emit *emit, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
    if (emit->count == EMIT_MAX) {
        fprintf(stderr, "gen-filters: a filter is longer than %d instructions\n", EMIT_MAX);
        exit(1);
    }
    emit->code[emit->count] = (struct sock_filter){code, jt, jf, k};
    return emit->count++;
}

static struct label label_ret(uint32_t ret)
{
    return (struct label){.ret = ret};
}

/* The nearest return of this verdict, made when it is too far from the next instruction but one. */
static size_t find_return(struct emit *emit, uint32_t ret)
{
    for (size_t at = emit->count; at > 0 && emit->count - at + 2 < REACH; at--) {
        if (emit->code[at - 1].code == (BPF_RET | BPF_K) && emit->code[at - 1].k == ret)
            return at - 1;
    }
    return add(emit, BPF_RET | BPF_K, 0, 0, ret);
}

/* A place that a conditional jump can reach, even if one more instruction comes between. */
static size_t reachable(struct emit *emit, const struct label *label, size_t at)
{
    if (label->ret)
        return find_return(emit, label->ret);
    if (emit->count - at < REACH)
        return at;
    return add(emit, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(emit->count - at - 1));
}

static size_t branch(struct emit *emit, uint16_t test, uint32_t k, const struct label *yes,
                     const struct label *no, size_t no_at)
{
    size_t yes_place = reachable(emit, yes, yes->at);
    size_t no_place = reachable(emit, no, no_at);

    return add(emit, BPF_JMP | BPF_K | test, (uint8_t)(emit->count - yes_place - 1),
               (uint8_t)(emit->count - no_place - 1), k);
}

/* ---- Rules about arguments ---- */

static bool same_load(const struct rule_check *a, const struct rule_check *b)
{
    bool a_masked = a->test == RULE_EQUAL;
    bool b_masked = b->test == RULE_EQUAL;

    return a->test && b->test && a->arg == b->arg &&
           (a->test == RULE_HIGH_BITS) == (b->test == RULE_HIGH_BITS) &&
           (a_masked ? a->mask : ~0U) == (b_masked ? b->mask : ~0U);
}

static bool same_check(const struct rule_check *a, const struct rule_check *b)
{
    return a->test == b->test && a->arg == b->arg && a->mask == b->mask && a->value == b->value;
}

static struct label emit_check(struct emit *emit, const struct rule_check *check,
                               const struct label *yes, const struct label *no)
{
    bool equal = check->test == RULE_EQUAL;
    size_t no_at = same_load(check, &no->load) ? no->loaded : no->at;
    uint32_t offset = (uint32_t)(offsetof(struct seccomp_data, args) + 8 * check->arg);
    struct label label = {.load = *check};

    label.loaded = branch(emit, equal ? BPF_JEQ : BPF_JSET, equal ? check->value : check->mask, yes,
                          no, no_at);
    if (equal && check->mask != ~0U)
        add(emit, BPF_ALU | BPF_AND | BPF_K, 0, 0, check->mask);
    /* Both architectures are little-endian: the low half comes first. */
    label.at = add(emit, BPF_LD | BPF_W | BPF_ABS, 0, 0,
                   offset + (check->test == RULE_HIGH_BITS ? 4 : 0));
    return label;
}

/* Rules first..end, of which the checks before `depth` hold already; `next` when none of them does. */
static struct label emit_rules(struct emit *emit, const struct rule *first, const struct rule *end,
                               size_t depth, const struct label *next)
{
    const struct rule *other = first + 1;

    if (first == end)
        return *next;
    const struct rule_check *check = &first->checks[depth];
    if (depth == RULE_CHECKS || check->test == RULE_END)
        return label_ret(first->then);
    while (other < end && same_check(&other->checks[depth], check))
        other++;

    struct label no = emit_rules(emit, other, end, depth, next);
    struct label yes = emit_rules(emit, first, other, depth + 1, &no);
    return emit_check(emit, check, &yes, &no);
}

static struct label emit_verdict(struct emit *emit, const struct rule_verdict *verdict)
{
    const struct rule *end = verdict->rules;
    struct label none = {0};

    if (!verdict->rules)
        return label_ret(verdict->ret);
    for (size_t i = 0; i < emit->made_count; i++) {
        if (emit->made[i].rules == verdict->rules)
            return emit->made[i].label;
    }
    while (end->checks[0].test != RULE_END)
        end++;
    struct label label = emit_rules(emit, verdict->rules, end + 1, 0, &none);
    emit->made[emit->made_count].rules = verdict->rules;
    emit->made[emit->made_count++].label = label;
    return label;
}

/* ---- The tree over call numbers ---- */

static bool same_verdict(const struct rule_verdict *a, const struct rule_verdict *b)
{
    return a->ret == b->ret && a->rules == b->rules;
}

static uint64_t weight(const struct emit *emit, size_t first, size_t last)
{
    return emit->weights[last + 1] - emit->weights[first];
}

static bool is_single(const struct emit *emit, size_t i)
{
    return i + 1 < emit->range_count && weight(emit, i, i) == 1;
}

/* Steps when first..last are all like `common` but for single numbers; UINT64_MAX when not. */
static uint64_t singles_cost(const struct emit *emit, size_t first, size_t last, size_t common)
{
    uint64_t rest = 0;
    uint64_t singles = 0;
    uint64_t cost = 0;

    for (size_t i = first; i <= last; i++) {
        if (same_verdict(&emit->ranges[i].verdict, &emit->ranges[common].verdict))
            rest += weight(emit, i, i);
        else if (!is_single(emit, i) || ++singles > SINGLES_MAX)
            return UINT64_MAX;
        else
            cost += singles;
    }
    return cost + rest * singles;
}

static void plan_range(struct emit *emit, size_t first, size_t last)
{
    uint64_t best = singles_cost(emit, first, last, first);
    uint64_t other = singles_cost(emit, first, last, first + 1);

    emit->split[first][last] = SPLIT_SINGLES_A;
    if (other < best) {
        best = other;
        emit->split[first][last] = SPLIT_SINGLES_B;
    }
    for (size_t right = first + 1; right <= last; right++) {
        uint64_t cost = weight(emit, first, last) + emit->cost[first][right - 1] +
                        emit->cost[right][last];

        if (cost < best) {
            best = cost;
            emit->split[first][last] = right;
        }
    }
    emit->cost[first][last] = best;
}

static void plan_tree(struct emit *emit, uint32_t call_count)
{
    size_t count = emit->range_count;

    for (size_t i = 0; i < count; i++) {
        uint32_t next = i + 1 < count ? emit->ranges[i + 1].first : call_count;

        emit->weights[i + 1] = emit->weights[i] + (next - emit->ranges[i].first);
    }
    for (size_t length = 2; length <= count; length++) {
        for (size_t first = 0; first + length <= count; first++)
            plan_range(emit, first, first + length - 1);
    }
}

static struct label emit_singles(struct emit *emit, size_t first, size_t last, size_t common)
{
    struct label label = emit_verdict(emit, &emit->ranges[common].verdict);

    for (size_t i = last + 1; i-- > first;) {
        if (same_verdict(&emit->ranges[i].verdict, &emit->ranges[common].verdict))
            continue;
        struct label yes = emit_verdict(emit, &emit->ranges[i].verdict);
        label = (struct label){
            .at = branch(emit, BPF_JEQ, emit->ranges[i].first, &yes, &label, label.at)};
    }
    return label;
}

static struct label emit_tree(struct emit *emit, size_t first, size_t last)
{
    size_t split = emit->split[first][last];

    if (first == last)
        return emit_verdict(emit, &emit->ranges[first].verdict);
    if (split >= SPLIT_SINGLES_A)
        return emit_singles(emit, first, last, split == SPLIT_SINGLES_A ? first : first + 1);

    struct label right = emit_tree(emit, split, last);
    struct label left = emit_tree(emit, first, split - 1);
    return (struct label){
        .at = branch(emit, BPF_JGE, emit->ranges[split].first, &right, &left, left.at)};
}

/* ---- What nobody comes to ---- */

static bool is_branch(const struct sock_filter *code)
{
    return BPF_CLASS(code->code) == BPF_JMP && BPF_OP(code->code) != BPF_JA;
}

static void mark_reached(const struct sock_filter *code, size_t count, bool *reached)
{
    reached[0] = true;
    for (size_t i = 0; i < count; i++) { /* forward only: whoever comes here has been looked at */
        if (!reached[i] || BPF_CLASS(code[i].code) == BPF_RET)
            continue;
        if (is_branch(&code[i])) {
            reached[i + 1 + code[i].jt] = true;
            reached[i + 1 + code[i].jf] = true;
        } else {
            reached[i + 1 + (BPF_CLASS(code[i].code) == BPF_JMP ? code[i].k : 0)] = true;
        }
    }
}

/*
 * A load that all who come to it have done already is jumped over, and left where it was. The kernel
 * would compile it all the same, at every start.
 */
static size_t drop_unreached(struct sock_filter *code, size_t count)
{
    bool reached[EMIT_MAX] = {false};
    size_t place[EMIT_MAX];
    size_t kept = 0;

    mark_reached(code, count, reached);
    for (size_t i = 0; i < count; i++) {
        place[i] = kept;
        kept += reached[i];
    }
    for (size_t i = 0; i < count; i++) {
        struct sock_filter moved = code[i];

        if (!reached[i])
            continue;
        if (is_branch(&moved)) {
            moved.jt = (uint8_t)(place[i + 1 + moved.jt] - place[i] - 1);
            moved.jf = (uint8_t)(place[i + 1 + moved.jf] - place[i] - 1);
        } else if (BPF_CLASS(moved.code) == BPF_JMP) {
            moved.k = (uint32_t)(place[i + 1 + moved.k] - place[i] - 1);
        }
        code[place[i]] = moved;
    }
    return kept;
}

size_t emit_filter(uint32_t arch, const struct emit_range *ranges, size_t count,
                   uint32_t call_count, struct sock_filter ret[EMIT_MAX])
{
    struct emit *emit = calloc(1, sizeof(*emit));

    if (!emit || count < 2 || count > RANGES_MAX)
        abort();
    emit->ranges = ranges;
    emit->range_count = count;
    plan_tree(emit, call_count);

    struct label tree = emit_tree(emit, 0, count - 1);
    if (tree.at + 1 != emit->count)
        abort(); /* what the next instruction falls into */
    struct label native = {
        .at = add(emit, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr))};
    struct label foreign = label_ret(FAIL(ENOSYS));
    branch(emit, BPF_JEQ, arch, &native, &foreign, 0);
    add(emit, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));

    size_t length = emit->count;
    for (size_t i = 0; i < length; i++)
        ret[i] = emit->code[length - 1 - i];
    free(emit);
    return drop_unreached(ret, length);
}
