/* SPDX-License-Identifier: Apache-2.0 */
/* Init reports numbers; here they become sentences, on the engine's side. */
#pragma once

#include <hutch.h>

#include "backend/backend.h"
#include "backend/native/proto.h"
#include "plan/plan.h"

/* The name of a step, as in `setup_ms` and in `where` of an error. */
const char *native_step_name(enum proto_step step);

/* Fill *err for a failed set-up. Returns its code. */
int native_describe_setup(const struct plan *plan, enum proto_step step, uint32_t index, int error,
                          struct hutch_error *err);

/* Fill *err for a command that could not be started. Returns its code. */
int native_describe_exec(const struct plan_command *command, enum proto_exec_step step, int error,
                         struct hutch_error *err);

/* Of struct backend. */
const char *native_blamed_fact(const struct hutch_error *error);

/* What was refused, in words. */
void native_describe_violation(const struct proto_violation *violation,
                               struct sandbox_violation *ret);
