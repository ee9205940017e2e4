/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/loopback.h"

#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "sys/ret.h"

int sys_loopback_up(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    fd_auto int sock = ret_errno(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (sock < 0)
        return sock;

    int r = ret_errno(ioctl(sock, SIOCGIFFLAGS, &request));
    if (r < 0)
        return r;
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    return ret_errno(ioctl(sock, SIOCSIFFLAGS, &request));
}
