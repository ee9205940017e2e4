/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents and profiles call each other through "extends": what json.c and profile.c need of one
 * another. One thread at a time for each policy.
 */
#pragma once

#include "policy/policy.h"

/* The largest document, a profile or any other. */
#define POLICY_JSON_MAX ((size_t)1 << 20)

/* The profiles being merged right now, innermost first: what finds a cycle. */
struct merge_chain {
    const char *name;
    const struct merge_chain *outer;
};

/* `where` is the place that names the profile. */
int merge_profile(struct policy *policy, const char *name, const char *where,
                  const struct merge_chain *chain, struct hutch_error *err);

/* `source` as messages name it: "policy.json", "profile default". `chain` NULL: it is no profile. */
int merge_document(struct policy *policy, const char *json, size_t len, const char *source,
                   const struct merge_chain *chain, struct hutch_error *err);
