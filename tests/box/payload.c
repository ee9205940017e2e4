/* SPDX-License-Identifier: Apache-2.0 */
#include "payload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct verb *const tables[] = {file_verbs,    net_verbs,    pair_verbs,
                                            process_verbs, report_verbs, NULL};

void say_result(const char *verb, const char *subject, long r)
{
    printf("%s %s: %s\n", verb, subject, verbs_error(r < 0 ? errno : 0));
}

long long number_of(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);

    if (!*text || *end) {
        fprintf(stderr, "payload: '%s' is no number\n", text);
        exit(EXIT_USAGE);
    }
    return value;
}

int main(int argc, char **argv)
{
    (void)argc;
    return verbs_run(argv, tables);
}
