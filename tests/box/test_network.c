/* SPDX-License-Identifier: Apache-2.0 */
/* The network: none of it but an own loopback, or the host's. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drive.h"

/* A listener on the host's loopback; *port gets its port. */
static int listen_on_loopback(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    REQUIRE(fd >= 0);
    if (bind(fd, (struct sockaddr *)&address, len) < 0)
        box_skip("this host has no loopback");
    REQUIRE(listen(fd, 8) == 0 && getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void none_has_loopback_only(void)
{
    CHECK_TEXT("interface lo\n", drive_out(LIST("--net", "none"), PAYLOAD("interfaces")));
    CHECK_TEXT("interface lo\n", drive_out(NULL, PAYLOAD("interfaces")));
}

static void loopback_works(void)
{
    bool v6 = access("/proc/net/if_inet6", F_OK) == 0;
    const char *out = drive_out(LIST("--net", "none"), PAYLOAD("loopback"));

    CHECK_LINE(out, "loopback 127.0.0.1: ok");
    if (v6)
        CHECK_LINE(out, "loopback ::1: ok");
}

static void host_is_reached_only_when_asked_for(void)
{
    int port;
    int fd = listen_on_loopback(&port);
    const char *text = box_text("%d", port);

    CHECK_LINE(drive_out(LIST("--net", "host"), PAYLOAD("connect", "127.0.0.1", text)),
               "connect 127.0.0.1: ok");
    CHECK_LINE(drive_out(LIST("--net", "none"), PAYLOAD("connect", "127.0.0.1", text)),
               "connect 127.0.0.1: ECONNREFUSED");
    CHECK_LINE(drive_out(LIST("--net", "none"), PAYLOAD("connect", "192.0.2.1", "80")),
               "connect 192.0.2.1: ENETUNREACH");
    close(fd);
}

static void host_has_the_hosts_interfaces(void)
{
    CHECK_INT(0, drive_shell("./payload interfaces > control"));
    box_expect("work/control");
    const char *want = box_read("control");
    CHECK_LINE(want, "interface lo");
    CHECK_TEXT(want, drive_out(LIST("--net", "host"), PAYLOAD("interfaces")));
}

static void allow_is_refused_for_now(void)
{
    CHECK_HAS(drive_refused(LIST("--net", "allow"), PAYLOAD("ids")), "not enforced yet");
    CHECK_HAS(drive_refused(LIST("--allow-host", "example.org"), PAYLOAD("ids")),
              "not enforced yet");
}

/* Abstract sockets belong to a network namespace: the host's must not be there. */
static void abstract_sockets_are_not_there(void)
{
    const char *out = drive_out(NULL, PAYLOAD("read", "/proc/net/unix"));
    const char *all = drive_out(NULL, LIST("/bin/cat", "/proc/net/unix"));

    CHECK_HAS(out, "read /proc/net/unix: ok Num");
    CHECK_LACKS(all, "@");
}

int main(void)
{
    static const struct box_test tests[] = {
        {"none has loopback only", none_has_loopback_only},
        {"loopback works", loopback_works},
        {"host is reached only when asked for", host_is_reached_only_when_asked_for},
        {"host has the host's interfaces", host_has_the_hosts_interfaces},
        {"allow is refused for now", allow_is_refused_for_now},
        {"abstract sockets are not there", abstract_sockets_are_not_there},
        {NULL, NULL},
    };

    return box_main(tests);
}
