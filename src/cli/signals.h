/* SPDX-License-Identifier: Apache-2.0 */
/* Signals sent to `hutch run`, as a descriptor to poll. For the one thread of the program. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include <hutch.h>

struct signals {
    int fd;         /* readable when a signal is waiting; -1 when closed */
    bool stop;      /* TSTP is one of them; set before they are opened */
    sigset_t saved; /* the mask as it was */
};

#define SIGNALS_INIT                                                                               \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/*
 * From now on INT, QUIT, TERM, HUP, WINCH and, when `stop`, TSTP wait here instead of acting. Those that
 * are ignored (as under nohup) stay ignored. TTIN and TTOU are not for waiting: blocked, they would let
 * us at a terminal that is somebody else's.
 */
int signals_open(struct signals *signals, struct hutch_error *err);

/* The next waiting signal, or 0. */
int signals_next(struct signals *signals);

/* What a signal that was waiting does by itself. After one that stops us: when we are continued. */
void signals_act(int signal);

/* Signals act again. May be called again. */
void signals_close(struct signals *signals);

#define signals_auto __attribute__((cleanup(signals_close)))
