/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protected paths that do not exist. The kernel cannot be told to refuse a name, so init watches the
 * directories in which one would have to be created, removes what appears, and tells.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/native/proto.h"
#include "plan/plan.h"

#define WATCH_DIRECTORIES 32
#define WATCH_SIGNAL SIGIO
#define WATCH_REMAINS 16
#define WATCH_REMAINS_NAME 64

/* Something that was undone, out of the way and not removed yet. */
struct watch_remains {
    int dir;
    char name[WATCH_REMAINS_NAME];
};

struct watch {
    const struct plan *plan;
    int directories[WATCH_DIRECTORIES]; /* open, each tells of changes by WATCH_SIGNAL */
    size_t count;
    bool polls; /* a directory could not be watched: look every now and then */
    struct watch_remains remains[WATCH_REMAINS];
    size_t remains_count;
    unsigned remains_number; /* of the next one's name */
    void (*report)(void *arg, uint32_t run, const struct proto_violation *violation);
    void *arg;
};

/*
 * Open the directories of the plan's watches, before anything runs that could close them to us. The
 * first ones in `directories` are theirs, in the plan's order.
 */
int watch_open(struct watch *watch, const struct plan *plan);

/*
 * Look when something in this directory changes, too; where that cannot be told, every now and then. Takes
 * *fd, which may be -errno. Fails only when it cannot be looked at.
 */
int watch_add(struct watch *watch, int *fd);

/*
 * Look at every watched path: follow directories that have appeared, undo what must not be, remove some of
 * what was undone. To be called at first, on every WATCH_SIGNAL, and after watch_timeout().
 */
void watch_look(struct watch *watch);

/* The same when everything has ended: remove it all, if that can be done in a few seconds. */
void watch_end(struct watch *watch);

/* How long to wait for the signal before looking again anyway, in ms; -1: for ever. */
int watch_timeout(const struct watch *watch);
