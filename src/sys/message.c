/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/message.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/ret.h"

union control {
    char bytes[CMSG_SPACE(SYS_MESSAGE_FDS * sizeof(int))];
    struct cmsghdr align;
};

int sys_message_pair(int ret[2])
{
    return ret_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret));
}

int sys_message_send(int sock, const void *data, size_t len, const int *fds, size_t fd_count)
{
    union control control = {0};
    struct iovec iov = {.iov_base = (void *)data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t r;

    if (fd_count > SYS_MESSAGE_FDS)
        return -EINVAL;
    if (fd_count > 0) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
    }
    do {
        r = sendmsg(sock, &msg, MSG_NOSIGNAL);
    } while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

/* Take the descriptors out of a received message. Whatever does not fit was closed by the kernel. */
static size_t take_fds(struct msghdr *msg, int *fds)
{
    size_t count = 0;

    for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(h), count * sizeof(int));
    }
    return count;
}

ssize_t sys_message_receive(int sock, int wait, void *data, size_t size, int *fds, size_t *fd_count)
{
    union control control;
    struct iovec iov = {.iov_base = data, .iov_len = size};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    ssize_t r;

    do {
        r = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    } while (r < 0 && errno == EINTR);
    if (r < 0)
        return -errno;

    *fd_count = take_fds(&msg, fds);
    if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        for (size_t i = 0; i < *fd_count; i++)
            close(fds[i]);
        *fd_count = 0;
        return -EMSGSIZE;
    }
    return r;
}
