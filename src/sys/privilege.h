/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up privilege for good. */
#pragma once

/* No exec can give a capability any more: empties the ambient and the bounding set. Leaves errno alone. */
int sys_drop_bounding(void);

/* And this thread has none itself: empties the other three sets. */
int sys_drop_capabilities(void);

/* No exec gives privileges any more. */
int sys_no_new_privs(void);

/* /proc/PID of this process is closed to everybody without privilege over its user namespace. */
int sys_undumpable(void);

/* A session keyring of one's own, empty. 0 too where the kernel has no keyrings. */
int sys_keyring_leave(void);
