/* SPDX-License-Identifier: Apache-2.0 */
#include "work/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "work/braces.h"
#include "work/match.h"

/* "**" may stand for nothing: whoever is before it is also behind it. */
static uint64_t closure(const struct pattern *pattern, uint64_t places)
{
    uint64_t more;

    while ((more = (places & pattern->deep) << 1 & ~places) != 0)
        places |= more;
    return places;
}

uint64_t pattern_start(const struct pattern *pattern)
{
    return closure(pattern, 1);
}

uint64_t pattern_step(const struct pattern *pattern, uint64_t places, const char *name)
{
    uint64_t after = 0;

    for (unsigned i = 0; i < pattern->count; i++) {
        if (!(places >> i & 1))
            continue;
        if (!(pattern->deep >> i & 1)) {
            if (match_name(pattern->parts[i], name, pattern->hidden))
                after |= UINT64_C(2) << i;
        } else if (pattern->deep_hidden || name[0] != '.') {
            after |= UINT64_C(1) << i;
        }
    }
    return closure(pattern, after);
}

uint64_t pattern_walk(const struct pattern *pattern, const char *path)
{
    uint64_t places = pattern_start(pattern);

    while (*path && places) {
        char name[256]; /* NAME_MAX: paths here are names that the kernel gave us */
        size_t len = strcspn(path, "/");

        if (len >= sizeof name)
            return 0;
        memcpy(name, path, len);
        name[len] = '\0';
        places = pattern_step(pattern, places, name);
        path += len + (path[len] == '/');
    }
    return places;
}

static bool is_literal(const char *part)
{
    return !strpbrk(part, "*?[\\");
}

static int add_part(struct pattern *pattern, const char *part)
{
    bool deep = str_eq(part, "**");

    if (deep && pattern->count && pattern->deep >> (pattern->count - 1) & 1)
        return 0; /* says nothing new */
    if (pattern->count == PATTERN_PARTS_MAX)
        return -1;
    if (deep)
        pattern->deep |= UINT64_C(1) << pattern->count;
    pattern->parts[pattern->count++] = part;
    return 0;
}

/* A slash in a class is not looked for: no name has one, so such a class could not match it. */
static const char *split(const char *text, struct pattern *pattern, struct arena *arena)
{
    bool any = false;

    for (text += strspn(text, "/"); *text; text += strspn(text, "/")) {
        size_t len = strcspn(text, "/");
        const char *part = arena_strndup(arena, text, len);

        if (!part)
            return "no memory";
        text += len;
        pattern->only_directory = *text == '/';
        if (str_eq(part, "."))
            continue;
        if (str_eq(part, ".."))
            return "has '..' in it";
        if (add_part(pattern, part) < 0)
            return "has too many components";
        any = true;
    }
    if (!any)
        return "names nothing";
    /* A pattern that ends with two stars is for what is below, not for the directory itself. */
    if (pattern->deep >> (pattern->count - 1) & 1 && add_part(pattern, "*") < 0)
        return "has too many components";
    return NULL;
}

/* Directories that are named in full need no search. */
static int move_prefix(struct pattern *pattern, struct arena *arena)
{
    unsigned fixed = 0;

    while (fixed + 1 < pattern->count && is_literal(pattern->parts[fixed])) {
        const char *part = pattern->parts[fixed++];
        pattern->prefix = pattern->prefix[0] ? path_join(arena, pattern->prefix, part) : part;
        if (!pattern->prefix)
            return -1;
    }
    memmove(pattern->parts, pattern->parts + fixed,
            (pattern->count - fixed) * sizeof *pattern->parts);
    pattern->count -= fixed;
    pattern->deep >>= fixed;
    return 0;
}

/* Whether it says nothing about directories: then it is for whichever they are. */
static bool is_for_names(const char *text)
{
    size_t len = strcspn(text, "/");

    return len > 0 && !text[len + strspn(text + len, "/")] && !(len == 2 && str_starts(text, "**"));
}

/* Returns why not, as the end of a sentence, or NULL. */
static const char *parse_one(const char *text, const struct pattern_options *options,
                             struct arena *arena, struct pattern *ret)
{
    *ret = (struct pattern){
        .prefix = "", .hidden = options->hidden, .deep_hidden = options->hidden};
    if (!options->anchored && is_for_names(text)) {
        add_part(ret, "**");
        ret->deep_hidden = true;
    }
    const char *why = split(text, ret, arena);
    if (!why && !options->keep_prefix && move_prefix(ret, arena) < 0)
        why = "no memory";
    return why;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct pattern *)a)->prefix, ((const struct pattern *)b)->prefix);
}

int pattern_parse(const char *text, const struct pattern_options *options, const char *where,
                  struct arena *arena, struct pattern_set *ret, struct hutch_error *err)
{
    struct braces expanded;
    char shown[256];

    str_printable(text, shown, sizeof shown);
    if (strlen(text) > PATTERN_LENGTH_MAX)
        return err_set(err, HUTCH_EINVALID, where, "the pattern '%s' is too long", shown);
    int r = braces_expand(text, PATTERN_EXPANSIONS_MAX, arena, &expanded);
    if (r < 0)
        return arena_failed(arena)
                   ? err_oom(err)
                   : err_set(err, HUTCH_EINVALID, where, "the pattern '%s' stands for more than %d",
                             shown, PATTERN_EXPANSIONS_MAX);
    struct pattern *items = arena_alloc(arena, expanded.count * sizeof *items);
    if (!items)
        return err_oom(err);
    for (size_t i = 0; i < expanded.count; i++) {
        const char *why = parse_one(expanded.items[i], options, arena, &items[i]);
        if (arena_failed(arena))
            return err_oom(err);
        if (why)
            return err_set(err, HUTCH_EINVALID, where, "the pattern '%s' %s", shown, why);
    }
    qsort(items, expanded.count, sizeof *items, compare);
    *ret = (struct pattern_set){.items = items, .count = expanded.count};
    return 0;
}
