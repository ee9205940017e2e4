/* SPDX-License-Identifier: Apache-2.0 */
/* The loopback interface of a new network namespace. */
#pragma once

/* Bring "lo" up; the kernel then gives it 127.0.0.1 and ::1. */
int sys_loopback_up(void);
