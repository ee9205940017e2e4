/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/seccomp.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/ret.h"

#define K_SECCOMP_SET_MODE_FILTER 1
#define K_FLAG_NEW_LISTENER (1UL << 3)
#define K_FLAG_WAIT_KILLABLE_RECV (1UL << 5)

struct k_notif {
    uint64_t id;
    uint32_t pid;
    uint32_t flags;
    int32_t nr;
    uint32_t arch;
    uint64_t instruction_pointer;
    uint64_t args[6];
};

struct k_notif_resp {
    uint64_t id;
    int64_t val;
    int32_t error;
    uint32_t flags;
};

struct k_notif_addfd {
    uint64_t id;
    uint32_t flags;
    uint32_t srcfd;
    uint32_t newfd;
    uint32_t newfd_flags;
};

#define K_NOTIF_RECV _IOWR('!', 0, struct k_notif)
#define K_NOTIF_SEND _IOWR('!', 1, struct k_notif_resp)
#define K_NOTIF_ID_VALID _IOW('!', 2, uint64_t)
#define K_NOTIF_ADDFD _IOW('!', 3, struct k_notif_addfd)
#define K_NOTIF_SET_FLAGS _IOW('!', 4, uint64_t)
#define K_NOTIF_SYNC_WAKE_UP 1UL

static int load(const struct sock_filter *code, unsigned short len, unsigned long flags)
{
    const struct sock_fprog program = {.len = len, .filter = (struct sock_filter *)code};

    return ret_errno(syscall(SYS_seccomp, K_SECCOMP_SET_MODE_FILTER, flags, &program));
}

int sys_seccomp_load(const struct sock_filter *code, unsigned short len)
{
    return load(code, len, 0);
}

int sys_seccomp_load_listen(const struct sock_filter *code, unsigned short len)
{
    int r = load(code, len, K_FLAG_NEW_LISTENER | K_FLAG_WAIT_KILLABLE_RECV);

    return r == -EINVAL ? load(code, len, K_FLAG_NEW_LISTENER) : r;
}

/* Not by libc's ioctl(): that of some takes an int, which these numbers do not fit. */
static int notify(int listener, unsigned long request, void *arg)
{
    return (int)syscall(SYS_ioctl, listener, request, arg);
}

void sys_seccomp_quick(int listener)
{
    /* Older kernels refuse: then answers are just slower. */
    if (notify(listener, K_NOTIF_SET_FLAGS, (void *)K_NOTIF_SYNC_WAKE_UP) < 0)
        errno = 0;
}

int sys_seccomp_receive(int listener, struct sys_seccomp_call *ret)
{
    struct k_notif notif;

    memset(&notif, 0, sizeof notif); /* the kernel refuses anything else */
    int r = ret_errno(notify(listener, K_NOTIF_RECV, &notif));
    if (r < 0)
        return r;
    ret->id = notif.id;
    ret->pid = notif.pid;
    ret->nr = notif.nr;
    memcpy(ret->args, notif.args, sizeof ret->args);
    return 0;
}

bool sys_seccomp_waits(int listener, uint64_t id)
{
    return notify(listener, K_NOTIF_ID_VALID, &id) == 0;
}

int sys_seccomp_give(int listener, uint64_t id, int fd, bool close_on_exec)
{
    struct k_notif_addfd give = {
        .id = id, .srcfd = (uint32_t)fd, .newfd_flags = close_on_exec ? O_CLOEXEC : 0};

    return ret_errno(notify(listener, K_NOTIF_ADDFD, &give));
}

int sys_seccomp_answer(int listener, uint64_t id, int64_t result)
{
    struct k_notif_resp resp = {
        .id = id,
        .val = result < 0 ? 0 : result,
        .error = result < 0 ? (int32_t)result : 0,
    };

    return ret_errno(notify(listener, K_NOTIF_SEND, &resp));
}
