/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox as the calls on its files need it. */
#pragma once

#include <hutch.h>

#include "base/arena.h"
#include "work/work.h"

/* Where its files are, and with whose rights. HUTCH_ESTATE when it has ended. Borrowed from it. */
int sandbox_work(struct hutch_sandbox *sandbox, struct work *ret, struct hutch_error *err);

/* Tell that a call has written the file `path`, absolute inside. */
void sandbox_file_written(const struct hutch_sandbox *sandbox, const char *path, uint64_t size);

/*
 * A protected path that does not exist is undone when it appears, so that writing it would seem to succeed:
 * HUTCH_EDENIED for one that is written as such.
 */
int sandbox_check_watched(const struct hutch_sandbox *sandbox, const char *path,
                          struct arena *arena, struct hutch_error *err);
