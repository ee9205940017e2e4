/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-filters ARCH OUTPUT: write the C file that holds the shipped filters for x86_64 or aarch64
 * (src/filter/tables.h declares it). Runs on the machine that builds, whatever it builds for.
 */
#include <errno.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "filter/calls.h"

#define CALLS (FILTER_CALL_LAST + 1)

enum kind {
    KIND_DEFAULT,
    KIND_STRICT,
    KIND_INIT,
    KIND_FLOOR,
    KIND_NO_UNIX,
    KIND_PINNED,
    KINDS,
};

static const char *const kind_names[KINDS] = {
    "default", "strict", "init", "floor", "no-unix", "pinned",
};

/* On top of others: what they do not refuse they leave to what is below. */
static bool is_extra(enum kind kind)
{
    return kind == KIND_NO_UNIX || kind == KIND_PINNED;
}

struct generator {
    const char *arch_name;
    uint32_t arch;
    const struct rule_group *groups[CALLS]; /* by number; NULL: in none */
    bool known[CALLS];
    FILE *out;
};

static _Noreturn void fail(const char *what, const char *name)
{
    fprintf(stderr, "gen-filters: %s: '%s'\n", what, name);
    exit(1);
}

/* ---- Reading the rules ---- */

static void set_group(struct generator *gen, const struct rule_group *group, const char *name)
{
    int nr = filter_call_number(gen->arch, name);

    if (nr < 0 && filter_call_number(AUDIT_ARCH_X86_64, name) < 0 &&
        filter_call_number(AUDIT_ARCH_AARCH64, name) < 0)
        fail("no architecture has this call", name);
    if (nr < 0)
        return;
    if (gen->groups[nr])
        fail("this call is in two groups", name);
    gen->groups[nr] = group;
}

static void read_groups(struct generator *gen)
{
    for (size_t i = 0; i < rule_group_count; i++) {
        const struct rule_group *group = &rule_groups[i];
        const char *at = group->calls;
        char name[FILTER_NAME_MAX];
        int used;

        while (sscanf(at, " %47s%n", name, &used) == 1) {
            set_group(gen, group, name);
            at += used;
        }
    }
    for (int nr = 0; nr < CALLS; nr++) {
        char name[FILTER_NAME_MAX];

        gen->known[nr] = filter_call_name(gen->arch, nr, name);
    }
}

static struct rule_verdict verdict_of(const struct generator *gen, enum kind kind, int nr)
{
    static const struct rule_verdict allow = {.ret = ALLOW};
    static const struct rule_verdict unknown = {.ret = FAIL(ENOSYS)};
    static const struct rule_verdict no_unix = {.rules = rule_no_unix};
    static const struct rule_verdict refused = {.ret = FAIL(EPERM)};
    const struct rule_group *group = gen->groups[nr];
    bool strict = group && (group->strict.ret || group->strict.rules);

    /* What has no name now may mean anything later. Under a command's filter that is settled. */
    if (!gen->known[nr])
        return kind == KIND_INIT || is_extra(kind) ? allow : unknown;
    switch (kind) {
    case KIND_DEFAULT: return group ? group->normal : unknown;
    case KIND_STRICT:
        if (!group)
            return unknown;
        return strict ? group->strict : group->normal;
    case KIND_INIT: return group && group->hold >= HOLD_INIT ? group->normal : allow;
    case KIND_FLOOR: return group && group->hold >= HOLD_FLOOR ? group->normal : allow;
    case KIND_NO_UNIX: return nr == filter_call_number(gen->arch, "socket") ? no_unix : allow;
    case KIND_PINNED:
        return nr == filter_call_number(gen->arch, "sched_setaffinity") ? refused : allow;
    case KINDS: break;
    }
    abort();
}

/* ---- Writing ---- */

static size_t make_ranges(const struct generator *gen, enum kind kind, struct emit_range *ranges)
{
    size_t count = 0;

    for (int nr = 0; nr < CALLS; nr++) {
        struct rule_verdict verdict = verdict_of(gen, kind, nr);
        const struct rule_verdict *last = count ? &ranges[count - 1].verdict : NULL;

        if (!last || last->ret != verdict.ret || last->rules != verdict.rules)
            ranges[count++] = (struct emit_range){(uint32_t)nr, verdict};
    }
    if (!is_extra(kind))
        ranges[count++] = (struct emit_range){CALLS, {.ret = FAIL(ENOSYS)}};
    return count;
}

static size_t write_code(const struct generator *gen, enum kind kind)
{
    static struct sock_filter code[EMIT_MAX];
    struct emit_range ranges[CALLS + 1] = {0};
    size_t count = make_ranges(gen, kind, ranges);
    size_t length = emit_filter(gen->arch, ranges, count, CALLS + 1, code);

    fprintf(gen->out, "\nstatic const struct sock_filter code_%d[] = { /* %s */\n", kind,
            kind_names[kind]);
    for (size_t i = 0; i < length; i++)
        fprintf(gen->out, "    {0x%02x, %u, %u, 0x%08x},\n", code[i].code, code[i].jt, code[i].jf,
                code[i].k);
    fputs("};\n", gen->out);
    return length;
}

static void write_filters(const struct generator *gen)
{
    size_t lengths[KINDS];

    for (int kind = 0; kind < KINDS; kind++)
        lengths[kind] = write_code(gen, (enum kind)kind);
    fprintf(gen->out, "\nconst struct filter_shipped filter_shipped_%s[] = {\n", gen->arch_name);
    for (int kind = 0; kind < KINDS; kind++)
        fprintf(gen->out, "    {\"%s\", {.code = code_%d, .len = %zu}},\n", kind_names[kind], kind,
                lengths[kind]);
    fputs("    {0},\n};\n", gen->out);
}

static bool notifies(const struct rule_verdict *verdict)
{
    const struct rule *rule = verdict->rules;

    if (!rule)
        return verdict->ret == NOTIFY;
    while (rule->then != NOTIFY && rule->checks[0].test != RULE_END)
        rule++;
    return rule->then == NOTIFY;
}

static void write_notified(const struct generator *gen)
{
    char name[FILTER_NAME_MAX];

    fprintf(gen->out, "\nconst struct filter_notified filter_notified_%s[] = {\n", gen->arch_name);
    for (int nr = 0; nr < CALLS; nr++) {
        const struct rule_group *group = gen->groups[nr];

        if (!group || (!notifies(&group->normal) && !notifies(&group->strict)))
            continue;
        filter_call_name(gen->arch, nr, name);
        if (!group->hint)
            fail("a notified call has no hint", name);
        fprintf(gen->out, "    {%d, \"%s\", \"%s\"},\n", nr, name, group->hint);
    }
    fputs("    {0},\n};\n", gen->out);
}

int main(int argc, char **argv)
{
    struct generator gen = {.arch_name = argc == 3 ? argv[1] : ""};

    if (strcmp(gen.arch_name, "x86_64") == 0)
        gen.arch = AUDIT_ARCH_X86_64;
    else if (strcmp(gen.arch_name, "aarch64") == 0)
        gen.arch = AUDIT_ARCH_AARCH64;
    else
        fail("usage: gen-filters x86_64|aarch64 OUTPUT; not", gen.arch_name);
    read_groups(&gen);

    gen.out = fopen(argv[2], "w");
    if (!gen.out)
        fail(strerror(errno), argv[2]);
    fputs("/* SPDX-License-Identifier: Apache-2.0 */\n"
          "/* Made by tools/gen-filters; do not edit. */\n"
          "#include \"filter/tables.h\"\n",
          gen.out);
    write_filters(&gen);
    write_notified(&gen);
    if (fclose(gen.out) != 0)
        fail(strerror(errno), argv[2]);
    return 0;
}
