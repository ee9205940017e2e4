/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving one setting its value: what JSON and flags have in common. Single values replace, lists
 * append (an entry said twice is one entry), a map's name replaces its value in place.
 * One thread at a time for each policy.
 */
#pragma once

#include "policy/policy.h"

/* Who says it. */
struct set_source {
    const char *origin; /* kept with the value, and the place that errors name; printable */
    bool from_flag;
    bool from_profile;
    bool constant; /* the origin, names and texts outlive every policy: they are not copied */
    bool distinct; /* the list has no such entry yet: it is not searched for one */
};

/* From text: a number, word or path, or one entry of a list. Not for maps. */
int set_text(struct policy *policy, enum policy_id id, const char *text,
             const struct set_source *source, struct hutch_error *err);

/* One name and value of a map. */
int set_entry(struct policy *policy, enum policy_id id, const char *name, const char *text,
              const struct set_source *source, struct hutch_error *err);

/* One entry of a list. */
int set_item(struct policy *policy, enum policy_id id, const char *text,
             const struct set_source *source, struct hutch_error *err);

/* A list or map was given, maybe with no entries: those it has stay. */
int set_list(struct policy *policy, enum policy_id id, const struct set_source *source,
             struct hutch_error *err);

/* No entries, and no value any more. */
int set_nothing(struct policy *policy, enum policy_id id, const struct set_source *source,
                struct hutch_error *err);

/* The index of `word` in "one|two|three", or -1. */
int set_word_index(const char *values, const char *word);
