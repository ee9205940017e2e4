/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places around hutch where something is not as on this host, entered by a child before it becomes hutch (`before`
 * of drive_start()). Where one cannot be had the child ends with NO_PLACE.
 */
#pragma once

#define NO_PLACE 93

/* A user namespace of one's own, in which one is user `inside`; of root's, that of an ordinary user. */
void place_user_namespace(unsigned inside, int flags);

/* A mount namespace of one's own. The caller's id stays what it is. */
void place_mount_namespace(void);
