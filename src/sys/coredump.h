/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel takes the memory of processes that crash: kernel.core_pattern, the same for all of a host. */
#pragma once

/*
 * Whether it goes to a socket, for whoever listens there, which no limit of a process keeps it from (Linux 6.16):
 * 1, 0, or -errno when that cannot be known.
 */
int sys_coredump_to_socket(void);
