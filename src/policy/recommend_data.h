/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recommended limits: scripts/gen-limits makes limits_data.c of data/limits.json. Lists are words
 * one behind another, each with its NUL, and an empty word at the end: hundreds of pointers would
 * cost every start of the command their relocation.
 */
#pragma once

#include <stddef.h>

struct recommend_kind {
    const char *kind;     /* "compiler" */
    const char *reason;   /* one line */
    const char *limits;   /* key and value by turns: "timeout", "3m", "memory", "2G" */
    const char *commands; /* "gcc", "npm install", "*-gcc" */
};

/* The first is that of commands which are not known. */
extern const struct recommend_kind recommend_kinds[];
extern const size_t recommend_kind_count;

/* Programs that run another command: "1timeout" has one word of its own before that. */
extern const char recommend_wrappers[];
extern const char recommend_shells[];   /* run the script after -c */
extern const char recommend_preludes[]; /* may stand before the one command of a script: "cd" */
extern const char recommend_options[];  /* those with a value in the next word: "git -C" */
