/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../scratch.h"
#include "sys/clone.h"
#include "sys/process.h"

static ino_t namespace_of_ours(void)
{
    struct stat st;

    return stat("/proc/self/ns/net", &st) < 0 ? 0 : st.st_ino;
}

static bool is_namespace(int fd, ino_t want)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_ino == want;
}

static bool has_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    fd_auto int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return sock >= 0 && ioctl(sock, SIOCGIFFLAGS, &request) == 0 &&
           (request.ifr_flags & (IFF_UP | IFF_LOOPBACK)) == (IFF_UP | IFF_LOOPBACK);
}

/* Whether somebody who listens at this address of ours can be connected to. */
static bool can_connect(const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_storage bound;
    socklen_t bound_len = sizeof(bound);
    fd_auto int server = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fd_auto int client = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return server >= 0 && bind(server, address, len) == 0 && listen(server, 1) == 0 &&
           getsockname(server, (struct sockaddr *)&bound, &bound_len) == 0 &&
           connect(client, (struct sockaddr *)&bound, bound_len) == 0;
}

static int look_at_new(ino_t before)
{
    const struct sockaddr_in ip4 = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in away = {.sin_family = AF_INET, .sin_port = htons(9)};
    int open_before = open_fds();

    int r = sys_network_new();
    if (r == -EPERM || r == -EACCES || r == -ENOSPC || r == -EINVAL)
        return 77;
    if (r < 0 || has_loopback())
        return 1;
    int first = sys_network_open();
    if (first < 0 || has_loopback() || sys_network_up() < 0)
        return 1;
    if (open_fds() != open_before + 1 || fcntl(first, F_GETFD) != FD_CLOEXEC)
        return 2;
    ino_t mine = namespace_of_ours();
    if (mine == 0 || mine == before || !is_namespace(first, mine))
        return 3;
    if (!has_loopback() || !can_connect((const struct sockaddr *)&ip4, sizeof(ip4)))
        return 4;
    fd_auto int has_ip6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (has_ip6 >= 0 && !can_connect((const struct sockaddr *)&ip6, sizeof(ip6)))
        return 5;
    /* And nothing else. */
    fd_auto int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, "192.0.2.1", &away.sin_addr);
    if (connect(sock, (struct sockaddr *)&away, sizeof(away)) == 0 || errno != ENETUNREACH)
        return 6;

    /* From one to the other and back. */
    int second = sys_network_new() < 0 ? -1 : sys_network_open();
    if (second < 0 || has_loopback() || namespace_of_ours() == mine ||
        !is_namespace(second, namespace_of_ours()))
        return 7;
    if (sys_network_enter(first) < 0 || namespace_of_ours() != mine || !has_loopback())
        return 8;
    if (sys_network_enter(1 << 20) != -EBADF || namespace_of_ours() != mine)
        return 9;
    /* A descriptor of something else. */
    if (sys_network_enter(sock) != -EINVAL)
        return 10;
    close(first);
    close(second);
    return 0;
}

static void a_new_network_has_its_loopback(void **state)
{
    struct sys_exit ended;
    fd_auto int pidfd = -1;
    ino_t before = namespace_of_ours();

    /* A new user namespace gives everybody the right. */
    int pid = sys_clone_namespaces(CLONE_NEWUSER, &pidfd);
    if (pid == 0)
        _exit(look_at_new(before));
    if (pid < 0)
        SKIP("this host gives no user namespaces (%s)", strerror(-pid));
    assert_int_equal(sys_pidfd_wait(pidfd, true, &ended), 0);
    if (ended.code == 77)
        SKIP("this host gives no network namespaces");
    assert_int_equal(ended.signal, 0);
    assert_int_equal(ended.code, 0);
    /* Only the child moved. */
    assert_true(namespace_of_ours() == before);
}

static int without_the_right(void)
{
    int before = open_fds();
    fd_auto int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

    if (sys_network_new() != -EPERM || sys_network_enter(own) != -EPERM)
        return 1;
    return open_fds() == before + 1 ? 0 : 2;
}

static void nobody_may(void **state)
{
    assert_int_equal(as_nobody(without_the_right), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_network_has_its_loopback),
        cmocka_unit_test(nobody_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
