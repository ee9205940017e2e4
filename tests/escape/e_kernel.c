/* SPDX-License-Identifier: Apache-2.0 */
/* Group E: rights, ids, and what sockets open up in the kernel. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef MOUNT_ATTR_RDONLY
#define MOUNT_ATTR_RDONLY 1
#endif

#ifndef TCP_ULP
#define TCP_ULP 31
#endif

/* ---- Rights ---- */

/* The value after "name:" in /proc/self/status. */
static unsigned long long status_field(const char *name, int base)
{
    static char buf[8192];
    const char *line;

    need(slurp("/proc/self/status", buf, sizeof buf) > 0, "status");
    line = strstr(buf, name);
    need(line != NULL, name);
    return strtoull(line + strlen(name), NULL, base);
}

static int rights(char **arg)
{
    static const struct {
        const char *name;
        unsigned long long want;
    } fields[] = {{"CapInh:", 0}, {"CapPrm:", 0},     {"CapEff:", 0}, {"CapBnd:", 0},
                  {"CapAmb:", 0}, {"NoNewPrivs:", 1}, {"Seccomp:", 2}};

    (void)arg;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        unsigned long long value = status_field(fields[i].name, 16);
        if (value != fields[i].want)
            return escaped("%s %llx", fields[i].name, value);
    }
    return held("no capabilities, no_new_privs, a filter");
}

static int become_root(char **arg)
{
    (void)arg;
    if (getuid() == 0)
        return escaped("uid 0 already");
    if (setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0)
        return escaped("became root");
    return held("setresuid: %s (errno %d)", strerror(errno), errno);
}

static int drop_groups(char **arg)
{
    gid_t group = getegid();

    (void)arg;
    return verdict(setgroups(1, &group) == 0, "setgroups");
}

/* The first id of a map: what a process of that namespace can be. */
static unsigned first_id(const char *pid, const char *map)
{
    char buf[256];

    need(slurp(text("/proc/%s/%s", pid, map), buf, sizeof buf) > 0, map);
    return (unsigned)strtoul(buf, NULL, 10);
}

/* Be where process PID is, with all capabilities there. */
static void enter(const char *pid)
{
    int user = open(text("/proc/%s/ns/user", pid), O_RDONLY | O_CLOEXEC);
    int mounts = open(text("/proc/%s/ns/mnt", pid), O_RDONLY | O_CLOEXEC);
    int root = open(text("/proc/%s/root", pid), O_PATH | O_CLOEXEC);

    need(user >= 0 && mounts >= 0 && root >= 0, "its namespaces");
    need(setns(user, CLONE_NEWUSER) == 0 && setns(mounts, CLONE_NEWNS) == 0, "setns");
    need(fchdir(root) == 0 && chroot(".") == 0, "its root");
}

static void take_ids(unsigned uid, unsigned gid)
{
    (void)!setgroups(0, NULL); /* may be given up there */
    need(setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0, "its ids");
}

/* Be in the place of process PID, with its ids and its root, but without its filter. */
static void take_place(const char *pid)
{
    const unsigned uid = first_id(pid, "uid_map");
    const unsigned gid = first_id(pid, "gid_map");

    enter(pid);
    take_ids(uid, gid);
}

/* The second lock on nested user namespaces: what is left when the filter fails. */
static int nested(char **arg)
{
    take_place(arg[0]);
    return verdict(unshare(CLONE_NEWUSER) == 0, "unshare(CLONE_NEWUSER)");
}

static bool make_writable(const char *path)
{
    struct {
        uint64_t set, clear, propagation, userns;
    } attr = {.clear = MOUNT_ATTR_RDONLY};

    return syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &attr, sizeof attr) == 0;
}

/* The first lock on writing fails: the mount that PATH is on can be written to where process PID is. */
static int open_door(char **arg)
{
    char path[4096];

    enter(arg[0]);
    snprintf(path, sizeof path, "%s", arg[1]);
    while (!make_writable(path[0] ? path : "/") && path[0])
        *strrchr(path, '/') = '\0';
    int fd = open(arg[1], O_WRONLY | O_CLOEXEC);
    need(fd >= 0, "open the door");
    return HELD;
}

/* The first lock on signals fails: a process that is not the sandbox's can be seen where PID is. */
static int neighbour(char **arg)
{
    const unsigned uid = first_id(arg[0], "uid_map");
    const unsigned gid = first_id(arg[0], "gid_map");
    int processes = open(text("/proc/%s/ns/pid", arg[0]), O_RDONLY | O_CLOEXEC);

    enter(arg[0]);
    need(setns(processes, CLONE_NEWPID) == 0, "its processes");
    take_ids(uid, gid);
    pid_t pid = fork(); /* in there */
    if (pid == 0) {
        printf("ready\n%d\n", (int)getpid());
        fflush(stdout);
        _exit(read(0, (char[1]){0}, 1) == 0 ? HELD : FAILED);
    }
    int status = 0;
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    return status_code(status);
}

/* Wait for a line with a number, and signal that process. */
static int signal_later(char **arg)
{
    char line[32] = "";

    (void)arg;
    puts("ready");
    fflush(stdout);
    need(read(0, line, sizeof line - 1) > 0, "wait for a line");
    return verdict(kill((pid_t)strtol(line, NULL, 10), SIGUSR1) == 0, "signal to a neighbour");
}

/* ---- Socket families ---- */

static bool opens(int family, int type, int protocol)
{
    int fd = socket(family, type, protocol);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* All families but the usual ones and vsock, which has a case of its own without a control. */
static int families(char **arg)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM};

    (void)arg;
    for (int family = 0; family < 64; family++) {
        if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK ||
            family == AF_VSOCK)
            continue;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (opens(family, types[i], 0))
                return escaped("socket family %d, type %d", family, types[i]);
    }
    return held("no other family: %s (errno %d)", strerror(errno), errno);
}

static int one_socket(char **arg)
{
    return verdict(opens((int)number(arg[0]), (int)number(arg[1]), (int)number(arg[2])),
                   text("socket(%s, %s, %s)", arg[0], arg[1], arg[2]));
}

static int netlink_protocols(char **arg)
{
    (void)arg;
    for (int protocol = 1; protocol <= 22; protocol++)
        if (opens(AF_NETLINK, SOCK_RAW, protocol))
            return escaped("netlink protocol %d", protocol);
    return held("no netlink but route: %s (errno %d)", strerror(errno), errno);
}

static int odd_protocols(char **arg)
{
    static const struct {
        const char *name;
        int type;
        int protocol;
    } rows[] = {{"MPTCP", SOCK_STREAM, 262},
                {"SCTP", SOCK_STREAM, IPPROTO_SCTP},
                {"DCCP", 6, IPPROTO_DCCP},
                {"UDPLITE", SOCK_DGRAM, IPPROTO_UDPLITE},
                {"L2TP", SOCK_DGRAM, 115},
                {"SMC", SOCK_STREAM, 256},
                {"raw ICMP", SOCK_RAW, IPPROTO_ICMP},
                {"raw", SOCK_RAW, IPPROTO_RAW}};

    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (opens(AF_INET, rows[i].type, rows[i].protocol) ||
            opens(AF_INET6, rows[i].type, rows[i].protocol))
            return escaped("%s", rows[i].name);
    return held("TCP and UDP only: %s (errno %d)", strerror(errno), errno);
}

/* A connected pair of TCP sockets on our own loopback device. */
static int tcp_pair(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);

    need(bind(server, (struct sockaddr *)&addr, len) == 0 && listen(server, 1) == 0, "listen");
    need(getsockname(server, (struct sockaddr *)&addr, &len) == 0, "getsockname");
    need(connect(client, (struct sockaddr *)&addr, len) == 0, "connect to loopback");
    return client;
}

/* Upper layer protocols load code into the kernel's TCP (ESP in TCP: CVE-2026-46300). */
static int upper_layer(char **arg)
{
    static const char *const names[] = {"espintcp", "tls", "smc", "mptcp"};
    int fd = tcp_pair();

    (void)arg;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, names[i], (socklen_t)strlen(names[i])) == 0)
            return escaped("TCP_ULP %s", names[i]);
        /* Any other answer is that of a kernel which has looked for the protocol. */
        if (errno != EPERM && errno != EACCES && errno != ENOPROTOOPT)
            return escaped("TCP_ULP %s reached the kernel: %s", names[i], strerror(errno));
    }
    return held("TCP_ULP: %s (errno %d)", strerror(errno), errno);
}

const struct verb kernel_verbs[] = {
    {"rights", "", 0, rights},
    {"become-root", "", 0, become_root},
    {"setgroups", "", 0, drop_groups},
    {"nested", "PID", 1, nested},
    {"open-door", "PID PATH", 2, open_door},
    {"neighbour", "PID", 1, neighbour},
    {"signal-later", "MARK", 1, signal_later},
    {"families", "", 0, families},
    {"socket", "FAMILY TYPE PROTOCOL", 3, one_socket},
    {"netlink", "", 0, netlink_protocols},
    {"odd-protocols", "", 0, odd_protocols},
    {"upper-layer", "", 0, upper_layer},
    {0},
};
