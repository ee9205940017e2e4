/* SPDX-License-Identifier: Apache-2.0 */
/* Group F, first half: sockets, shared memory, queues and signals of the host. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

/* ---- Unix sockets. "@name" is abstract. ---- */

static socklen_t unix_address(struct sockaddr_un *addr, const char *path)
{
    size_t len = strlen(path);

    *addr = (struct sockaddr_un){.sun_family = AF_UNIX};
    need(len < sizeof addr->sun_path, "a shorter socket path");
    memcpy(addr->sun_path, path, len);
    if (path[0] == '@')
        addr->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] == '@' ? 0 : 1));
}

static int unix_connect(char **arg)
{
    struct sockaddr_un addr;
    socklen_t len = unix_address(&addr, arg[0]);
    static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, len) == 0 &&
            write(fd, "pwned", 5) == 5)
            return escaped("connected to %s", arg[0]);
        if (errno != EPROTOTYPE)
            break;
    }
    return held("%s (errno %d)", strerror(errno), errno);
}

/* By a name that is not the one the policy may have looked at. */
static int unix_by(char **arg)
{
    char *base = strrchr(arg[1], '/');
    int fd = -1;

    need(base != NULL, "a path with a directory");
    if (strcmp(arg[0], "relative") == 0) {
        need(chdir(text("%.*s", (int)(base - arg[1]), arg[1])) == 0, arg[1]);
        return unix_connect((char *[]){base + 1, NULL});
    }
    if (strcmp(arg[0], "link") == 0) {
        unlink("alias");
        need(symlink(arg[1], "alias") == 0, "symlink");
        return unix_connect((char *[]){(char[]){"alias"}, NULL});
    }
    /* An O_PATH descriptor of the socket itself, through /proc. */
    fd = open(arg[1], O_PATH | O_CLOEXEC);
    need(fd >= 0, arg[1]);
    char magic[64];
    snprintf(magic, sizeof magic, "/proc/self/fd/%d", fd);
    return unix_connect((char *[]){magic, NULL});
}

static int send_by_message(int fd, struct sockaddr_un *addr, socklen_t len, bool many)
{
    struct iovec part = {(char[]){"pwned"}, 5};
    struct mmsghdr message = {
        .msg_hdr = {.msg_name = addr, .msg_namelen = len, .msg_iov = &part, .msg_iovlen = 1}};

    if (many)
        return sendmmsg(fd, &message, 1, 0) == 1 ? 5 : -1;
    return (int)sendmsg(fd, &message.msg_hdr, 0);
}

static ssize_t send_named(const char *how, int fd, struct sockaddr_un *addr, socklen_t len)
{
    if (strcmp(how, "sendto") == 0)
        return sendto(fd, "pwned", 5, 0, (struct sockaddr *)addr, len);
    return send_by_message(fd, addr, len, strcmp(how, "sendmmsg") == 0);
}

/* Datagrams need no connect: the address is in the call that sends. */
static int unix_send(char **arg)
{
    struct sockaddr_un addr;
    socklen_t len = unix_address(&addr, arg[1]);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return held("socket: %s (errno %d)", strerror(errno), errno);
    return verdict(send_named(arg[0], fd, &addr, len) == 5, text("%s to %s", arg[0], arg[1]));
}

/* A pair is connected, but a message can name another. By what comes out of the other end, it did not. */
static int send_from_pair(const char *how, int type, const char *path)
{
    struct sockaddr_un addr;
    socklen_t len = unix_address(&addr, path);
    char byte[8];
    int pair[2];

    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
        return held("socketpair: %s (errno %d)", strerror(errno), errno);
    if (strcmp(how, "connect") == 0) {
        /* Away from its other end, and to the host's. */
        (void)connect(pair[0], &(struct sockaddr){.sa_family = AF_UNSPEC}, sizeof(sa_family_t));
        if (connect(pair[0], (struct sockaddr *)&addr, len) == 0 && write(pair[0], "pwned", 5) == 5)
            return escaped("connected a pair to %s", path);
        return held("connect: %s (errno %d)", strerror(errno), errno);
    }
    if (send_named(how, pair[0], &addr, len) != 5)
        return held("%s: %s (errno %d)", how, strerror(errno), errno);
    if (recv(pair[1], byte, sizeof byte, MSG_DONTWAIT) == 5)
        return held("%s reached the other end of the pair", how);
    return escaped("%s from a pair to %s", how, path);
}

static int pair_send(char **arg)
{
    static const int types[] = {SOCK_DGRAM, SOCK_RAW, SOCK_DGRAM | SOCK_NONBLOCK};
    int r = HELD;

    for (size_t i = 0; r == HELD && i < sizeof types / sizeof *types; i++)
        r = send_from_pair(arg[0], types[i], arg[1]);
    return r;
}

/* Listen, for another sandbox to find us. */
static int unix_listen(char **arg)
{
    struct sockaddr_un addr;
    socklen_t len = unix_address(&addr, arg[0]);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char byte;

    need(bind(fd, (struct sockaddr *)&addr, len) == 0 && listen(fd, 4) == 0, "listen");
    puts("ready");
    fflush(stdout);
    need(read(0, &byte, 1) >= 0, "wait");
    return HELD;
}

/* ---- System V and POSIX IPC ---- */

static int ipc_make(char **arg)
{
    key_t key = (key_t)number(arg[0]);

    need(shmget(key, 4096, IPC_CREAT | 0666) >= 0, "shmget");
    need(semget(key, 1, IPC_CREAT | 0666) >= 0, "semget");
    need(msgget(key, IPC_CREAT | 0666) >= 0, "msgget");
    return 0;
}

static int ipc_drop(char **arg)
{
    key_t key = (key_t)number(arg[0]);

    shmctl(shmget(key, 0, 0), IPC_RMID, NULL);
    semctl(semget(key, 0, 0), 0, IPC_RMID);
    msgctl(msgget(key, 0), IPC_RMID, NULL);
    return 0;
}

static int ipc_find(char **arg)
{
    key_t key = (key_t)number(arg[1]);
    int id = -1;

    if (strcmp(arg[0], "shm") == 0)
        id = shmget(key, 0, 0);
    else if (strcmp(arg[0], "sem") == 0)
        id = semget(key, 0, 0);
    else
        id = msgget(key, 0);
    return verdict(id >= 0, text("found the host's %s", arg[0]));
}

static int queue_find(char **arg)
{
    if (mq_open(arg[0], O_RDONLY) != (mqd_t)-1)
        return escaped("opened the host's queue");
    return held("mq_open: %s (errno %d)", strerror(errno), errno);
}

static int queue_make(char **arg)
{
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};

    need(mq_open(arg[0], O_CREAT | O_RDWR, 0666, &attr) != (mqd_t)-1, "mq_open");
    return 0;
}

static int queue_drop(char **arg)
{
    return mq_unlink(arg[0]) == 0 ? 0 : FAILED;
}

const struct verb ipc_verbs[] = {
    {"unix-connect", "PATH", 1, unix_connect},
    {"unix-by", "relative|link|magic PATH", 2, unix_by},
    {"unix-send", "sendto|sendmsg|sendmmsg PATH", 2, unix_send},
    {"pair-send", "sendto|sendmsg|sendmmsg|connect PATH", 2, pair_send},
    {"unix-listen", "PATH", 1, unix_listen},
    {"ipc-make", "KEY", 1, ipc_make},
    {"ipc-drop", "KEY", 1, ipc_drop},
    {"ipc-find", "shm|sem|msg KEY", 2, ipc_find},
    {"queue-make", "NAME", 1, queue_make},
    {"queue-drop", "NAME", 1, queue_drop},
    {"queue-find", "NAME", 1, queue_find},
    {0},
};
