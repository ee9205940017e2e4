/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of one run among all of a sandbox. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * Signal every process of the session that `leader` leads, and all that descend from it. SIGKILL is
 * repeated until none is left; with any other signal those that are stopped go on. A process that has
 * left both the session and the family is nobody's any more, and lives.
 */
void tree_signal(pid_t leader, int signal);

/*
 * CPU time of the same processes, and of those they have waited for, in ticks of the clock. For the engine:
 * `proc` is the root of the sandbox's /proc, and `leader` a pid there.
 */
int tree_cpu_ticks(int proc, pid_t leader, uint64_t *ret);
