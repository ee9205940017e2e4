/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "plan/passes.h"

/* The passes that look at files; the descriptors in `entries` move into the plan at the end. */
static int build_files(const struct policy *policy, struct plan *plan, struct plan_entries *entries,
                       struct hutch_error *err)
{
    struct resolver resolver;
    int r = resolver_init(&resolver, &plan->arena, err);

    if (r == 0)
        r = plan_pass_layout(policy, &resolver, plan, entries, err);
    if (r == 0)
        r = plan_pass_sockets(policy, &resolver, plan, entries, err);
    if (r == 0)
        r = plan_pass_rules(policy, &resolver, plan, entries, err);
    if (r == 0)
        r = plan_pass_links(entries, err);
    if (r == 0)
        r = plan_pass_parents(plan, entries, err);
    resolver_clear(&resolver);
    if (r == 0)
        return plan_pass_mounts(plan, entries, err);

    for (size_t i = 0; i < entries->count; i++)
        fd_close(&entries->items[i].mount.source_fd);
    return r;
}

static int build(const struct policy *policy, struct plan *plan, struct hutch_error *err)
{
    struct plan_entries entries = {0};
    int r = plan_pass_support(policy, err);

    if (r == 0)
        r = plan_pass_identity(policy, plan, err);
    if (r == 0)
        plan_pass_limits(policy, plan);
    if (r == 0)
        r = plan_pass_cgroup(policy, plan, err);
    if (r == 0)
        r = plan_pass_locks(policy, plan, err);
    if (r == 0)
        r = build_files(policy, plan, &entries, err);
    if (r == 0)
        plan_pass_disk(plan);
    if (r == 0)
        r = plan_pass_environment(policy, plan, err);
    return r;
}

/* What the default profile needs, and what a sandbox and its run put beside it. */
#define PLAN_BYTES ((size_t)60 << 10)

struct plan *plan_new(void)
{
    struct arena arena;

    arena_init_for(&arena, PLAN_BYTES);
    struct plan *plan = arena_alloc(&arena, sizeof *plan);
    if (plan)
        plan->arena = arena;
    return plan;
}

int plan_build(const struct policy *policy, struct plan **ret, struct hutch_error *err)
{
    struct plan *plan = plan_new();
    if (!plan)
        return err_in(err_oom(err), "plan", err);

    int r = err_in(build(policy, plan, err), "plan", err);
    if (r < 0) {
        plan_free(plan);
        return r;
    }
    *ret = plan;
    return 0;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->mount_count; i++)
        fd_close(&plan->mounts[i].source_fd);
    for (size_t i = 0; plan->cgroup.version > 0 && i < CONTROLLER_COUNT; i++)
        fd_close(&plan->cgroup.parent[i]);
    if (plan->cgroup.unit)
        fd_close(&plan->cgroup.manager);
    struct arena arena = plan->arena; /* which the plan itself is in */
    arena_clear(&arena);
}
