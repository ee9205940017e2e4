/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of a sandbox from the caller's own systemd: a transient scope "hutch-ID.scope" with
 * the plan's limits, for callers who may not make groups themselves (plan_cgroup.unit).
 *
 * Systemd is asked for it, and moves init into it; what it says is not relied on. The kernel is asked
 * where init is, and whether the limits there are those of the plan. Systemd removes the scope as soon
 * as no process is left in it, also when the engine was killed; so init stays until the engine has
 * measured for the last time. Only when init ends while systemd is starting the scope, systemd may not
 * notice: such a scope, which is empty, is swept away by a later run.
 */
#pragma once

#include <sys/types.h>

#include "backend/native/cgroup.h"

/*
 * Put `init` into a group of its own, and *cgroup on top of it, to be measured and cleared like any
 * other. Init must not have started anything. The plan must outlive the group. Waits for systemd, but
 * not for ever. On failure *cgroup is untouched, and init may be in a group or not: end it.
 */
int native_unit_start(struct native_cgroup *cgroup, const struct plan *plan, pid_t init,
                      struct hutch_error *err);

/*
 * Have systemd stop scopes of ours that are empty and some time old, next to the one of *cgroup; that
 * of live sandboxes never are. Takes a moment, and longer only when there are some. Not for groups that
 * are no scopes.
 */
void native_unit_sweep(const struct native_cgroup *cgroup, const struct plan *plan);
