/* SPDX-License-Identifier: Apache-2.0 */
/* Signals sent to `hutch run`, as a descriptor to poll. For the one thread of the program. */
#pragma once

#include <signal.h>

#include <hutch.h>

struct signals {
    int fd;         /* readable when a signal is waiting; -1 when closed */
    sigset_t saved; /* the mask as it was */
};

#define SIGNALS_INIT                                                                               \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/*
 * From now on INT, QUIT, TERM, HUP and WINCH wait here instead of acting. Those that are ignored
 * (as under nohup) stay ignored.
 */
int signals_open(struct signals *signals, struct hutch_error *err);

/* The next waiting signal, or 0. */
int signals_next(struct signals *signals);

/* Signals act again. May be called again. */
void signals_close(struct signals *signals);

#define signals_auto __attribute__((cleanup(signals_close)))
