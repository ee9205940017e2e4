/* SPDX-License-Identifier: Apache-2.0 */
#include "bomb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 99

static const struct verb *const tables[] = {space_verbs, process_verbs};
static int status;

static const char *error_name(int error)
{
    static const struct {
        int error;
        const char *name;
    } names[] = {
        {0, "ok"},          {EAGAIN, "EAGAIN"}, {EDQUOT, "EDQUOT"}, {EFBIG, "EFBIG"},
        {EMFILE, "EMFILE"}, {ENFILE, "ENFILE"}, {ENOMEM, "ENOMEM"}, {ENOSPC, "ENOSPC"},
        {EPERM, "EPERM"},   {EPIPE, "EPIPE"},   {EROFS, "EROFS"},   {EACCES, "EACCES"},
        {EINVAL, "EINVAL"},
    };
    static char other[32];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error)
            return names[i].name;
    snprintf(other, sizeof other, "errno-%d", error);
    return other;
}

void say(const char *verb, int64_t got, int error)
{
    printf("%s %" PRId64 " %s\n", verb, got, error_name(error));
    fflush(stdout);
    if (error)
        status = 1;
}

int64_t number_of(const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    int64_t value = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (end == text || value < 0 || (*end && (!unit || end[1]))) {
        fprintf(stderr, "bomb: '%s' is no number\n", text);
        exit(EXIT_USAGE);
    }
    return unit ? value << (10 * (unit - units + 1)) : value;
}

int64_t option_of(const char *text, int64_t otherwise)
{
    return text ? number_of(text) : otherwise;
}

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const struct verb *verb = tables[i]; verb->name; verb++)
            if (strcmp(verb->name, name) == 0)
                return verb;
    return NULL;
}

int main(int argc, char **argv)
{
    (void)argc;
    for (char **arg = argv + 1; *arg;) {
        const struct verb *verb = find(*arg);
        int count = 0;
        while (arg[1 + count] && strcmp(arg[1 + count], ",") != 0)
            count++;
        if (!verb || count < verb->args) {
            fprintf(stderr, "bomb: bad verb '%s'\n", *arg);
            return EXIT_USAGE;
        }
        char **next = arg + 1 + count;
        if (*next)
            *next++ = NULL;
        verb->fn(arg + 1);
        arg = next;
    }
    return status;
}
