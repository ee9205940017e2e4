/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of each system call, as tables that tools/gen-filters turns into programs for the
 * kernel. docs/security/syscalls.md says why. Single-threaded.
 */
#pragma once

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* Verdicts. They are never 0, so that a verdict which was not given is noticed. */
#define ALLOW SECCOMP_RET_ALLOW
#define NOTIFY SECCOMP_RET_USER_NOTIF
#define FAIL(error) (SECCOMP_RET_ERRNO | (uint32_t)(error))

enum rule_test {
    RULE_END = 0,
    RULE_EQUAL,    /* (low half & mask) == value */
    RULE_BITS,     /* (low half & mask) != 0 */
    RULE_HIGH_BITS /* (high half & mask) != 0 */
};

/*
 * A test of one argument. The kernel takes most arguments as int and drops their high halves, so
 * tests look at what it uses: the low half, unless the parameter is a long that it reads whole.
 */
struct rule_check {
    enum rule_test test;
    unsigned arg;
    uint32_t mask;
    uint32_t value;
};

#define LOW(arg, value)                                                                            \
    {                                                                                              \
        RULE_EQUAL, arg, 0xffffffff, value                                                         \
    }
#define MASKED(arg, mask, value)                                                                   \
    {                                                                                              \
        RULE_EQUAL, arg, mask, value                                                               \
    }
#define BITS(arg, mask)                                                                            \
    {                                                                                              \
        RULE_BITS, arg, mask, 0                                                                    \
    }
#define HIGH_BITS(arg)                                                                             \
    {                                                                                              \
        RULE_HIGH_BITS, arg, 0xffffffff, 0                                                         \
    }

#define RULE_CHECKS 4

/* Holds when all its checks do. The first of a list that holds decides; the last has no checks. */
struct rule {
    struct rule_check checks[RULE_CHECKS];
    uint32_t then;
};

/* One of the two is set; neither where a verdict is left to another column. */
struct rule_verdict {
    uint32_t ret;
    const struct rule *rules;
};

/* Whom a group binds beside commands under `default` and `strict`. */
enum rule_hold {
    HOLD_NOTHING = 0,
    HOLD_FLOOR, /* commands under a user's own filter too: `floor` */
    HOLD_INIT,  /* and PID 1: `init` and `floor` */
};

struct rule_group {
    const char *calls; /* names, separated by spaces; what an architecture lacks is left out */
    struct rule_verdict normal;
    struct rule_verdict strict; /* not set: as `normal` */
    enum rule_hold hold;
    const char *hint; /* when a verdict is NOTIFY: what the policy would need to say */
};

extern const struct rule_group rule_groups[];
extern const size_t rule_group_count;

/* The one rule of the filter `no-unix`. */
extern const struct rule rule_no_unix[];
