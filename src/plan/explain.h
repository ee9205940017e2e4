/* SPDX-License-Identifier: Apache-2.0 */
/* Words that both forms of an explained plan use. */
#pragma once

#include "plan/plan.h"

const char *plan_why_name(enum mount_why why);
const char *plan_kind_name(enum mount_kind kind);
