/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox as the calls on its files need it. */
#pragma once

#include <hutch.h>

#include "work/work.h"

/* Where its files are, and with whose rights. HUTCH_ESTATE when it has ended. Borrowed from it. */
int sandbox_work(struct hutch_sandbox *sandbox, struct work *ret, struct hutch_error *err);
