/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect() on behalf of a command.
 *
 * A network namespace does not separate unix sockets that have a name in the file system, and a
 * read-only mount does not keep anybody from connecting to one. So init looks at the address and
 * makes the connection itself:
 *
 *  - the address is copied once; the caller can change its own copy as it likes;
 *  - the socket is a duplicate of the caller's descriptor: it connects, whoever calls;
 *  - a path is resolved here, with the caller's rights (init has the same id and no capabilities),
 *    to a descriptor of the socket file, and the connection goes to that file and no other.
 *
 * A unix socket may be connected to when it was made in this sandbox: it lies on a file system of
 * its own, or the kernel lists it among the sockets of its network namespace; or when the plan
 * names it.
 *
 * The call must not block init: it is made without waiting, and a caller that wants to wait does so
 * until the socket is writable. That mode is the caller's to change, at any moment, and so is how long the
 * last close() of a socket lingers: an alarm ends what takes longer all the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/native/brief.h"
#include "backend/native/notify.h"
#include "base/fd.h"
#include "sys/path.h"
#include "sys/process.h"
#include "sys/procfs.h"
#include "sys/ret.h"
#include "sys/unix_diag.h"

/* The caller's own descriptor, as ours. */
static int take_socket(pid_t pid, int fd)
{
    fd_auto int pidfd = sys_pidfd_open_thread(pid);

    return pidfd < 0 ? pidfd : sys_pidfd_take(pidfd, fd);
}

static bool is_own(const struct notify *notify, const struct stat *st)
{
    if (st->st_dev == notify->own)
        return true;
    /* With the host's network all sockets are in its namespace, and the list tells nothing. */
    fd_auto int diag = notify->plan->net == NET_NONE ? sys_unix_diag_open() : -1;
    return diag >= 0 && sys_unix_diag_has(diag, st->st_dev, st->st_ino) == 1;
}

static bool is_granted(const struct plan *plan, const struct stat *st)
{
    for (size_t i = 0; i < plan->socket_count; i++)
        if (plan->sockets[i].dev == st->st_dev && plan->sockets[i].ino == st->st_ino)
            return true;
    return false;
}

/* The socket file that a path names for the caller, or -errno; -EPERM when it is the host's. */
static int open_socket_file(const struct notify *notify, pid_t pid, const char *path)
{
    struct stat st;
    /* Nobody in the sandbox can have another root than init has: chroot() needs a capability. */
    fd_auto int start = path[0] == '/' ? sys_open("/", O_PATH | O_DIRECTORY)
                                       : sys_proc_open_dir(pid, "cwd");
    if (start < 0)
        return start;
    fd_auto int file = sys_open_inside(start, path, O_PATH);
    if (file < 0)
        return file;
    if (fstat(file, &st) < 0)
        return -errno;
    if (!S_ISSOCK(st.st_mode))
        return -ECONNREFUSED;
    return is_own(notify, &st) || is_granted(notify->plan, &st) ? fd_take(&file) : -EPERM;
}

/* Point the address at the file itself, by a name that only init can resolve. */
static void name_file(struct notify_pending *pending)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&pending->address;
    _Static_assert(SYS_PROC_NAME_MAX <= sizeof address->sun_path, "the name fits");

    sys_proc_fd_name(pending->target, address->sun_path);
    pending->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address->sun_path) +
                               1);
}

/* Decide about an AF_UNIX address, and turn a path into the file it names. */
static int check_unix(const struct notify *notify, pid_t pid, struct notify_pending *pending,
                      struct proto_violation *violation)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&pending->address;
    char path[sizeof violation->text] = {0};
    _Static_assert(sizeof path > sizeof address->sun_path, "a path and its end fit");

    if (pending->len <= offsetof(struct sockaddr_un, sun_path) || pending->len > sizeof *address)
        return -EINVAL;
    memcpy(path, address->sun_path, pending->len - offsetof(struct sockaddr_un, sun_path));
    /* Abstract names belong to the network namespace. */
    if (path[0] == '\0') {
        if (notify->plan->net == NET_NONE)
            return 0;
        violation->kind = VIOLATION_SOCKET;
        memcpy(violation->text, path, sizeof path);
        violation->text[0] = '@';
        return -EPERM;
    }
    pending->target = open_socket_file(notify, pid, path);
    if (pending->target == -EPERM) {
        violation->kind = VIOLATION_SOCKET;
        memcpy(violation->text, path, sizeof path);
    }
    if (pending->target < 0) {
        int r = pending->target;
        pending->target = -1;
        return r;
    }
    name_file(pending);
    return 0;
}

static int connect_briefly(const struct notify_pending *pending)
{
    struct brief brief;
    int r = brief_begin(&brief);

    if (r < 0)
        return r;
    r = ret_errno(connect(pending->sock, (const struct sockaddr *)&pending->address, pending->len));
    brief_end(&brief);
    return r;
}

/* connect() without waiting, whatever the socket's own mode is. */
static int try_connect(const struct notify_pending *pending)
{
    int flags = ret_errno(fcntl(pending->sock, F_GETFL));
    bool waits = flags >= 0 && !(flags & O_NONBLOCK);

    if (flags < 0)
        return flags;
    if (waits && fcntl(pending->sock, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    int r = connect_briefly(pending);
    if (r == -EINTR) /* it was made to wait meanwhile */
        r = -EAGAIN;
    if (waits && fcntl(pending->sock, F_SETFL, flags) < 0)
        return -errno;
    return waits && (r == -EINPROGRESS || r == -EAGAIN) ? NOTIFY_LATER : r;
}

int notify_connect(struct notify *notify, int listener, const struct sys_seccomp_call *call,
                   struct notify_pending *pending, struct proto_violation *violation)
{
    pid_t pid = (pid_t)call->pid;
    uint32_t len = (uint32_t)call->args[2];

    *pending = (struct notify_pending){
        .sock = -1, .listener = listener, .id = call->id, .len = len, .target = -1};
    if (len > sizeof pending->address)
        return -EINVAL;
    int r = sys_memory_read(pid, call->args[1], &pending->address, len);
    if (r < 0)
        return r;
    int sock = take_socket(pid, (int)call->args[0]);
    if (sock < 0)
        return sock;
    if (len >= sizeof(sa_family_t) && pending->address.ss_family == AF_UNIX)
        r = check_unix(notify, pid, pending, violation);
    /* Only now is it certain that the memory and the descriptor were the caller's. */
    if (r == 0 && !sys_seccomp_waits(listener, call->id))
        r = -EINTR;
    if (r == 0) {
        pending->sock = sock;
        r = try_connect(pending);
        pending->retry = pending->address.ss_family == AF_UNIX;
    }
    if (r != NOTIFY_LATER) {
        pending->sock = -1;
        brief_close(&sock);
        fd_close(&pending->target);
    }
    return r;
}

int notify_connect_again(struct notify_pending *pending)
{
    int error = 0;
    socklen_t len = sizeof error;
    struct pollfd ready = {.fd = pending->sock, .events = POLLOUT};

    if (pending->retry)
        return try_connect(pending);
    if (poll(&ready, 1, 0) <= 0)
        return NOTIFY_LATER;
    if (getsockopt(pending->sock, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    return -error;
}
