/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the nearest of some words to one that was mistyped. Any thread. */
#pragma once

#include <stddef.h>

struct suggest {
    const char *word;
    const char *best;
    size_t distance; /* of `best` */
};

void suggest_init(struct suggest *suggest, const char *word);
void suggest_offer(struct suggest *suggest, const char *candidate);

/* The nearest word offered, or NULL when none is near enough to be a typing mistake. */
const char *suggest_best(const struct suggest *suggest);
