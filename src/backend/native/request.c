/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/request.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Far more than the kernel lets a program be started with. */
#define TEXT_MAX (1U << 30)

int request_check_exec(const struct proto_request *request, size_t len, size_t fd_count)
{
    size_t want_fds = (request->tty ? 0 : 3) + (request->in_memfd ? 1 : 0) + request->joins;

    if (len < sizeof *request || request->joins > PROTO_JOINS_MAX || fd_count != want_fds ||
        request->text_len > TEXT_MAX)
        return -EPROTO;
    if (len - sizeof *request != (request->in_memfd ? 0 : request->text_len))
        return -EPROTO;
    /* Each string has at least its NUL, which also bounds how many pointers there can be. */
    if (request->argc == 0 || (uint64_t)request->argc + request->envc >= request->text_len)
        return -EPROTO;
    return 0;
}

size_t request_slot_count(const struct proto_request *request)
{
    return (size_t)request->argc + request->envc + 4; /* two ends, one slot before, one spare */
}

/* The next of the NUL-terminated strings in [*text, end), or NULL when there is no whole one. */
static char *next_string(char **text, char *end)
{
    char *start = *text;
    char *nul = start < end ? memchr(start, '\0', (size_t)(end - start)) : NULL;

    if (!nul)
        return NULL;
    *text = nul + 1;
    return start;
}

/* `count` strings and a NULL; where the slots go on, or NULL when a string is missing. */
static char **take_list(char **text, char *end, uint32_t count, char **slots)
{
    for (; count > 0; count--) {
        *slots = next_string(text, end);
        if (!*slots++)
            return NULL;
    }
    *slots++ = NULL;
    return slots;
}

int request_unpack(const struct proto_request *request, char *text, char **slots,
                   struct request_strings *ret)
{
    char *end = text + request->text_len;
    char **argv = slots + 1; /* one free slot before, for "sh" */
    const char *cwd = next_string(&text, end);
    char **envp = cwd ? take_list(&text, end, request->argc, argv) : NULL;

    if (!envp || !take_list(&text, end, request->envc, envp) || text != end)
        return -EPROTO;
    *ret = (struct request_strings){.cwd = cwd, .argv = argv, .envp = envp};
    return 0;
}
