/* SPDX-License-Identifier: Apache-2.0 */
#include "run/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#include "backend/backend.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/path.h"
#include "base/str.h"
#include "run/growth.h"
#include "sys/mountinfo.h"
#include "sys/ret.h"

#define WALK_MS 5 /* of confirming growth at a time */
#define LAST_WALKS 40

int disk_start(struct disk *disk, const struct plan *plan, struct arena *arena)
{
    if (disk->plan)
        return 0;
    disk->plan = plan;
    disk->found = disk->least_found = NUM_NO_LIMIT;
    if (plan->limits.disk_means != MEANS_SAMPLED)
        return 0;
    int r = growth_new(plan->limits.disk_bytes, arena, &disk->growth);
    for (size_t i = 0; r == 0 && i < plan->mount_count; i++)
        if (plan_mount_grows(&plan->mounts[i]))
            r = growth_add(disk->growth, plan->mounts[i].source_fd);
    return r;
}

void disk_set_sandbox(struct disk *disk, const struct sandbox *sandbox)
{
    if (disk->growth)
        growth_set_proc(disk->growth, sandbox->proc_fd, sandbox->spare);
}

/* ---- What is mounted below ---- */

/* A grant brings what is mounted below it along: other file systems that can grow. */
static bool is_nested(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        if (plan_mount_grows(mount) && mount->recursive && path_is_within(path, mount->source) &&
            !str_eq(path, mount->source))
            return true;
    }
    return false;
}

/* Whether it may go better the next time, or never will; else nobody can write there either. */
static bool is_failure(int r)
{
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -E2BIG;
}

static int add_nested(void *arg, const struct sys_mountinfo *mount)
{
    const struct disk *disk = arg;

    if (!is_nested(disk->plan, mount->path))
        return 0;
    fd_auto int fd = ret_errno(open(mount->path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    int r = fd < 0 ? fd : growth_take(disk->growth, &fd);
    return is_failure(r) ? r : 0;
}

/*
 * What is mounted below a grant is looked for when there is time. What the first milliseconds of a
 * command add there is not seen.
 */
static int find_nested(struct disk *disk)
{
    if (disk->nested_known)
        return 0;
    int r = sys_mountinfo_each(add_nested, disk);
    disk->nested_known = r == 0;
    return r;
}

/* ---- Measuring ---- */

/*
 * Who is beyond the limit may make room. What the file system says has others in it: whether a run adds more is
 * then seen by walks that go to their end, and can be compared.
 */
static void on_walked(struct disk *disk, uint64_t bytes)
{
    uint64_t limit = disk->plan->limits.disk_bytes;
    uint64_t found = disk->beyond ? growth_found(disk->growth) : NUM_NO_LIMIT;

    disk->bytes = bytes;
    if (!disk->plan->lasting)
        return; /* there is no other run */
    disk->beyond = found == NUM_NO_LIMIT ? bytes >= limit : found >= limit;
    disk->found = disk->beyond ? found : NUM_NO_LIMIT;
    if (disk->least_found > disk->found || !disk->beyond)
        disk->least_found = disk->found;
    growth_set_thorough(disk->growth, disk->beyond);
}

bool disk_grows(const struct disk *disk, uint64_t base_bytes, uint64_t base_found)
{
    /* What is written late, and what directories take, is seen late. */
    uint64_t slack = disk->plan->limits.disk_bytes / 16;
    bool comparable = disk->found != NUM_NO_LIMIT && base_found != NUM_NO_LIMIT;

    return disk->bytes > base_bytes && (!comparable || disk->found > base_found + slack);
}

void disk_set_ended(struct disk *disk)
{
    disk->least_found = disk->found;
}

/*
 * Growth that looks like too much is confirmed in slices, each in a step of its own; with `walk`, whatever it
 * looks like.
 */
static int measure(struct disk *disk, bool walk)
{
    uint64_t bytes = 0;
    int r = growth_measure(disk->growth, &bytes);

    if (r == 0)
        disk->bytes = bytes;
    if (r < 0 || (r == 0 && !walk))
        return r;
    r = growth_step(disk->growth, WALK_MS, &bytes);
    if (r == 1)
        on_walked(disk, bytes);
    return r < 0 ? r : r == 0;
}

int disk_measure(struct disk *disk)
{
    if (!disk->growth)
        return 0;
    int r = find_nested(disk);
    return r < 0 ? r : measure(disk, false);
}

static void measure_to_end(struct disk *disk, bool walk)
{
    int r = measure(disk, walk);

    for (int i = 0; r == 1 && i < LAST_WALKS; i++)
        r = measure(disk, walk);
}

void disk_measure_last(struct disk *disk)
{
    if (!disk->growth)
        return;
    measure_to_end(disk, disk->beyond);
    /* The next run begins where this one has left it. */
    if (disk->beyond && disk->found == NUM_NO_LIMIT)
        measure_to_end(disk, true);
}

void disk_clear(struct disk *disk)
{
    growth_free(disk->growth);
    disk->growth = NULL;
}
