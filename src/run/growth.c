/* SPDX-License-Identifier: Apache-2.0 */
#include "run/growth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "run/growth_state.h"
#include "sys/clock.h"
#include "sys/ret.h"

#define K_STATX_MNT_ID 0x1000U

/* What an inode takes that its blocks do not show, at most: XFS and btrfs make them as they go. */
#define INODE_BYTES 1024

#define SEEN_FULL (SEEN_SIZE / 4 * 3)

/* Some file systems keep the time of a change in steps of up to two seconds. */
#define TIME_STEP_S 2

/* Other people's share is checked again after this long, or 100 times what the last check took. */
#define RECHECK_NS 5000000000U

/* ---- Life ---- */

int growth_new(uint64_t limit_bytes, struct arena *arena, struct growth **ret)
{
    struct growth *growth = arena_alloc(arena, sizeof *growth);

    if (!growth)
        return -ENOMEM;
    growth->arena = arena;
    growth->limit = limit_bytes;
    growth->proc = -1;
    /* The clock that files get their times from, which is a little behind the precise one. */
    growth->since = (time_t)(sys_clock_ns(CLOCK_REALTIME_COARSE) / 1000000000U);
    growth->since -= growth->since % TIME_STEP_S;
    *ret = growth;
    return 0;
}

static void close_all(struct growth *growth)
{
    for (size_t i = 0; i < growth->walk->level_count; i++)
        fd_close(&growth->walk->levels[i].fd);
    growth->walk->level_count = 0;
    sys_proclist_close(&growth->walk->files);
    sys_proclist_close(&growth->walk->threads);
    sys_proclist_close(&growth->walk->processes);
}

void growth_free(struct growth *growth)
{
    if (!growth)
        return;
    if (growth->phase != PHASE_IDLE)
        close_all(growth);
    for (size_t i = 0; i < growth->root_count; i++)
        if (growth->roots[i].owned)
            fd_close(&growth->roots[i].fd);
    if (growth->walk)
        free(growth->walk->levels);
    free(growth->walk);
}

void growth_set_proc(struct growth *growth, int proc, const pid_t *spare)
{
    growth->proc = proc;
    growth->spare = spare;
}

void growth_set_thorough(struct growth *growth, bool thorough)
{
    growth->thorough = thorough;
}

/* ---- File systems ---- */

static int used_bytes(int fd, uint64_t *ret)
{
    struct statvfs fs;

    if (fstatvfs(fd, &fs) < 0)
        return -errno;
    *ret = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
    return 0;
}

static bool has_device(const struct filesystem *fs, dev_t dev)
{
    for (size_t i = 0; i < fs->device_count; i++)
        if (fs->devices[i] == dev)
            return true;
    return false;
}

void growth_learn_device(struct filesystem *fs, dev_t dev)
{
    if (!has_device(fs, dev) && fs->device_count < DEVICES_MAX)
        fs->devices[fs->device_count++] = dev;
}

struct filesystem *growth_filesystem(struct growth *growth, dev_t dev)
{
    for (size_t i = 0; i < growth->fs_count; i++)
        if (has_device(&growth->filesystems[i], dev))
            return &growth->filesystems[i];
    return NULL;
}

dev_t growth_device(const struct statx *st)
{
    return makedev(st->stx_dev_major, st->stx_dev_minor);
}

/* Without asking a server: what it knows later than we do, the next walk will. */
int growth_look(int dir, const char *name, int flags, struct statx *ret)
{
    return ret_errno(syscall(SYS_statx, dir, name, flags | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
                             STATX_BASIC_STATS | K_STATX_MNT_ID, ret));
}

/* glibc's field for it is younger than the kernel's. */
uint64_t growth_mount(const struct statx *st)
{
    uint64_t id;

    memcpy(&id, (const char *)st + 0x90, sizeof id);
    return id;
}

bool growth_is_root(const struct growth *growth, dev_t dev, ino_t ino)
{
    for (size_t i = 0; i < growth->root_count; i++)
        if (growth->roots[i].dev == dev && growth->roots[i].ino == ino)
            return true;
    return false;
}

static int add_filesystem(struct growth *growth, int fd, dev_t dev)
{
    struct filesystem fs = {.fd = fd};
    int r = used_bytes(fd, &fs.base);

    if (r < 0)
        return r;
    growth_learn_device(&fs, dev);
    struct filesystem *list = arena_grow(growth->arena, growth->filesystems, growth->fs_count,
                                         &growth->fs_cap, sizeof *list);
    if (!list)
        return -ENOMEM;
    growth->filesystems = list;
    list[growth->fs_count++] = fs;
    return 0;
}

int growth_add(struct growth *growth, int fd)
{
    struct statx st;
    int r = growth_look(fd, "", AT_EMPTY_PATH, &st);

    if (r < 0)
        return r;
    struct root root = {
        .fd = fd, .mount = growth_mount(&st), .dev = growth_device(&st), .ino = st.stx_ino};
    if (growth_is_root(growth, root.dev, root.ino))
        return 0;
    if (growth->root_count == ROOTS_MAX)
        return -E2BIG;
    if (!growth_filesystem(growth, root.dev)) {
        r = add_filesystem(growth, fd, root.dev);
        if (r < 0)
            return r;
    }
    root.fs = (size_t)(growth_filesystem(growth, root.dev) - growth->filesystems);
    struct root *list = arena_grow(growth->arena, growth->roots, growth->root_count,
                                   &growth->root_cap, sizeof *list);
    if (!list)
        return -ENOMEM;
    growth->roots = list;
    list[growth->root_count++] = root;
    return 0;
}

int growth_take(struct growth *growth, int *fd)
{
    size_t at = growth->root_count;
    int r = growth_add(growth, *fd);

    if (growth->root_count > at) {
        growth->roots[at].fd = fd_take(fd);
        growth->roots[at].owned = true;
    }
    return r;
}

static int delta_of(const struct filesystem *fs, uint64_t *ret)
{
    uint64_t used = 0;
    int r = used_bytes(fs->fd, &used);

    if (r == 0)
        *ret = used > fs->base ? used - fs->base : 0;
    return r;
}

int growth_measure(struct growth *growth, uint64_t *ret_bytes)
{
    uint64_t all = 0;
    uint64_t own = 0;

    for (size_t i = 0; i < growth->fs_count; i++) {
        struct filesystem *fs = &growth->filesystems[i];
        uint64_t delta = 0;
        int r = delta_of(fs, &delta);
        if (r < 0)
            return r;
        if (fs->others > delta)
            fs->others = delta;
        all += delta;
        own += delta - fs->others;
    }
    *ret_bytes = own;
    if (growth->limit == NUM_NO_LIMIT)
        return 0;
    return growth->phase != PHASE_IDLE || own >= growth->limit ||
           (all >= growth->limit && sys_clock_ns(CLOCK_MONOTONIC) >= growth->recheck_ns);
}

/* ---- Counting ---- */

bool growth_remember(struct growth *growth, dev_t dev, ino_t ino)
{
    uint64_t hash = (ino ^ ((uint64_t)dev << 40)) * 0x9e3779b97f4a7c15U;
    size_t at = (size_t)(hash >> 32) & (SEEN_SIZE - 1);

    for (; growth->walk->seen[at].ino; at = (at + 1) & (SEEN_SIZE - 1))
        if (growth->walk->seen[at].ino == ino && growth->walk->seen[at].dev == dev)
            return false;
    if (growth->walk->seen_count < SEEN_FULL) {
        growth->walk->seen[at] = (struct inode){.dev = dev, .ino = ino};
        growth->walk->seen_count++;
    }
    return true;
}

void growth_count(struct growth *growth, struct filesystem *fs, const struct statx *st)
{
    if (st->stx_ctime.tv_sec < growth->since)
        return;
    /* A directory has one name, and several links for other reasons. */
    if (st->stx_nlink != 1 && !S_ISDIR(st->stx_mode) &&
        !growth_remember(growth, growth_device(st), st->stx_ino))
        return;
    fs->found += st->stx_blocks * 512 + INODE_BYTES;
}

void growth_set_unseen(struct growth *growth)
{
    for (size_t i = 0; i < growth->fs_count; i++)
        growth->filesystems[i].unseen = true;
}

/* ---- The confirmation ---- */

static int begin(struct growth *growth)
{
    if (!growth->walk)
        growth->walk = calloc(1, sizeof *growth->walk);
    if (!growth->walk)
        return -ENOMEM;
    for (size_t i = 0; i < growth->fs_count; i++) {
        growth->filesystems[i].found = 0;
        growth->filesystems[i].unseen = false;
    }
    memset(growth->walk->seen, 0, sizeof growth->walk->seen);
    growth->walk->seen_count = 0;
    growth->walk->processes.fd = growth->walk->threads.fd = growth->walk->files.fd = -1;
    growth->walk->work_ns = 0;
    growth->walk->root = 0;
    growth->phase = PHASE_TREES;
    return 0;
}

static uint64_t own_part(const struct filesystem *fs, uint64_t delta)
{
    return fs->unseen || fs->found > delta ? delta : fs->found;
}

uint64_t growth_found(const struct growth *growth)
{
    uint64_t found = 0;

    for (size_t i = 0; i < growth->fs_count; i++) {
        if (growth->filesystems[i].unseen)
            return NUM_NO_LIMIT;
        found += growth->filesystems[i].found;
    }
    return found;
}

/* Whether what was found is enough already. */
static bool is_over(const struct growth *growth)
{
    uint64_t own = 0;

    for (size_t i = 0; i < growth->fs_count; i++) {
        uint64_t delta = 0;
        if (delta_of(&growth->filesystems[i], &delta) == 0)
            own += own_part(&growth->filesystems[i], delta);
    }
    return own >= growth->limit;
}

static int end(struct growth *growth, uint64_t *ret_bytes)
{
    uint64_t pause_ns = growth->walk->work_ns * 100;
    uint64_t own = 0;

    close_all(growth);
    growth->phase = PHASE_IDLE;
    if (pause_ns < RECHECK_NS)
        pause_ns = RECHECK_NS;
    growth->recheck_ns = sys_clock_ns(CLOCK_MONOTONIC) + pause_ns;
    for (size_t i = 0; i < growth->fs_count; i++) {
        struct filesystem *fs = &growth->filesystems[i];
        uint64_t delta = 0;
        int r = delta_of(fs, &delta);
        if (r < 0)
            return r;
        fs->others = delta - own_part(fs, delta);
        own += delta - fs->others;
    }
    *ret_bytes = own;
    return 1;
}

/* One small piece. Returns 1 at the end. */
static int work(struct growth *growth)
{
    if (growth->phase == PHASE_PROCESSES)
        return growth_held_step(growth);
    int r = growth_tree_step(growth);
    if (r > 0)
        growth->phase = PHASE_PROCESSES;
    return r < 0 ? r : 0;
}

int growth_step(struct growth *growth, unsigned budget_ms, uint64_t *ret_bytes)
{
    uint64_t started_ns = sys_clock_ns(CLOCK_MONOTONIC);
    uint64_t spent_ns;
    int r = growth->phase == PHASE_IDLE ? begin(growth) : 0;

    if (r < 0)
        return r;
    do {
        r = work(growth);
        spent_ns = sys_clock_ns(CLOCK_MONOTONIC) - started_ns;
    } while (r == 0 && spent_ns < (uint64_t)budget_ms * 1000000U);
    growth->walk->work_ns += spent_ns;
    if (r < 0) {
        close_all(growth);
        growth->phase = PHASE_IDLE;
        return r;
    }
    if (growth->walk->work_ns > (uint64_t)GROWTH_WALK_MS * 1000000U) {
        growth_set_unseen(growth);
        r = 1;
    }
    return r > 0 || (!growth->thorough && is_over(growth)) ? end(growth, ret_bytes) : 0;
}
