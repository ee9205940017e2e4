/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socketpair() of datagram sockets on behalf of a command.
 *
 * A datagram socket sends to whatever path each message names, also when it is one of a pair, and that path may
 * be the host's. So the caller gets a pair of sequenced packets, as it could make itself: messages stay
 * apart there too, and the kernel ignores what they name.
 *
 * Init makes the pair, the kernel gives its ends to the caller, init writes their numbers to the caller's memory:
 *
 *  - What the caller has got cannot be taken back, so what is bound to fail is found out before: whether there
 *    are two numbers left, and whether there is memory to write them to, as the caller itself could. Who changes
 *    either meanwhile keeps descriptors that it was not told of.
 *  - The caller itself takes what it is given, when it runs the next time, and others may keep it from running: an
 *    alarm ends the wait, and it is tried again later.
 *  - Other threads have the ends as soon as the caller does, and leave in them what they like; init's
 *    close() may be the last.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "backend/native/brief.h"
#include "backend/native/notify.h"
#include "sys/process.h"
#include "sys/ret.h"

/* socketpair(domain, type, protocol, numbers); the kernel takes the first three as int. */
#define DOMAIN(call) ((int)(call)->args[0])
#define TYPE(call) ((int)(call)->args[1])
#define PROTOCOL(call) ((int)(call)->args[2])
#define NUMBERS(call) ((call)->args[3])

#define TYPE_MASK 0xf /* the rest are flags */

bool notify_is_pair(const struct sys_seccomp_call *call)
{
    int type = TYPE(call) & TYPE_MASK;

    /* A raw unix socket is a datagram socket to the kernel. */
    return call->nr == SYS_socketpair && DOMAIN(call) == AF_UNIX &&
           (type == SOCK_DGRAM || type == SOCK_RAW);
}

/* With the caller's flags and protocol, for the kernel to refuse what it does not know. */
static int make_ends(const struct sys_seccomp_call *call, int ret[2])
{
    int flags = TYPE(call) & ~TYPE_MASK;
    int ends[2];
    int r = ret_errno(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, PROTOCOL(call), ends));

    /* A call that fails leaves numbers behind, too: of descriptors that are somebody else's next. */
    if (r == 0)
        memcpy(ret, ends, sizeof ends);
    return r;
}

static int write_numbers(int listener, const struct sys_seccomp_call *call, int first, int second)
{
    const int numbers[] = {first, second};

    /*
     * Right before: the pid is the caller's for as long as that waits. Should it be another's a moment later, then
     * one of the same sandbox; init's own memory, which the next command's process shares, is closed
     * to everybody, and that process cannot come to be meanwhile.
     */
    if (!sys_seccomp_waits(listener, call->id))
        return -EINTR;
    return sys_memory_write((pid_t)call->pid, NUMBERS(call), numbers, sizeof numbers);
}

/* Returns the number of the second end; -EINTR when the caller could not take both yet. */
static int give_ends(int listener, struct notify_pair *pair)
{
    bool close_on_exec = TYPE(&pair->call) & SOCK_CLOEXEC;
    struct brief brief;
    int r = brief_begin(&brief);

    if (r < 0)
        return r;
    if (pair->number < 0)
        pair->number = r = sys_seccomp_give(listener, pair->call.id, pair->ends[0], close_on_exec);
    if (r >= 0)
        r = sys_seccomp_give(listener, pair->call.id, pair->ends[1], close_on_exec);
    brief_end(&brief);
    return r;
}

static void drop_ends(struct notify_pair *pair)
{
    brief_close(&pair->ends[0]);
    brief_close(&pair->ends[1]);
}

/* Whether it would come to an end: nothing that is given can be taken back. */
static int check_caller(int listener, const struct sys_seccomp_call *call)
{
    if (!sys_has_descriptors((pid_t)call->pid, 2))
        return -EMFILE;
    return write_numbers(listener, call, -1, -1);
}

int notify_pair_again(int listener, struct notify_pair *pair)
{
    int r = give_ends(listener, pair);

    if (r == -EINTR)
        return NOTIFY_LATER;
    if (r >= 0)
        r = write_numbers(listener, &pair->call, pair->number, r);
    drop_ends(pair);
    return r;
}

int notify_pair(int listener, const struct sys_seccomp_call *call, struct notify_pair *pair)
{
    *pair = (struct notify_pair){.ends = {-1, -1}, .number = -1, .call = *call};

    int r = make_ends(call, pair->ends);
    if (r < 0)
        return r;
    r = check_caller(listener, call);
    if (r == 0)
        return notify_pair_again(listener, pair);
    drop_ends(pair);
    return r;
}
