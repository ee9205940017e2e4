/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading init's answers, on the engine's side: bytes in, a checked event or -EPROTO out. Init lives
 * next to the untrusted: what it says is believed only as far as it makes sense.
 */
#pragma once

#include <stddef.h>

#include "backend/backend.h"
#include "backend/native/proto.h"

/*
 * Translate one message of `len` bytes. `command` is what its run was started with, NULL when there never
 * was such a run. ret->terminal is not touched: descriptors are the caller's matter.
 */
int answer_read(const struct plan *plan, const struct plan_command *command,
                const struct proto_answer *answer, size_t len, struct sandbox_event *ret);
