/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups outlive everybody who was in them. When their engine ends, whether in order or by SIGKILL, this
 * process of its own removes them: the janitor, which waits for that and does nothing else.
 *
 * Should: be there before the first group is, and shares the engine's memory, so that it costs little.
 * Mustn't: hold anything of the engine's open, or do anything on a signal meant for it.
 *
 * An engine that execs another program without closing its sandboxes has not ended: what they had stays until it does.
 *
 * A struct of zeros is none.
 */
#pragma once

#include <sys/types.h>

#include <hutch.h>

#include "backend/native/cgroup.h"

struct janitor {
    pid_t pid; /* 0: none */
    pid_t engine;
    char group[NATIVE_CGROUP_NAME_MAX];
    int parents[CONTROLLER_COUNT]; /* -1: none */
    _Alignas(16) char stack[4096];
};

/* The struct must stay where it is until janitor_dismiss(), or until this process has ended. */
int janitor_start(struct janitor *janitor, const struct plan *plan, struct hutch_error *err);

/* There is nothing to remove any more. */
void janitor_dismiss(struct janitor *janitor);
