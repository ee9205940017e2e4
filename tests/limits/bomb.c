/* SPDX-License-Identifier: Apache-2.0 */
#include "bomb.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct verb *const tables[] = {space_verbs, process_verbs, NULL};
static int status;

void say(const char *verb, int64_t got, int error)
{
    printf("%s %" PRId64 " %s\n", verb, got, verbs_error(error));
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

int main(int argc, char **argv)
{
    (void)argc;
    int r = verbs_run(argv, tables);
    return r ? r : status;
}
