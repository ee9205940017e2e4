/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/mount.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/ret.h"

/* Distributions' headers are older than the calls; these numbers are the same on every machine. */
#define K_SYS_open_tree 428
#define K_SYS_move_mount 429
#define K_SYS_fsopen 430
#define K_SYS_fsconfig 431
#define K_SYS_fsmount 432
#define K_SYS_mount_setattr 442

#define K_OPEN_TREE_CLONE 1
#define K_OPEN_TREE_CLOEXEC O_CLOEXEC
#define K_AT_RECURSIVE 0x8000
#define K_MOVE_MOUNT_F_EMPTY_PATH 0x04
#define K_MOVE_MOUNT_T_EMPTY_PATH 0x40
#define K_FSOPEN_CLOEXEC 1
#define K_FSMOUNT_CLOEXEC 1
#define K_FSCONFIG_SET_STRING 1
#define K_FSCONFIG_CMD_CREATE 6
#define K_MOUNT_ATTR_IDMAP 0x00100000

/* MOUNT_ATTR_RDONLY, NOSUID, NODEV and NOEXEC have our values; the kernel's ABI keeps them. */
_Static_assert(SYS_MOUNT_RDONLY == 0x1 && SYS_MOUNT_NOSUID == 0x2 && SYS_MOUNT_NODEV == 0x4 &&
                   SYS_MOUNT_NOEXEC == 0x8,
               "flags are passed through to mount_setattr and fsmount");

struct k_mount_attr {
    uint64_t attr_set;
    uint64_t attr_clr;
    uint64_t propagation;
    uint64_t userns_fd;
};

int sys_mount_clone(int dir, const char *name, bool recursive)
{
    unsigned flags = K_OPEN_TREE_CLONE | K_OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;

    return ret_errno(syscall(K_SYS_open_tree, dir, name, flags | (recursive ? K_AT_RECURSIVE : 0)));
}

int sys_mount_new(const char *type, const struct sys_mount_option *options, unsigned flags)
{
    fd_auto int fs = ret_errno(syscall(K_SYS_fsopen, type, K_FSOPEN_CLOEXEC));
    if (fs < 0)
        return fs;

    for (; options && options->key; options++) {
        int r = ret_errno(
            syscall(K_SYS_fsconfig, fs, K_FSCONFIG_SET_STRING, options->key, options->value, 0));
        if (r < 0)
            return r;
    }

    int r = ret_errno(syscall(K_SYS_fsconfig, fs, K_FSCONFIG_CMD_CREATE, NULL, NULL, 0));
    if (r < 0)
        return r;
    return ret_errno(syscall(K_SYS_fsmount, fs, K_FSMOUNT_CLOEXEC, flags));
}

int sys_mount_attach(int tree, int dir, const char *name)
{
    unsigned flags = K_MOVE_MOUNT_F_EMPTY_PATH | (name[0] ? 0 : K_MOVE_MOUNT_T_EMPTY_PATH);

    return ret_errno(syscall(K_SYS_move_mount, tree, "", dir, name, flags));
}

static int setattr(int tree, bool recursive, struct k_mount_attr attr)
{
    return ret_errno(syscall(K_SYS_mount_setattr, tree, "",
                             AT_EMPTY_PATH | (recursive ? K_AT_RECURSIVE : 0), &attr, sizeof attr));
}

int sys_mount_set(int tree, bool recursive, unsigned flags)
{
    return setattr(tree, recursive, (struct k_mount_attr){.attr_set = flags});
}

int sys_mount_idmap(int tree, bool recursive, int userns)
{
    return setattr(
        tree, recursive,
        (struct k_mount_attr){.attr_set = K_MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns});
}

int sys_mount_make_private(void)
{
    return ret_errno(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
}

int sys_mount_remount(const char *path, unsigned flags)
{
    unsigned long ms = MS_BIND | MS_REMOUNT;

    if (flags & SYS_MOUNT_RDONLY)
        ms |= MS_RDONLY;
    if (flags & SYS_MOUNT_NOSUID)
        ms |= MS_NOSUID;
    if (flags & SYS_MOUNT_NODEV)
        ms |= MS_NODEV;
    if (flags & SYS_MOUNT_NOEXEC)
        ms |= MS_NOEXEC;
    return ret_errno(mount(NULL, path, NULL, ms, NULL));
}

int sys_mount_enter(int new_root)
{
    int r = ret_errno(fchdir(new_root));
    if (r < 0)
        return r;

    r = ret_errno(chroot("."));
    return r < 0 ? r : ret_errno(chdir("/"));
}
