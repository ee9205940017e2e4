/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../unit/pidns.h"
#include "harness.h"

void place_user_namespace(unsigned inside, int flags)
{
    unsigned id = box.root ? 23456 : geteuid();
    char map[64];

    if (box.root && (setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0))
        _exit(NO_PLACE);
    prctl(PR_SET_DUMPABLE, 1);
    snprintf(map, sizeof map, "%u %u 1", inside, id);
    if (unshare(CLONE_NEWUSER | flags) < 0 || !pidns_write("/proc/self/uid_map", map) ||
        !pidns_write("/proc/self/setgroups", "deny") || !pidns_write("/proc/self/gid_map", map))
        _exit(NO_PLACE);
}

void place_mount_namespace(void)
{
    if (!box.root)
        place_user_namespace(geteuid(), CLONE_NEWNS);
    else if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(NO_PLACE);
}
