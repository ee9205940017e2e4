/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment inside: an allow-list of the caller's variables, then what the policy sets, then
 * what it removes. Nothing else gets in.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "plan/passes.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

struct variables {
    struct plan *plan;
    const char **items;
    size_t count;
    size_t cap;
};

static bool names(const char *entry, const char *name)
{
    size_t len = strlen(name);

    return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static bool has(const struct variables *vars, const char *name)
{
    for (size_t i = 0; i < vars->count; i++)
        if (names(vars->items[i], name))
            return true;
    return false;
}

static void drop(struct variables *vars, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < vars->count; i++)
        if (!names(vars->items[i], name))
            vars->items[kept++] = vars->items[i];
    vars->count = kept;
}

static void add(struct variables *vars, const char *entry)
{
    struct arena *arena = &vars->plan->arena;

    vars->items = arena_grow(arena, vars->items, vars->count, &vars->cap, sizeof *vars->items);
    if (vars->items)
        vars->items[vars->count++] = entry;
}

static void set(struct variables *vars, const char *name, const char *value)
{
    drop(vars, name);
    add(vars, arena_printf(&vars->plan->arena, "%s=%s", name, value));
}

/* Whether the name of `entry` is on the allow-list; "LC_*" stands for a prefix. */
static bool allowed(const struct policy_value *inherit, const char *entry)
{
    size_t name_len = strcspn(entry, "=");

    for (size_t i = 0; i < inherit->count; i++) {
        const char *want = inherit->items[i].text;
        if (want[0] != entry[0] && want[0] != '*')
            continue;
        size_t len = strlen(want);
        if (len > 0 && want[len - 1] == '*') {
            if (name_len >= len - 1 && strncmp(entry, want, len - 1) == 0)
                return true;
        } else if (len == name_len && strncmp(entry, want, len) == 0) {
            return true;
        }
    }
    return false;
}

/* The home directory must be a place that exists inside; only the host layout has the caller's. */
static const char *home_inside(const struct plan *plan)
{
    if (plan->layout == LAYOUT_HOST && plan->home)
        return plan->home;
    return plan->workspace;
}

int plan_pass_environment(const struct policy *policy, struct plan *plan, struct hutch_error *err)
{
    struct variables vars = {.plan = plan};
    const struct policy_value *inherit = &policy->values[POLICY_ENV_INHERIT];
    const struct policy_value *given = &policy->values[POLICY_ENV_SET];
    const struct policy_value *unset = &policy->values[POLICY_ENV_UNSET];

    for (char **entry = environ; entry && *entry; entry++)
        if (allowed(inherit, *entry))
            add(&vars, arena_strdup(&plan->arena, *entry));
    if (has(&vars, "HOME"))
        set(&vars, "HOME", home_inside(plan));
    for (size_t i = 0; i < given->count; i++)
        set(&vars, given->items[i].name, given->items[i].text);
    for (size_t i = 0; i < unset->count; i++)
        drop(&vars, unset->items[i].text);

    /* Without a PATH every libc has its own idea of one. */
    if (!has(&vars, "PATH"))
        set(&vars, "PATH", DEFAULT_PATH);
    add(&vars, NULL);
    plan->env = vars.items;
    return arena_failed(&plan->arena) ? err_oom(err) : 0;
}
