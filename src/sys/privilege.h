/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up privilege for good. */
#pragma once

/* Empty all five capability sets, for this thread and everything it will start. */
int sys_drop_capabilities(void);

/* No exec gives privileges any more. */
int sys_no_new_privs(void);

/* /proc/PID of this process is closed to everybody without privilege over its user namespace. */
int sys_undumpable(void);
