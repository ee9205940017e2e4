/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of one run among all of a sandbox. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TREE_SEEN_MAX 256

struct tree_member {
    pid_t leader;
    pid_t pid;
    uint64_t start; /* in ticks: with the pid it tells one process from another */
};

/* Who was in a tree when it was signalled: the end of others does not put it out of that tree. */
struct tree_seen {
    size_t count;
    struct tree_member members[TREE_SEEN_MAX];
};

/*
 * Signal every process of the session that `leader` leads, all that descend from it, and those that were
 * signalled with it before. SIGKILL is repeated until none is left; with any other signal those that are
 * stopped go on. A process that had left both the session and the family before is nobody's, and lives.
 */
void tree_signal(pid_t leader, int signal, struct tree_seen *seen);

/* The leader has ended: what was signalled with it, and lives, is killed. A tree that never was lives on. */
void tree_end(struct tree_seen *seen, pid_t leader);

/*
 * CPU time of the same processes, and of those they have waited for, in ticks of the clock. For the engine:
 * `proc` is the root of the sandbox's /proc, and `leader` a pid there.
 */
int tree_cpu_ticks(int proc, pid_t leader, uint64_t *ret);
