/* SPDX-License-Identifier: Apache-2.0 */
/* What the public policy handle is. */
#pragma once

#include "policy/policy.h"

struct hutch_policy {
    struct policy policy;
};
