/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that the filter asks about, answered by init.
 *
 * connect() is done here, on the caller's own socket and from a copy of its arguments, so that what
 * was checked is what happens. For a pair of datagram sockets the caller gets one of another kind, which can
 * do no harm. Everything else that is asked about is refused, and told.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "backend/native/proto.h"
#include "plan/plan.h"
#include "sys/seccomp.h"

#define NOTIFY_PENDING 16

/* Runs with a pair that its caller has yet to take; all of this is written to when a sandbox begins. */
#define NOTIFY_PAIRS 8

/* A connect() that could not be finished at once; its caller waits. */
struct notify_pending {
    int sock;     /* -1: free */
    int listener; /* where the caller waits */
    uint64_t id;
    bool retry; /* a unix listener with a full backlog: there is nothing to poll for */
    socklen_t len;
    struct sockaddr_storage address;
    int target; /* the socket file the address names, or -1 */
};

/*
 * A socketpair() whose caller has yet to take what it is given. One for each run, which waits with it: who keeps
 * callers from running keeps no other run waiting.
 */
struct notify_pair {
    int ends[2];     /* -1: there is none */
    int number;      /* that the caller has for the first end; less than 0: none yet */
    size_t listener; /* its index */
    struct sys_seccomp_call call;
};

struct notify {
    const struct plan *plan;
    dev_t own; /* the file system that only this sandbox can make sockets on */
    struct {
        int fd; /* -1: free */
        uint32_t run;
        bool ended;  /* to be closed when there is time */
        bool giving; /* a pair, which its caller has yet to take: nothing else is heard here */
    } listeners[PROTO_LISTENERS_MAX];
    struct notify_pending pending[NOTIFY_PENDING];
    struct notify_pair pairs[NOTIFY_PAIRS];
    size_t turn; /* the pair that was tried last */
    void (*report)(void *arg, uint32_t run, const struct proto_violation *violation);
    void *arg;
};

void notify_init(struct notify *notify, const struct plan *plan, dev_t own);

/* Whether one more listener could be added. */
bool notify_has_room(const struct notify *notify);

/* Serve the questions of a run. There must be room. Takes the listener. */
void notify_add(struct notify *notify, int listener, uint32_t run);

/* Add what is to be polled to `fds` (room for PROTO_LISTENERS_MAX + NOTIFY_PENDING). */
size_t notify_poll_set(const struct notify *notify, struct pollfd *fds);

/* How long poll() may sleep, in ms; -1: for ever. */
int notify_timeout(const struct notify *notify);

/* Serve what is ready. `fds` as notify_poll_set() filled it. */
void notify_serve(struct notify *notify, const struct pollfd *fds, size_t count);

/* Whether nobody of this run is left who could ask. The end of its command is not known for a moment then. */
bool notify_has_ended(const struct notify *notify, uint32_t run);

/*
 * Close listeners whose commands have all ended. That is known before the end of the last one is, and the kernel
 * has a lot to take apart then: who waits for that end comes first.
 */
void notify_drop_ended(struct notify *notify);

/* connect.c: do a connect(). Returns its result, or NOTIFY_LATER with `pending` filled. */
#define NOTIFY_LATER 1
int notify_connect(struct notify *notify, int listener, const struct sys_seccomp_call *call,
                   struct notify_pending *pending, struct proto_violation *violation);

/* Try again, or see how it ended. Returns as above. */
int notify_connect_again(struct notify_pending *pending);

/* pair.c: whether a call is for a pair of datagram sockets. */
bool notify_is_pair(const struct sys_seccomp_call *call);

/* Make one. Returns the call's result, or NOTIFY_LATER with `pair` filled; so does who tries again. */
int notify_pair(int listener, const struct sys_seccomp_call *call, struct notify_pair *pair);
int notify_pair_again(int listener, struct notify_pair *pair);
