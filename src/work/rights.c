/* SPDX-License-Identifier: Apache-2.0 */
#include "work/rights.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/ret.h"

/*
 * Whether the process may be dumped is nobody's but the process's, and a change of ids takes it away: the
 * first thread that takes rights remembers, the last one that gives them back restores.
 */
static struct {
    pthread_mutex_t lock;
    unsigned takers;
    int was;
} dumpable = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void dumpable_save(void)
{
    pthread_mutex_lock(&dumpable.lock);
    if (dumpable.takers++ == 0)
        dumpable.was = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    pthread_mutex_unlock(&dumpable.lock);
}

static void dumpable_restore(void)
{
    pthread_mutex_lock(&dumpable.lock);
    if (--dumpable.takers == 0 && dumpable.was == 1)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    pthread_mutex_unlock(&dumpable.lock);
}

/* These calls report no errors: the old id is the answer, so only a second look tells. */
static int fs_id(long call, int id)
{
    syscall(call, id);
    return (int)syscall(call, -1) == id ? 0 : -EPERM;
}

static int set_caps(struct __user_cap_data_struct caps[2])
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

    return ret_errno(syscall(SYS_capset, &header, caps));
}

static int save_groups(struct rights *rights)
{
    int count = ret_errno(syscall(SYS_getgroups, 0, NULL));

    if (count < 0)
        return count;
    rights->groups = calloc((size_t)count + 1, sizeof *rights->groups);
    if (!rights->groups)
        return -ENOMEM;
    rights->group_count = ret_errno(syscall(SYS_getgroups, count, rights->groups));
    return rights->group_count < 0 ? rights->group_count : 0;
}

/* A sandbox with the caller's own ids has its groups too, and not everybody may change them. */
static bool keeps_groups(const struct work *work, const struct rights *rights)
{
    return (int)work->fsuid == rights->uid && (int)work->fsgid == rights->gid;
}

static int save(const struct work *work, struct rights *rights)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    int r = ret_errno(syscall(SYS_capget, &header, rights->caps));

    if (r < 0)
        return r;
    rights->uid = (int)syscall(SYS_setfsuid, -1);
    rights->gid = (int)syscall(SYS_setfsgid, -1);
    /* A change of ids resets it, for reasons that do not hold here. */
    if (prctl(PR_GET_PDEATHSIG, &rights->death_signal, 0, 0, 0) < 0)
        rights->death_signal = 0;
    return keeps_groups(work, rights) ? 0 : save_groups(rights);
}

static int change(const struct work *work, const struct rights *rights)
{
    struct __user_cap_data_struct none[2] = {rights->caps[0], rights->caps[1]};
    int r = rights->groups ? ret_errno(syscall(SYS_setgroups, 0, NULL)) : 0;

    if (r == 0)
        r = fs_id(SYS_setfsgid, (int)work->fsgid);
    if (r == 0)
        r = fs_id(SYS_setfsuid, (int)work->fsuid);
    /* That took away those about files. Others decide too, about what is read in /proc. */
    none[0].effective = none[1].effective = 0;
    return r < 0 ? r : set_caps(none);
}

/* Whether the caller is already what is asked for, as far as it can be. */
static bool is_same(const struct work *work)
{
    return geteuid() != 0 && (int)work->fsuid == (int)syscall(SYS_setfsuid, -1) &&
           (int)work->fsgid == (int)syscall(SYS_setfsgid, -1);
}

int rights_take(const struct work *work, struct rights *ret)
{
    *ret = (struct rights){0};
    if (work->fsuid == (uid_t)-1 && work->fsgid == (gid_t)-1)
        return 0;
    if (work->fsuid == (uid_t)-1 || work->fsgid == (gid_t)-1)
        return -EINVAL;
    if (is_same(work))
        return 0;

    int r = save(work, ret);
    ret->taken = r == 0;
    if (r == 0) {
        dumpable_save();
        r = change(work, ret);
    }
    if (r < 0) {
        rights_give_back(ret);
        free(ret->groups);
        ret->groups = NULL;
    }
    return r;
}

int rights_give_back(struct rights *rights)
{
    int r = 0, got;

    if (!rights->taken)
        return 0;
    rights->taken = false;
    /* First what allows the rest; once more at the end, since fsuid 0 brings some by itself. */
    got = set_caps(rights->caps);
    r = r < 0 ? r : got;
    got = fs_id(SYS_setfsuid, rights->uid);
    r = r < 0 ? r : got;
    got = fs_id(SYS_setfsgid, rights->gid);
    r = r < 0 ? r : got;
    got = 0;
    if (rights->groups)
        got = ret_errno(syscall(SYS_setgroups, rights->group_count, rights->groups));
    r = r < 0 ? r : got;
    got = set_caps(rights->caps);
    r = r < 0 ? r : got;
    dumpable_restore();
    if (rights->death_signal != 0)
        prctl(PR_SET_PDEATHSIG, rights->death_signal, 0, 0, 0);
    free(rights->groups);
    rights->groups = NULL;
    return r;
}
