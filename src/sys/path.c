/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/path.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/ret.h"

#define K_SYS_openat2 437
#define K_RESOLVE_NO_MAGICLINKS 0x02
#define K_RESOLVE_NO_SYMLINKS 0x04
#define K_RESOLVE_BENEATH 0x08

struct k_open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

int sys_open_beneath(int root, const char *path, uint64_t flags, mode_t mode)
{
    struct k_open_how how = {
        .flags = flags | O_CLOEXEC,
        .mode = mode,
        .resolve = K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS | K_RESOLVE_NO_MAGICLINKS,
    };
    int r;

    /* -EAGAIN: a rename raced with the walk, and the kernel could not tell if it stayed beneath. */
    do {
        r = ret_errno(syscall(K_SYS_openat2, root, path[0] ? path : ".", &how, sizeof how));
    } while (r == -EAGAIN || r == -EINTR);
    return r;
}
