/* SPDX-License-Identifier: Apache-2.0 */
#include "work/needle.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"

#define LENGTH_MAX 4096

char needle_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* As the end of a sentence. */
static const char *wrong_with(const char *pattern, size_t len)
{
    if (len == 0)
        return "is empty";
    if (len > LENGTH_MAX)
        return "is too long";
    return strchr(pattern, '\n') ? "has more than one line" : NULL;
}

int needle_init(struct needle *needle, const char *pattern, bool regex, bool ignore_case,
                struct arena *arena, struct hutch_error *err)
{
    *needle = (struct needle){.len = strlen(pattern), .regex = regex, .fold = ignore_case};
    const char *why = wrong_with(pattern, needle->len);

    if (!why && regex)
        why = rx_compile(&needle->rx, pattern, ignore_case, arena);
    char *text = arena_strdup(arena, pattern);
    if (!text)
        return err_oom(err);
    if (why)
        return err_set(err, HUTCH_EINVALID, "pattern", "the %s %s",
                       regex ? "expression" : "pattern", why);
    for (char *c = text; ignore_case && *c; c++)
        *c = needle_lower(*c);
    needle->text = text;
    return 0;
}
