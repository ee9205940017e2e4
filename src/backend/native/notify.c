/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/brief.h"
#include "base/fd.h"
#include "base/str.h"
#include "sys/process.h"
#include "sys/procfs.h"

#define RETRY_MS 2

void notify_init(struct notify *notify, const struct plan *plan, dev_t own)
{
    memset(notify, 0, sizeof *notify);
    notify->plan = plan;
    notify->own = own;
    for (size_t i = 0; i < PROTO_LISTENERS_MAX; i++)
        notify->listeners[i].fd = -1;
    for (size_t i = 0; i < NOTIFY_PENDING; i++)
        notify->pending[i].sock = -1;
    for (size_t i = 0; i < NOTIFY_PAIRS; i++)
        notify->pairs[i].ends[0] = -1;
}

/* The index of a free place, PROTO_LISTENERS_MAX when there is none. */
static size_t find_free(const struct notify *notify)
{
    size_t i = 0;

    while (i < PROTO_LISTENERS_MAX && notify->listeners[i].fd >= 0)
        i++;
    return i;
}

bool notify_has_room(const struct notify *notify)
{
    return find_free(notify) < PROTO_LISTENERS_MAX;
}

void notify_add(struct notify *notify, int listener, uint32_t run)
{
    size_t i = find_free(notify);

    notify->listeners[i].fd = listener;
    notify->listeners[i].run = run;
    notify->listeners[i].ended = false;
    sys_seccomp_quick(listener);
}

size_t notify_poll_set(const struct notify *notify, struct pollfd *fds)
{
    size_t count = 0;

    for (size_t i = 0; i < PROTO_LISTENERS_MAX; i++)
        if (notify->listeners[i].fd >= 0 && !notify->listeners[i].ended &&
            !notify->listeners[i].giving)
            fds[count++] = (struct pollfd){.fd = notify->listeners[i].fd, .events = POLLIN};
    for (size_t i = 0; i < NOTIFY_PENDING; i++)
        if (notify->pending[i].sock >= 0 && !notify->pending[i].retry)
            fds[count++] = (struct pollfd){.fd = notify->pending[i].sock, .events = POLLOUT};
    return count;
}

int notify_timeout(const struct notify *notify)
{
    for (size_t i = 0; i < NOTIFY_PAIRS; i++)
        if (notify->pairs[i].ends[0] >= 0)
            return 0; /* giving it away sleeps as well */
    for (size_t i = 0; i < NOTIFY_PENDING; i++)
        if (notify->pending[i].sock >= 0)
            return RETRY_MS; /* also to notice a caller that was killed while it waited */
    return -1;
}

/*
 * The path that a refused call names, for people to read: it may have been changed since. Up to the
 * end of a page, which is where reading it could fail.
 */
static void read_path(const struct sys_seccomp_call *call, char *out, size_t size)
{
    static const struct {
        int nr;
        int arg;
    } calls[] = {{SYS_mount, 1},      {SYS_umount2, 0}, {SYS_chroot, 0},
                 {SYS_pivot_root, 0}, {SYS_swapon, 0},  {SYS_acct, 0}};

    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (calls[i].nr != call->nr)
            continue;
        uint64_t address = call->args[calls[i].arg];
        size_t len = 4096 - address % 4096;
        len = len < size - 1 ? len : size - 1;
        if (sys_memory_read((pid_t)call->pid, address, out, len) == 0)
            out[strnlen(out, len)] = '\0';
        else
            out[0] = '\0';
    }
}

static void tell(struct notify *notify, size_t index, const struct sys_seccomp_call *call,
                 struct proto_violation *violation)
{
    char comm[32];

    violation->pid = call->pid;
    violation->nr = call->nr;
    memcpy(violation->args, call->args, sizeof violation->args);
    if (violation->kind == VIOLATION_SYSCALL)
        read_path(call, violation->text, sizeof violation->text);
    if (sys_proc_read((pid_t)call->pid, "comm", comm, sizeof comm) > 0) {
        comm[strcspn(comm, "\n")] = '\0';
        memcpy(violation->command, comm, sizeof violation->command - 1);
    }
    notify->report(notify->arg, notify->listeners[index].run, violation);
}

static struct notify_pending *free_pending(struct notify *notify)
{
    for (size_t i = 0; i < NOTIFY_PENDING; i++)
        if (notify->pending[i].sock < 0)
            return &notify->pending[i];
    return NULL;
}

static int begin_pair(struct notify *notify, size_t index, const struct sys_seccomp_call *call)
{
    struct notify_pair *pair = notify->pairs;

    while (pair < notify->pairs + NOTIFY_PAIRS && pair->ends[0] >= 0)
        pair++;
    if (pair == notify->pairs + NOTIFY_PAIRS)
        return -EAGAIN;
    int r = notify_pair(notify->listeners[index].fd, call, pair);
    pair->listener = index;
    notify->listeners[index].giving = r == NOTIFY_LATER;
    return r;
}

static void serve_call(struct notify *notify, size_t index, const struct sys_seccomp_call *call)
{
    int listener = notify->listeners[index].fd;
    struct proto_violation violation = {.kind = VIOLATION_SYSCALL};
    struct notify_pending *pending = free_pending(notify);
    bool is_pair = notify_is_pair(call);
    int r = -EPERM;

    if (call->nr == SYS_connect)
        r = pending ? notify_connect(notify, listener, call, pending, &violation) : -EAGAIN;
    else if (is_pair)
        r = begin_pair(notify, index, call);
    if (r == NOTIFY_LATER)
        return;
    /* Told first: its maker waits, and can be looked at. */
    if ((call->nr != SYS_connect && !is_pair) || violation.kind == VIOLATION_SOCKET)
        tell(notify, index, call, &violation);
    sys_seccomp_answer(listener, call->id, r);
}

static void serve_listener(struct notify *notify, size_t index, short events)
{
    struct sys_seccomp_call call;

    if (!(events & POLLIN))
        notify->listeners[index].ended = true; /* nobody is left who could ask */
    else if (sys_seccomp_receive(notify->listeners[index].fd, &call) == 0)
        serve_call(notify, index, &call);
}

/* PROTO_LISTENERS_MAX when it is not one. */
static size_t find_listener(const struct notify *notify, int fd)
{
    size_t index = 0;

    while (index < PROTO_LISTENERS_MAX && notify->listeners[index].fd != fd)
        index++;
    return index;
}

static void serve_pending(struct notify_pending *pending)
{
    int r = sys_seccomp_waits(pending->listener, pending->id) ? notify_connect_again(pending)
                                                              : -EINTR;

    if (r == NOTIFY_LATER)
        return;
    sys_seccomp_answer(pending->listener, pending->id, r);
    brief_close(&pending->sock);
    fd_close(&pending->target);
}

/* One at a time: each may take a while, and everything else has its turn in between. */
static void serve_pairs(struct notify *notify)
{
    size_t index = notify->turn;
    size_t left = NOTIFY_PAIRS;

    do
        index = (index + 1) % NOTIFY_PAIRS;
    while (notify->pairs[index].ends[0] < 0 && --left > 0);
    if (left == 0)
        return;
    notify->turn = index;
    struct notify_pair *pair = &notify->pairs[index];
    int listener = notify->listeners[pair->listener].fd;
    int r = notify_pair_again(listener, pair);
    if (r == NOTIFY_LATER)
        return;
    notify->listeners[pair->listener].giving = false;
    sys_seccomp_answer(listener, pair->call.id, r);
}

void notify_serve(struct notify *notify, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t index = fds[i].revents ? find_listener(notify, fds[i].fd) : PROTO_LISTENERS_MAX;
        if (index < PROTO_LISTENERS_MAX)
            serve_listener(notify, index, fds[i].revents);
    }
    for (size_t i = 0; i < NOTIFY_PENDING; i++)
        if (notify->pending[i].sock >= 0)
            serve_pending(&notify->pending[i]);
    serve_pairs(notify);
}

bool notify_has_ended(const struct notify *notify, uint32_t run)
{
    for (size_t i = 0; i < PROTO_LISTENERS_MAX; i++)
        if (notify->listeners[i].ended && notify->listeners[i].run == run)
            return true;
    return false;
}

void notify_drop_ended(struct notify *notify)
{
    for (size_t i = 0; i < PROTO_LISTENERS_MAX; i++)
        if (notify->listeners[i].ended) {
            fd_close(&notify->listeners[i].fd);
            notify->listeners[i].ended = false;
        }
}
