/* SPDX-License-Identifier: Apache-2.0 */
/* What all calls about files begin with. */
#pragma once

#include "api/held.h"
#include "work/work.h"

/*
 * A protected path that does not exist is undone when it appears, so that writing it would seem to succeed:
 * HUTCH_EDENIED for one that is written as such.
 */
int files_check_watched(const struct hutch_sandbox *sandbox, const char *path, struct arena *arena,
                        struct hutch_error *err);

/* `result` is what held_new() gave: NULL is an error too. */
int files_begin(struct hutch_sandbox *sandbox, const void *result, struct work *ret,
                struct hutch_error *err);
