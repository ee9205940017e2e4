/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of agents on text of the untrusted: the first line of the input is the pattern, the rest is
 * what it is tried on. Beside not crashing, what must hold for any pattern is checked.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "work/pattern.h"
#include "work/rx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

/* 1, 0, or -1 when it is no expression. */
static int search(const char *text, bool ignore_case, const char *line, size_t len,
                  struct arena *arena)
{
    struct rx rx = {0};

    if (rx_compile(&rx, text, ignore_case, arena))
        return -1;
    int found = rx_search(&rx, line, len, UINT64_MAX);
    require(found == 0 || found == 1);
    require(rx_search(&rx, line, len, UINT64_MAX) == found); /* nothing stays of the first time */
    return found;
}

static void check_rx(const char *text, const char *line, size_t len, struct arena *arena)
{
    int found = search(text, false, line, len, arena);

    if (found < 0)
        return;
    /* A group around it, or itself as the other choice, changes nothing (but may be too large). */
    int grouped = search(arena_printf(arena, "(?:%s)", text), false, line, len, arena);
    require(grouped == found || grouped < 0);
    int either = search(arena_printf(arena, "%s|%s", text, text), false, line, len, arena);
    require(either == found || either < 0);
    int optional = search(arena_printf(arena, "(%s)?", text), false, line, len, arena);
    require(optional != 0);
    search(text, true, line, len, arena);
}

/* Whether any pattern of the set matches; what is below a name that nothing goes on from never does. */
static bool matches(const struct pattern_set *set, const char *path)
{
    bool any = false;

    for (size_t i = 0; i < set->count; i++) {
        const struct pattern *pattern = &set->items[i];
        str_auto char *names = strdup(path);
        uint64_t places = pattern_start(pattern);
        bool over = false;

        for (char *rest = names, *name; (name = strsep(&rest, "/"));) {
            if (!*name)
                continue;
            over = over || !pattern_goes_on(pattern, places);
            places = pattern_step(pattern, places, name);
            require(!over || (!pattern_is_end(pattern, places) && !places));
        }
        require(places == pattern_walk(pattern, path));
        any = any || pattern_is_end(pattern, places);
    }
    return any;
}

/* As a walk gives it: without slashes at the ends, and one between two names. */
static void tidy(char *path)
{
    char *out = path;

    for (const char *at = path; *at; at++)
        if (*at != '/' || (out > path && out[-1] != '/'))
            *out++ = *at;
    out -= out > path && out[-1] == '/';
    *out = '\0';
}

static void check_pattern(const char *text, const char *path, struct arena *arena)
{
    struct pattern_options options = {.keep_prefix = true};
    struct pattern_set set;

    if (pattern_parse(text, &options, "pattern", arena, &set, NULL) < 0)
        return;
    require(set.count > 0 && set.count <= PATTERN_EXPANSIONS_MAX);
    bool found = matches(&set, path);
    options.hidden = true;
    require(pattern_parse(text, &options, "pattern", arena, &set, NULL) == 0);
    require(!found || matches(&set, path));
    options.keep_prefix = false;
    require(pattern_parse(text, &options, "pattern", arena, &set, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str_auto char *input = strndup((const char *)data, size);
    char *line = strchrnul(input, '\n');
    struct arena arena;

    if (*line)
        *line++ = '\0';
    if (strlen(input) > 256 || strlen(line) > 4096)
        return 0;
    arena_init(&arena);
    check_rx(input, line, strlen(line), &arena);
    tidy(line);
    check_pattern(input, line, &arena);
    arena_clear(&arena);
    return 0;
}
