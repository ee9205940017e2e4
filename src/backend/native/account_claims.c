/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of processes that have gone between two walks.
 *
 * When a parent waits for a child, the kernel adds what the child used to the
 * parent's `waited`. So whoever is missing puts in a claim for what was last seen of it, and claims
 * are met from the growth of its parent's `waited`. What is not met was lost to the kernel's sums:
 * it is kept in `lost`. A walk takes time, and a child may be waited for between the look at its
 * parent and the look for itself; therefore a claim stands for two walks, and so does growth. Every
 * number is rounded down, so that the growth is never less than the claims it has to meet.
 */
#include "backend/native/account_state.h"

/* Generations: a chain of missing ancestors that is longer has been made to be. */
#define ANCESTORS_MAX 64

/* At most as much as there is. */
static uint64_t take(uint64_t *from, uint64_t wanted)
{
    uint64_t taken = *from < wanted ? *from : wanted;

    *from -= taken;
    return taken;
}

static bool is_zero(struct cpu cpu)
{
    return cpu.user == 0 && cpu.system == 0;
}

static void meet(struct claim *claim, struct seen *from)
{
    for (int i = 0; i < 2; i++) {
        claim->open.user -= take(&from->growth[i].user, claim->open.user);
        claim->open.system -= take(&from->growth[i].system, claim->open.system);
    }
}

static const struct claim *find_between(const struct claim *claims, size_t count, pid_t pid)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (claims[middle].pid == pid)
            return &claims[middle];
        if (claims[middle].pid < pid)
            low = middle + 1;
        else
            count = middle;
    }
    return NULL;
}

static const struct claim *find_claim(const struct account *account, pid_t pid)
{
    size_t older = account->older_claims;
    const struct claim *found = find_between(account->claims + older, account->claim_count - older,
                                             pid);

    return found ? found : find_between(account->claims, older, pid);
}

/*
 * Only a living parent can have waited for its child. When that is missing too, the child was waited
 * for by it before (then it is part of what the grandparent got), or by whoever takes orphans: some
 * ancestor, or init.
 */
static void look_for(struct account *account, struct claim *claim)
{
    pid_t pid = claim->parent;

    for (int i = 0; i < ANCESTORS_MAX && pid > 0 && !is_zero(claim->open); i++) {
        struct seen *living = account_find(account->now, account->now_count, pid);
        /* A parent is older than its child, or it is somebody else with the same pid. */
        if (living && living->start_ticks <= claim->start_ticks) {
            meet(claim, living);
            if (i == 0)
                return;
            pid = living->parent;
            continue;
        }
        const struct claim *missing = find_claim(account, pid);
        pid = missing ? missing->parent : 0;
    }
    meet(claim, &account->now[0]); /* init, always the first */
}

static void put_in_claim(struct account *account, const struct seen *seen)
{
    struct claim claim = {
        .pid = seen->pid,
        .parent = seen->parent,
        .start_ticks = seen->start_ticks,
        .open = seen->own,
    };

    cpu_add(&claim.open, seen->waited);
    if (account->claim_count < account->table_max) {
        account->claims[account->claim_count++] = claim;
        return;
    }
    /* So many at once that there is no room to be exact. */
    look_for(account, &claim);
    cpu_add(&account->lost, claim.open);
}

static void claim_for_missing(struct account *account)
{
    for (size_t i = 0; i < account->last_count; i++) {
        const struct seen *before = &account->last[i];
        const struct seen *now = account_find(account->now, account->now_count, before->pid);
        if (!now || now->start_ticks != before->start_ticks)
            put_in_claim(account, before);
    }
}

struct cpu account_settle(struct account *account)
{
    struct cpu open = {0};
    size_t kept = 0;

    claim_for_missing(account);
    for (size_t i = 0; i < account->claim_count; i++)
        look_for(account, &account->claims[i]);
    for (size_t i = 0; i < account->claim_count; i++) {
        struct claim *claim = &account->claims[i];
        if (claim->again) {
            cpu_add(&account->lost, claim->open);
            continue;
        }
        claim->again = true;
        cpu_add(&open, claim->open);
        account->claims[kept++] = *claim;
    }
    account->claim_count = kept;
    account->older_claims = kept;
    return open;
}
