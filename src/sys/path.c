/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/ret.h"

#define K_SYS_openat2 437
#define K_RESOLVE_NO_MAGICLINKS 0x02
#define K_RESOLVE_NO_SYMLINKS 0x04
#define K_RESOLVE_BENEATH 0x08
#define K_RESOLVE_IN_ROOT 0x10

#define TRIES_MAX 256

struct k_open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

int sys_open(const char *path, int flags)
{
    return ret_errno(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0));
}

int sys_dup(int fd, int lowest)
{
    return ret_errno(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest));
}

static int open_how(int dir, const char *path, struct k_open_how how)
{
    int r = -EAGAIN;

    how.flags |= O_CLOEXEC;
    /*
     * -EAGAIN: a rename, anywhere on the host, raced with the walk, and the kernel could not tell if it
     * stayed beneath. Not for ever: who renames all the time, and leads us through thousands of ".." by
     * links, makes every try fail.
     */
    for (int tries = 0; tries < TRIES_MAX && (r == -EAGAIN || r == -EINTR); tries++)
        r = ret_errno(syscall(K_SYS_openat2, dir, path[0] ? path : ".", &how, sizeof how));
    return r;
}

int sys_open_beneath(int root, const char *path, uint64_t flags, mode_t mode)
{
    return open_how(root, path,
                    (struct k_open_how){.flags = flags,
                                        .mode = mode,
                                        .resolve = K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS |
                                                   K_RESOLVE_NO_MAGICLINKS});
}

int sys_open_direct(int dir, const char *path, uint64_t flags)
{
    return open_how(dir, path,
                    (struct k_open_how){.flags = flags, .resolve = K_RESOLVE_NO_SYMLINKS});
}

int sys_open_inside(int root, const char *path, uint64_t flags)
{
    /* A relative path may lead above where it starts; the caller's root is ours, and stops it. */
    uint64_t resolve = path[0] == '/' ? K_RESOLVE_IN_ROOT : 0;

    return open_how(
        root, path,
        (struct k_open_how){.flags = flags, .resolve = resolve | K_RESOLVE_NO_MAGICLINKS});
}
