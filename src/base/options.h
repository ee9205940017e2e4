/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of options that can grow: the first field of each is its size. */
#pragma once

#include <stddef.h>

#include <hutch.h>

/*
 * The caller's options over the defaults that are in *known already; `given` may be NULL. The caller's
 * struct may be older (smaller) or newer (larger) than ours: what both know is taken.
 */
int options_read(const void *given, void *known, size_t known_size, struct hutch_error *err);
