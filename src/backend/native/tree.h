/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of one run among all of a sandbox, for init. */
#pragma once

#include <sys/types.h>

/*
 * Signal every process of the session that `leader` leads, and all that descend from it. SIGKILL is
 * repeated until none is left; with any other signal those that are stopped go on. A process that has
 * left both the session and the family is nobody's any more, and lives.
 */
void tree_signal(pid_t leader, int signal);
