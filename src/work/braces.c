/* SPDX-License-Identifier: Apache-2.0 */
#include "work/braces.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"

/* Past one character of a pattern: an escape or a class counts as one. */
static const char *skip(const char *p)
{
    if (p[0] == '\\' && p[1])
        return p + 2;
    if (p[0] == '[') {
        const char *end = p + 1 + (p[1] == '!' || p[1] == '^');

        end = *end ? strchr(end + 1, ']') : NULL;
        if (end)
            return end + 1;
    }
    return p + 1;
}

/* The end of the group that begins at `open`, when it has a comma; otherwise NULL. */
static const char *find_end(const char *open)
{
    size_t depth = 0;
    bool comma = false;

    for (const char *p = open; *p; p = skip(p)) {
        if (*p == '{')
            depth++;
        else if (*p == ',' && depth == 1)
            comma = true;
        else if (*p == '}' && --depth == 0)
            return comma ? p : NULL;
    }
    return NULL;
}

/* The first group in `text`. */
static const char *find_group(const char *text, const char **end)
{
    for (const char *p = text; *p; p = skip(p))
        if (*p == '{' && (*end = find_end(p)))
            return p;
    return NULL;
}

static int add(struct braces *list, size_t *cap, const char *text, struct arena *arena)
{
    list->items = arena_grow(arena, list->items, list->count, cap, sizeof *list->items);
    if (!list->items || !text)
        return -ENOMEM;
    list->items[list->count++] = text;
    return 0;
}

/* What stands before the group, one of its alternatives, and what follows. */
static char *alternative(const char *text, const char *open, const char *from, const char *to,
                         const char *end, struct arena *arena)
{
    size_t before = (size_t)(open - text), middle = (size_t)(to - from), after = strlen(end + 1);
    char *out = arena_alloc(arena, before + middle + after + 1);

    if (out) {
        memcpy(out, text, before);
        memcpy(out + before, from, middle);
        memcpy(out + before + middle, end + 1, after);
    }
    return out;
}

/* Replace the item at `at` by its first group's alternatives: the first in its place, others at the end. */
static int expand(struct braces *list, size_t *cap, size_t at, const char *open, const char *end,
                  struct arena *arena)
{
    const char *text = list->items[at], *from = open + 1;
    size_t depth = 1;

    for (const char *p = from; p <= end; p = skip(p)) {
        depth += *p == '{';
        depth -= *p == '}';
        if (p != end && (*p != ',' || depth != 1))
            continue;
        char *one = alternative(text, open, from, p, end, arena);
        int r = one ? 0 : -ENOMEM;
        if (r == 0 && from == open + 1)
            list->items[at] = one;
        else if (r == 0)
            r = add(list, cap, one, arena);
        if (r < 0)
            return r;
        from = p + 1;
    }
    return 0;
}

int braces_expand(const char *text, size_t max, struct arena *arena, struct braces *ret)
{
    struct braces list = {0};
    size_t cap = 0;
    int r = add(&list, &cap, text, arena);

    for (size_t at = 0; r == 0 && at < list.count;) {
        const char *end, *open = find_group(list.items[at], &end);

        if (!open)
            at++;
        else
            r = expand(&list, &cap, at, open, end, arena);
        if (r == 0 && list.count > max)
            return -E2BIG;
    }
    if (r == 0)
        *ret = list;
    return r;
}
