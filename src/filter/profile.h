/* SPDX-License-Identifier: Apache-2.0 */
/* A user's seccomp profile between reading (profile.c) and compiling (compile.c). In an arena. */
#pragma once

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/filter.h"

/* One call under one set of conditions, all of which must hold. */
struct profile_rule {
    int nr;
    uint32_t action; /* SCMP_ACT_ */
    const struct scmp_arg_cmp *args;
    unsigned arg_count;
};

struct profile {
    uint32_t default_action;
    struct profile_rule *rules;
    size_t rule_count;
    size_t rule_cap;
    int newest;     /* the highest number that the file names, -1 when none */
    size_t ignored; /* names that are no calls here */
};

int profile_read(const char *text, size_t len, const char *source, struct arena *arena,
                 struct profile *ret, struct hutch_error *err);

int profile_compile(const struct profile *profile, const char *source, struct arena *arena,
                    struct filter *ret, struct hutch_error *err);
