/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/network.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "sys/ret.h"

#define K_SIOCGSKNS 0x894C /* the namespace of a socket, without going through /proc */

int sys_network_new(void)
{
    return ret_errno(unshare(CLONE_NEWNET));
}

int sys_network_up(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    fd_auto int sock = ret_errno(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (sock < 0)
        return sock;

    int r = ret_errno(ioctl(sock, SIOCGIFFLAGS, &request));
    if (r < 0)
        return r;
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    r = ret_errno(ioctl(sock, SIOCSIFFLAGS, &request));
    return r < 0 ? r : ret_errno(ioctl(sock, K_SIOCGSKNS));
}

int sys_network_enter(int ns)
{
    return ret_errno(setns(ns, CLONE_NEWNET));
}
