/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of methods: dispatch looks a method up in it, calls are checked against it, server.info,
 * docs/rpc.md and hutch-rpc(1) are made from it. To add a method: one function, one row. In texts,
 * `names` are marked as in Markdown.
 */
#pragma once

#include "cli/rpc/params.h"
#include "cli/rpc/server.h"

struct method {
    const char *name;
    method_fn *run;             /* NULL: `file` instead */
    const struct param *params; /* end with an empty name */
    const char *help;           /* sentences */
    const char *result;         /* "{run}" */
    file_fn *file;              /* a call about files */
    bool any_time; /* changes nothing: it may overtake calls about files of its sandbox */
};

/* Sorted by name; ends with a NULL name. */
extern const struct method methods[];

/* The row called `name`, or NULL. */
const struct method *method_find(const char *name);

/* document.c: all of them on stdout, as Markdown and as scdoc. */
void methods_markdown(void);
void methods_scdoc(void);
