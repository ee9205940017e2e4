/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about the network. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "payload.h"

/* A socket address for an IPv4 or IPv6 literal. */
static socklen_t address_of(const char *host, int port, struct sockaddr_storage *ret)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};

    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        memcpy(ret, &v4, sizeof v4);
        return sizeof v4;
    }
    inet_pton(AF_INET6, host, &v6.sin6_addr);
    memcpy(ret, &v6, sizeof v6);
    return sizeof v6;
}

/* Listen on `host`, connect to that, and send a byte through. */
static int exchange(const char *host)
{
    struct sockaddr_storage address = {0};
    socklen_t len = address_of(host, 0, &address);
    int listener = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char byte = 0;

    if (listener < 0 || client < 0 || bind(listener, (struct sockaddr *)&address, len) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&address, &len) < 0 ||
        connect(client, (struct sockaddr *)&address, len) < 0)
        return -1;
    int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (server < 0 || write(client, "!", 1) != 1 || read(server, &byte, 1) != 1)
        return -1;
    close(server);
    close(client);
    close(listener);
    return byte == '!' ? 0 : -1;
}

static void do_loopback(char **args)
{
    (void)args;
    say_result("loopback", "127.0.0.1", exchange("127.0.0.1"));
    say_result("loopback", "::1", exchange("::1"));
}

static void do_connect(char **args)
{
    struct sockaddr_storage address = {0};
    socklen_t len = address_of(args[0], (int)number_of(args[1]), &address);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    say_result("connect", args[0], fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, len));
    if (fd >= 0)
        close(fd);
}

/* "interface NAME", one a line. */
static void do_interfaces(char **args)
{
    char line[512];
    FILE *file = fopen("/proc/net/dev", "re");

    (void)args;
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue; /* the two lines of headings */
        *colon = '\0';
        printf("interface %s\n", line + strspn(line, " "));
    }
    if (file)
        fclose(file);
}

const struct verb net_verbs[] = {
    {"connect", 2, do_connect},
    {"interfaces", 0, do_interfaces},
    {"loopback", 0, do_loopback},
    {NULL, 0, NULL},
};
