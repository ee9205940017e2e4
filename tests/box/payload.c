/* SPDX-License-Identifier: Apache-2.0 */
#include "payload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 99

static const struct verb *const tables[] = {file_verbs, net_verbs, process_verbs, report_verbs};

const char *error_name(int error)
{
    static const struct {
        int error;
        const char *name;
    } names[] = {
        {0, "ok"},
        {EACCES, "EACCES"},
        {EADDRNOTAVAIL, "EADDRNOTAVAIL"},
        {EBADF, "EBADF"},
        {EBUSY, "EBUSY"},
        {ECONNREFUSED, "ECONNREFUSED"},
        {EEXIST, "EEXIST"},
        {EINVAL, "EINVAL"},
        {EIO, "EIO"},
        {EISDIR, "EISDIR"},
        {ELOOP, "ELOOP"},
        {EMFILE, "EMFILE"},
        {ENETUNREACH, "ENETUNREACH"},
        {ENOENT, "ENOENT"},
        {ENOSYS, "ENOSYS"},
        {ENOTDIR, "ENOTDIR"},
        {ENOTEMPTY, "ENOTEMPTY"},
        {ENOTTY, "ENOTTY"},
        {ENXIO, "ENXIO"},
        {EPERM, "EPERM"},
        {EROFS, "EROFS"},
        {EXDEV, "EXDEV"},
    };
    static char other[32];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error)
            return names[i].name;
    snprintf(other, sizeof other, "errno %d", error);
    return other;
}

void say_result(const char *verb, const char *subject, long r)
{
    printf("%s %s: %s\n", verb, subject, error_name(r < 0 ? errno : 0));
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
            fprintf(stderr, "payload: bad verb '%s'\n", *arg);
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
