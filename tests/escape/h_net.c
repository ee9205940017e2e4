/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group H: the network. Only addresses of the own machine are sent to. For all others the question
 * is whether there is a route, which connect() on a UDP socket answers without sending anything.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"

static socklen_t address(struct sockaddr_storage *addr, const char *host, int port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)addr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)addr;

    *addr = (struct sockaddr_storage){0};
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return sizeof *v4;
    }
    need(inet_pton(AF_INET6, host, &v6->sin6_addr) == 1, host);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    return sizeof *v6;
}

static int reach(const char *host, int port, int type, bool speak)
{
    struct sockaddr_storage addr;
    socklen_t len = address(&addr, host, port);
    int fd = socket(addr.ss_family, type | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && connect(fd, (struct sockaddr *)&addr, len) == 0;

    if (ok && speak)
        ok = send(fd, "pwned", 5, MSG_NOSIGNAL) == 5;
    return ok ? 0 : -1;
}

static int tcp(char **arg)
{
    return verdict(reach(arg[0], (int)number(arg[1]), SOCK_STREAM, true) == 0,
                   text("connected to %s port %s", arg[0], arg[1]));
}

/* Sending works wherever there is a route: only the receiver knows whether it arrived. */
static int udp(char **arg)
{
    return reach(arg[0], (int)number(arg[1]), SOCK_DGRAM, true) == 0
               ? done("sent to %s port %s", arg[0], arg[1])
               : held("%s (errno %d)", strerror(errno), errno);
}

/* TCP fast open carries data, and a destination, in sendto(): no connect() to be seen. */
static int fast_open(char **arg)
{
    struct sockaddr_storage addr;
    socklen_t len = address(&addr, arg[0], (int)number(arg[1]));
    int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return verdict(sendto(fd, "pwned", 5, MSG_FASTOPEN, (struct sockaddr *)&addr, len) == 5,
                   "sent with fast open");
}

static int routes(char **arg)
{
    int count = 0;

    for (; *arg; arg++, count++)
        if (reach(*arg, 53, SOCK_DGRAM, false) == 0)
            return escaped("there is a route to %s", *arg);
    return held("no route to %d addresses: %s (errno %d)", count, strerror(errno), errno);
}

static int devices(char **arg)
{
    struct if_nameindex *list = if_nameindex();

    (void)arg;
    need(list != NULL, "if_nameindex");
    for (struct if_nameindex *row = list; row->if_index; row++)
        if (strcmp(row->if_name, "lo") != 0)
            return escaped("sees network device %s", row->if_name);
    return held("loopback only");
}

const struct verb net_verbs[] = {
    {"tcp", "ADDRESS PORT", 2, tcp},
    {"udp", "ADDRESS PORT", 2, udp},
    {"fast-open", "ADDRESS PORT", 2, fast_open},
    {"routes", "ADDRESS...", 1, routes},
    {"devices", "", 0, devices},
    {0},
};
