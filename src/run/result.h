/* SPDX-License-Identifier: Apache-2.0 */
/* Results: made here, read by everybody, freed at once. */
#pragma once

#include <hutch.h>

#include "base/arena.h"

/*
 * An empty result with its size set; NULL when out of memory. Free it with result_free(). `only`: many of them
 * are not expected.
 */
struct hutch_result *result_new(bool only);
void result_free(struct hutch_result *result);

/* Strings that must live as long as the result. */
struct arena *result_arena(struct hutch_result *result);

/* Give captured output to the result, which frees it. */
void result_give_output(struct hutch_result *result, int stream, char *data, size_t len);

/* The exit status that `hutch run` has for it. */
int result_status(const struct hutch_result *result);
