/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits for a command, by its name and its first words. Nothing is looked up on the host and
 * nothing can fail but memory: a command that is not known gets the limits of the profile `default`.
 * Any thread.
 */
#pragma once

#include "policy/policy.h"

struct recommend_kind;

struct recommendation {
    const struct recommend_kind *kind;
    const char *command; /* what was recognized: "npm install"; NULL when nothing was */
};

/* `argv` ends with NULL. */
struct recommendation recommend_find(const char *const *argv);

/* The same for a caller of the library: one allocation, freed with free(). NULL: out of memory. */
struct hutch_suggestion *recommend_pack(struct recommendation found);

/* Give the policy these limits. A command that is not known leaves it as it is. */
int recommend_apply(struct policy *policy, struct recommendation found, struct hutch_error *err);
