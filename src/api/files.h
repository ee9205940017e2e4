/* SPDX-License-Identifier: Apache-2.0 */
/* What all calls about files begin with. */
#pragma once

#include "api/held.h"
#include "work/work.h"

/* `result` is what held_new() gave: NULL is an error too. */
int files_begin(struct hutch_sandbox *sandbox, const void *result, struct work *ret,
                struct hutch_error *err);
