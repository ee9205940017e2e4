/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that run inside of sandboxes and do what their arguments say: "VERB ARG... , VERB ARG...".
 * Their file with main() calls verbs_run().
 */
#pragma once

#include <stdio.h>
#include <string.h>

#define EXIT_USAGE 99

struct verb {
    const char *name;
    int args; /* how many it needs; more are its options */
    void (*fn)(char **args);
};

/* "EROFS" and the like; "ok" for 0. */
static inline const char *verbs_error(int error)
{
    return error ? strerrorname_np(error) : "ok";
}

static inline const struct verb *verbs_find(const struct verb *const *tables, const char *name)
{
    for (; *tables; tables++)
        for (const struct verb *verb = *tables; verb->name; verb++)
            if (strcmp(verb->name, name) == 0)
                return verb;
    return NULL;
}

/* Each of the tables ends with a row without a name, and their list with NULL. */
static inline int verbs_run(char **argv, const struct verb *const *tables)
{
    for (char **arg = argv + 1; *arg;) {
        const struct verb *verb = verbs_find(tables, *arg);
        int count = 0;
        while (arg[1 + count] && strcmp(arg[1 + count], ",") != 0)
            count++;
        if (!verb || count < verb->args) {
            fprintf(stderr, "%s: bad verb '%s'\n", argv[0], *arg);
            return EXIT_USAGE;
        }
        char **next = arg + 1 + count;
        if (*next)
            *next++ = NULL;
        verb->fn(arg + 1);
        fflush(stdout);
        arg = next;
    }
    return 0;
}
