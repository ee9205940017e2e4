/* SPDX-License-Identifier: Apache-2.0 */
/* What both forms of an explained plan use. */
#pragma once

#include "plan/plan.h"

const char *plan_why_name(enum mount_why why);
const char *plan_kind_name(enum mount_kind kind);

/* The plan's limits as they hold for this command, which may have a timeout of its own. */
void plan_explain_limits(const struct plan *plan, const struct plan_command *command,
                         struct plan_limit_row ret[PLAN_LIMIT_ROWS]);
