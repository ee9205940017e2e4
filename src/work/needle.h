/* SPDX-License-Identifier: Apache-2.0 */
/* What grep looks for: a text or a regular expression. */
#pragma once

#include "work/rx.h"
#include "work/work.h"

struct needle {
    const char *text; /* lower case with `fold` */
    size_t len;
    bool fold;
    bool regex;
    struct rx rx;
};

/* Returns 0 or HUTCH_*, with *err filled. All of it lives in `arena`. */
int needle_init(struct needle *needle, const char *pattern, bool regex, bool ignore_case,
                struct arena *arena, struct hutch_error *err);

/* Lower case of an ASCII letter; anything else as it is. */
char needle_lower(char c);
