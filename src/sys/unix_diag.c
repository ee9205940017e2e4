/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/unix_diag.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "sys/ret.h"

int sys_unix_diag_open(void)
{
    return ret_errno(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
}

static int ask(int diag)
{
    const struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } message = {
        .header = {.nlmsg_len = sizeof message,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = AF_UNIX, .udiag_states = ~0U, .udiag_show = UDIAG_SHOW_VFS},
    };

    return ret_errno(send(diag, &message, sizeof message, 0));
}

/* The file one answer is about, compared with `dev` and `ino`. */
static bool is_about(const struct nlmsghdr *header, dev_t dev, ino_t ino)
{
    const struct unix_diag_msg *message = NLMSG_DATA(header);
    int len = (int)(header->nlmsg_len - NLMSG_LENGTH(sizeof *message));

    for (const struct rtattr *attr = (const struct rtattr *)(message + 1); RTA_OK(attr, len);
         attr = RTA_NEXT(attr, len)) {
        struct unix_diag_vfs vfs;
        if (attr->rta_type != UNIX_DIAG_VFS || RTA_PAYLOAD(attr) < sizeof vfs)
            continue;
        memcpy(&vfs, RTA_DATA(attr), sizeof vfs);
        /* The kernel's own form of a device number: 12 bits and 20. Inode numbers are cut to 32. */
        return makedev(vfs.udiag_vfs_dev >> 20, vfs.udiag_vfs_dev & 0xfffff) == dev &&
               vfs.udiag_vfs_ino == (uint32_t)ino;
    }
    return false;
}

int sys_unix_diag_has(int diag, dev_t dev, ino_t ino)
{
    _Alignas(struct nlmsghdr) char buffer[8192];
    bool found = false;

    if ((uint64_t)ino >> 32) /* then another file could be meant */
        return 0;
    int r = ask(diag);
    if (r < 0)
        return r;
    for (;;) {
        ssize_t got = recv(diag, buffer, sizeof buffer, 0);
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        unsigned len = (unsigned)got;
        for (struct nlmsghdr *h = (struct nlmsghdr *)buffer; NLMSG_OK(h, len);
             h = NLMSG_NEXT(h, len)) {
            if (h->nlmsg_type == NLMSG_DONE)
                return found;
            if (h->nlmsg_type == NLMSG_ERROR)
                return -EIO;
            found = found || is_about(h, dev, ino);
        }
    }
}
