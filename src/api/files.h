/* SPDX-License-Identifier: Apache-2.0 */
/* What all calls about files begin with. */
#pragma once

#include "api/held.h"
#include "work/work.h"

/* `result` is what held_new() gave: NULL is an error too. */
int files_begin(struct hutch_sandbox *sandbox, const void *result, struct work *ret,
                struct hutch_error *err);

/*
 * The caller's options over the defaults that are in *known already; `given` may be NULL. The caller's
 * struct may be older (smaller) or newer (larger) than ours: what both know is taken.
 */
int files_options(const void *given, void *known, size_t known_size, struct hutch_error *err);
