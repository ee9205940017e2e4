/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * A walk fills a new table of what is seen of each process. The kernel lists processes by rising
 * pid, so the table is sorted, and comparing it with the last one tells who is missing (account_claims.c).
 *
 * Confirming memory. What a page counts for depends on how many have it at that moment, so it takes a
 * walk of its own, which asks for every page of those who are there then: who has gone meanwhile holds
 * nothing, and who has gone on in a child is met as that. When one who was counted goes before the walk
 * is over, the rest have its share too by the time they are asked, and one who comes has a share of what
 * was counted in full: then the sum is too large, and the walk is done again. Somebody may always come and
 * go, so this has an end, and the smallest sum is the nearest. It is never less than what one process had
 * mapped, however many others, who do not count yet, share that with it.
 */
#include "backend/native/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/account_state.h"
#include "sys/clock.h"

#define INIT 1

#define TABLE_MIN 64U
#define TABLE_MAX 4096U

#define PAUSE_MIN_MS 20U
#define PAUSE_MAX_MS 500U
#define SHARE 100 /* of one processor: 1 % */

/*
 * What walks may use before that. The first find nothing in any cache, and what fills memory fastest does so
 * in its first moments: they come as often as they can.
 */
#define CREDIT_MAX_NS INT64_C(10000000)
#define CREDIT_MIN_NS (-(int64_t)PAUSE_MAX_MS * 1000000 / SHARE)

/*
 * A child that has just been forked has its parent's memory, by vfork() the very same, and must not
 * count as a second program of that size. Not for longer than spawning a program takes: in this
 * time it cannot have written to much of it. Nor with more in memory than its parent has.
 */
#define YOUNG_MS 100U
#define YOUNG_MORE_BYTES (UINT64_C(1) << 20)

/* Of one walk, and walks of one confirmation: somebody may always come and go. */
#define LISTS_MAX 8
#define CONFIRMATIONS_MAX 3

/* ---- Life ---- */

int account_new(const struct account_args *args, struct account **ret)
{
    struct account *account = calloc(1, sizeof *account);

    if (!account)
        return -ENOMEM;
    uint64_t room = args->processes < TABLE_MAX - TABLE_MIN ? args->processes + TABLE_MIN
                                                            : TABLE_MAX;
    account->args = *args;
    account->ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    account->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    account->table_max = room;
    account->credit_ns = CREDIT_MAX_NS;
    account->credited_ns = sys_clock_ns(CLOCK_MONOTONIC);
    account->last = calloc(room, sizeof *account->last);
    account->now = calloc(room, sizeof *account->now);
    account->claims = calloc(room, sizeof *account->claims);
    if (!account->last || !account->now || !account->claims) {
        account_free(account);
        return -ENOMEM;
    }
    *ret = account;
    return 0;
}

void account_free(struct account *account)
{
    if (!account)
        return;
    free(account->last);
    free(account->now);
    free(account->claims);
    free(account);
}

/* ---- CPU ---- */

static struct cpu cpu_growth(struct cpu now, struct cpu before)
{
    return (struct cpu){
        .user = now.user > before.user ? now.user - before.user : 0,
        .system = now.system > before.system ? now.system - before.system : 0,
    };
}

/* ---- Looking at one process ---- */

struct seen *account_find(struct seen *table, size_t count, pid_t pid)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (table[middle].pid == pid)
            return &table[middle];
        if (table[middle].pid < pid)
            low = middle + 1;
        else
            count = middle;
    }
    return NULL;
}

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* As the kernel tells when a process was started. */
static uint64_t ticks_now(const struct account *account)
{
    return sys_clock_ns(CLOCK_BOOTTIME) / (1000000000U / account->ticks_per_second);
}

static bool is_between(uint64_t value, uint64_t a, uint64_t b)
{
    return a < b ? value >= a && value <= b : value >= b && value <= a;
}

/* Also when the parent has grown, or shrunk, since it was looked at. */
static bool has_size_of(const struct account *account, const struct seen *parent,
                        const struct sys_procstat *stat)
{
    const uint64_t more = YOUNG_MORE_BYTES / account->page_bytes;
    uint64_t resident = parent->resident_pages;
    struct sys_procstat now;

    if (stat->virtual_bytes == parent->virtual_bytes && stat->resident_pages <= resident + more)
        return true;
    if (sys_procstat_read(account->args.proc, parent->pid, &now) < 0 || now.ending)
        return false;
    return is_between(stat->virtual_bytes, parent->virtual_bytes, now.virtual_bytes) &&
           stat->resident_pages <= max(resident, now.resident_pages) + more;
}

/* A program that is being started, not one of its parent's size. */
static bool is_echo(struct account *account, const struct sys_procstat *stat)
{
    uint64_t young = YOUNG_MS * account->ticks_per_second / 1000;

    if (!stat->unexecuted || ticks_now(account) > stat->start_ticks + young)
        return false;
    const struct seen *parent = account_find(account->now, account->now_count, stat->parent);
    return parent && has_size_of(account, parent, stat);
}

/* Who cannot be asked for every page counts with all that it has mapped, if it is still there. */
static int read_memory(const struct account *account, pid_t pid, bool exact,
                       struct sys_procmem *ret)
{
    int proc = account->args.proc;

    return exact && sys_procmem_read(proc, pid, true, ret) == 0
               ? 0
               : sys_procmem_read(proc, pid, false, ret);
}

/* Asking for memory costs as much again, so only when the cheap number says that something changed. */
static int look_at_memory(struct account *account, const struct sys_procstat *stat, bool exact,
                          const struct seen *before, struct seen *seen)
{
    bool first_ended = stat->state == 'Z' || stat->state == 'X';

    if (first_ended && stat->threads <= 1)
        return 0;
    seen->known = !exact;
    if (!exact && before && before->known && !first_ended &&
        before->resident_pages == stat->resident_pages) {
        seen->memory = before->memory;
        return 0;
    }
    return read_memory(account, seen->pid, exact, &seen->memory);
}

static void fill(struct account *account, const struct sys_procstat *stat, struct seen *seen,
                 const struct seen *before)
{
    *seen = (struct seen){
        .pid = seen->pid,
        .parent = stat->parent,
        .start_ticks = stat->start_ticks,
        .waited = {stat->waited_user, stat->waited_system},
        .virtual_bytes = stat->virtual_bytes,
        .resident_pages = stat->resident_pages,
    };
    if (seen->pid != INIT) {
        seen->own = (struct cpu){stat->user_ticks, stat->system_ticks};
        seen->echo = is_echo(account, stat);
    }
    if (before) {
        seen->growth[0] = before->growth[1];
        seen->growth[1] = cpu_growth(seen->waited, before->waited);
    }
}

static uint64_t memory_of(const struct seen *seen)
{
    if (seen->pid == INIT || seen->echo)
        return 0;
    return seen->memory.anon + seen->memory.shared + seen->memory.swap;
}

static void count_in(const struct seen *seen, uint64_t threads, struct sums *sums)
{
    cpu_add(&sums->cpu, seen->own);
    cpu_add(&sums->cpu, seen->waited);
    if (seen->pid == INIT)
        return;
    sums->threads += threads;
    if (memory_of(seen) == 0)
        return;
    sums->memory.anon += seen->memory.anon;
    sums->memory.shared += seen->memory.shared;
    sums->memory.swap += seen->memory.swap;
    sums->with_memory++;
    sums->largest = max(sums->largest, seen->memory.anon + seen->memory.swap);
}

static int look_at(struct account *account, pid_t pid, struct sums *sums)
{
    struct sys_procstat stat;
    struct seen seen = {.pid = pid};
    int r = sys_procstat_read(account->args.proc, pid, &stat);

    if (r < 0)
        return r;
    const struct seen *before = account_find(account->last, account->last_count, pid);
    if (before && before->start_ticks != stat.start_ticks)
        before = NULL; /* somebody else had this pid */
    fill(account, &stat, &seen, before);
    if (pid != INIT && !seen.echo) {
        r = look_at_memory(account, &stat, sums->exact, before, &seen);
        if (r < 0)
            return r;
    }
    count_in(&seen, stat.threads, sums);
    /* Who finds no room is counted, but not remembered. */
    if (account->now_count < account->table_max)
        account->now[account->now_count++] = seen;
    return 0;
}

/* Who waits for the next command shares init's memory, which is a copy of the caller's. */
static bool is_ours(const struct account *account, pid_t pid)
{
    const pid_t *spare = account->args.spare;

    return pid == INIT || (spare && pid == __atomic_load_n(spare, __ATOMIC_RELAXED));
}

/* Returns how many were listed, or -errno. */
static int look_at_listed(struct account *account, struct sys_proclist *list, struct sums *sums)
{
    int count = 0;
    int pid;
    int r;

    while ((r = sys_proclist_next(list, &pid)) > 0) {
        r = is_ours(account, pid) ? 0 : look_at(account, pid, sums);
        if (r < 0 && r != -ENOENT && r != -ESRCH)
            break;
        count++;
    }
    return r < 0 ? r : count;
}

/*
 * Who was listed and has gone may have gone on in a child that was not, so there is more than one list. Only
 * those of the first were certainly there at a time.
 */
static int walk(struct account *account, bool exact, struct sums *sums)
{
    struct sys_proclist list;

    *sums = (struct sums){.exact = exact};
    account->now_count = 0;
    int r = look_at(account, INIT, sums);
    if (r == -ENOENT)
        return -ESRCH;
    if (r == 0)
        r = sys_proclist_open(&list, account->args.proc, ".");
    if (r < 0)
        return r;
    r = look_at_listed(account, &list, sums);
    uint64_t threads = sums->threads;
    for (int i = 1; i < LISTS_MAX && r > 0; i++) {
        sys_proclist_again(&list);
        r = look_at_listed(account, &list, sums);
    }
    sys_proclist_close(&list);
    sums->threads = threads;
    account->peak_threads = max(account->peak_threads, sums->threads);
    return r < 0 ? r : 0;
}

static void swap_tables(struct account *account)
{
    struct seen *old = account->last;

    account->last = account->now;
    account->last_count = account->now_count;
    account->now = old;
}

static void tell_cpu(struct account *account, struct cpu cpu, struct sandbox_usage *ret)
{
    const uint64_t us = 1000000 / account->ticks_per_second;

    account->told.user = max(account->told.user, cpu.user);
    account->told.system = max(account->told.system, cpu.system);
    ret->user_us = account->told.user * us;
    ret->system_us = account->told.system * us;
}

/* ---- Memory ---- */

static uint64_t tmpfs_bytes(const struct account *account)
{
    struct statfs fs;

    if (account->args.tmpfs < 0 || fstatfs(account->args.tmpfs, &fs) < 0)
        return 0;
    return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

static uint64_t memory_sum(const struct account *account, const struct sums *sums)
{
    const struct sys_procmem *memory = &sums->memory;

    return max(memory->anon + memory->swap, sums->largest) +
           max(memory->shared, tmpfs_bytes(account));
}

/*
 * A cheap sum of one process is exact. One of several must be confirmed before it is held against
 * them; for the peak it is when it is worth it, at most 1/16 above what was seen already.
 */
static bool is_to_confirm(const struct account *account, const struct sums *sums)
{
    uint64_t sum = memory_sum(account, sums);
    bool is_peak = sum > account->peak_memory + account->peak_memory / 16;

    if (sums->with_memory <= 1)
        return false;
    return sum > account->args.confirm_above_bytes ||
           (is_peak && sys_clock_ns(CLOCK_MONOTONIC) >= account->next_exact_ns);
}

/* Whether all who were counted were there from the beginning of the walk, and still are. */
static bool is_of_one_moment(const struct account *account, uint64_t begun_ticks)
{
    for (size_t i = 0; i < account->now_count; i++) {
        const struct seen *seen = &account->now[i];
        struct sys_procstat stat;

        if (memory_of(seen) > 0 && (seen->start_ticks >= begun_ticks ||
                                    sys_procstat_read(account->args.proc, seen->pid, &stat) < 0 ||
                                    stat.ending || stat.start_ticks != seen->start_ticks))
            return false;
    }
    return true;
}

/* Put exact sums in the place of cheap ones. As for walk(). */
static int confirm(struct account *account, struct sums *sums)
{
    uint64_t before_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t largest = sums->largest;
    uint64_t least_bytes = UINT64_MAX;
    struct sys_procmem least = {0};
    bool above = true;
    bool sure = false;
    int r = 0;

    for (int i = 0; i < CONFIRMATIONS_MAX && r == 0 && above && !sure; i++) {
        uint64_t begun_ticks = ticks_now(account);
        r = walk(account, true, sums);
        sums->largest = largest;
        uint64_t sum = memory_sum(account, sums);
        if (sum < least_bytes) {
            least_bytes = sum;
            least = sums->memory;
        }
        above = sum > account->args.confirm_above_bytes;
        sure = is_of_one_moment(account, begun_ticks);
    }
    sums->memory = least;
    sums->sure = sure || above;
    uint64_t cost_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    account->next_exact_ns = sys_clock_ns(CLOCK_MONOTONIC) + cost_ns * SHARE;
    return r;
}

static void tell_memory(struct account *account, const struct sums *sums, struct sandbox_usage *ret)
{
    uint64_t sum = memory_sum(account, sums);
    bool sure = sums->sure || sums->with_memory <= 1;

    account->peak_memory = max(account->peak_memory,
                               sure ? sum : sums->largest + tmpfs_bytes(account));
    ret->memory_bytes = sum;
    ret->peak_memory_bytes = account->peak_memory;
}

/* ---- Measuring ---- */

static void pay(struct account *account, uint64_t cost_ns)
{
    uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);
    int64_t credit_ns = account->credit_ns + (int64_t)((now_ns - account->credited_ns) / SHARE);

    if (credit_ns > CREDIT_MAX_NS)
        credit_ns = CREDIT_MAX_NS;
    credit_ns -= (int64_t)cost_ns;
    account->credit_ns = credit_ns < CREDIT_MIN_NS ? CREDIT_MIN_NS : credit_ns;
    account->credited_ns = now_ns;
}

int account_measure(struct account *account, struct sandbox_usage *ret)
{
    uint64_t before_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct sums sums;
    int r = walk(account, false, &sums);

    if (r == 0 && is_to_confirm(account, &sums))
        r = confirm(account, &sums);
    if (r < 0)
        return r;
    *ret = (struct sandbox_usage){
        .disk_bytes = SANDBOX_UNKNOWN,
        .read_bytes = SANDBOX_UNKNOWN,
        .written_bytes = SANDBOX_UNKNOWN,
    };
    struct cpu open = account_settle(account);
    cpu_add(&sums.cpu, open);
    cpu_add(&sums.cpu, account->lost);
    tell_cpu(account, sums.cpu, ret);
    tell_memory(account, &sums, ret);
    ret->processes = sums.threads;
    ret->peak_processes = account->peak_threads;
    swap_tables(account);

    pay(account, sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns);
    return 0;
}

unsigned account_pause_ms(const struct account *account)
{
    unsigned ms = account->credit_ns < 0 ? (unsigned)(-account->credit_ns * SHARE / 1000000) : 0;

    return ms < PAUSE_MIN_MS ? PAUSE_MIN_MS : ms;
}
