/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces. */
#pragma once

/* Move the calling process into a new network namespace, in which everything is down. */
int sys_network_new(void);

/* A close-on-exec descriptor of the caller's network namespace. */
int sys_network_open(void);

/* Move the calling process into the network namespace `ns`. */
int sys_network_enter(int ns);

/* Take the loopback of the caller's network namespace up: the kernel then gives it 127.0.0.1 and ::1. */
int sys_network_up(void);
