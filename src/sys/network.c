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

static int any_socket(void)
{
    return ret_errno(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

int sys_network_open(void)
{
    fd_auto int sock = any_socket();

    return sock < 0 ? sock : ret_errno(ioctl(sock, K_SIOCGSKNS));
}

int sys_network_up(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    fd_auto int sock = any_socket();
    if (sock < 0)
        return sock;

    int r = ret_errno(ioctl(sock, SIOCGIFFLAGS, &request));
    if (r < 0)
        return r;
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    return ret_errno(ioctl(sock, SIOCSIFFLAGS, &request));
}

int sys_network_enter(int ns)
{
    return ret_errno(setns(ns, CLONE_NEWNET));
}
