/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/clock.h"
#include "work/call.h"
#include "work/entry.h"
#include "work/path.h"
#include "work/pattern.h"
#include "work/walk.h"

struct search {
    const struct call *call;
    const struct hutch_file_glob_options *options;
    struct arena *arena;
    uint64_t deadline_ns;
    struct hutch_file_entry *found;
    size_t count;
    size_t cap;
    bool truncated;
    /* Patterns that begin at the same directory, and where each of them is in the current one. */
    const struct pattern *patterns;
    size_t pattern_count;
    uint64_t *places;
    char from[PATH_MAX]; /* that directory */
};

struct verdict {
    bool matches; /* as something that is not a directory */
    bool matches_directory;
    bool goes_on;
};

static struct verdict judge(const struct search *search, const char *name)
{
    struct verdict verdict = {0};

    for (size_t i = 0; i < search->pattern_count; i++) {
        const struct pattern *pattern = &search->patterns[i];
        uint64_t places = pattern_step(pattern, search->places[i], name);

        verdict.goes_on |= pattern_goes_on(pattern, places);
        if (!pattern_is_end(pattern, places))
            continue;
        verdict.matches |= !pattern->only_directory;
        verdict.matches_directory |= pattern->only_directory || search->options->directories;
    }
    return verdict;
}

static int add(struct search *search, const char *text, const struct stat *st)
{
    size_t start = strlen(search->call->path);

    if (search->count >= search->options->limit) {
        search->truncated = true;
        return 0;
    }
    search->found = arena_grow(search->arena, search->found, search->count, &search->cap,
                               sizeof *search->found);
    const char *path = arena_strdup(search->arena, text);
    if (!search->found || !path)
        return -ENOMEM;
    entry_fill(path, start == 1 ? 1 : start + 1, st, &search->found[search->count++]);
    return 0;
}

/* A name that matches: what it is, now. */
static int check(struct search *search, const struct walk_item *item, struct verdict verdict)
{
    char text[PATH_MAX];
    struct stat st;

    if (work_path_below(search->from, item->path, text) < 0) {
        search->truncated = true;
        return 0;
    }
    if (entry_look(search->call->work, item->dir, item->name, text, true, &st) < 0)
        return 0; /* gone */
    if ((S_ISREG(st.st_mode) && verdict.matches) ||
        (S_ISDIR(st.st_mode) && verdict.matches_directory))
        return add(search, text, &st);
    return 0;
}

static int walk_all(struct search *search, struct walk *walk)
{
    unsigned entered = 0;
    struct walk_item item;
    int r;

    while (!search->truncated && (r = walk_next(walk, &item)) > 0) {
        if (walk->entered != entered) {
            for (size_t i = 0; i < search->pattern_count; i++)
                search->places[i] = pattern_walk(&search->patterns[i], walk->dir_path);
            entered = walk->entered;
        }
        struct verdict verdict = judge(search, item.name);
        if (verdict.matches || verdict.matches_directory)
            r = check(search, &item, verdict);
        if (r >= 0 && item.type == HUTCH_FILE_DIRECTORY && verdict.goes_on)
            r = walk_enter(walk, &item);
        if (r < 0)
            return r;
    }
    search->truncated |= walk->truncated;
    return search->truncated ? 0 : r;
}

static int search_from(struct search *search, const char *prefix)
{
    struct walk walk;
    int r = work_path_below(search->call->path, prefix, search->from);

    fd_auto int base = r < 0
                           ? r
                           : work_path_open(search->call->work, search->from, O_PATH | O_DIRECTORY);
    /* Where the search begins must be there; what the pattern names need not. */
    if (base < 0 && prefix[0])
        return base == -EMFILE || base == -ENFILE || base == -ENOMEM ? base : 0;
    if (base < 0)
        return base;
    r = walk_init(&walk, search->call->work, &base, search->deadline_ns);
    if (r == 0)
        r = walk_all(search, &walk);
    walk_clear(&walk);
    return r;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct hutch_file_entry *)a)->path,
                  ((const struct hutch_file_entry *)b)->path);
}

/* Sort, and leave what several patterns found once. */
static void tidy(struct search *search)
{
    size_t kept = 0;

    if (search->count)
        qsort(search->found, search->count, sizeof *search->found, by_path);
    for (size_t i = 0; i < search->count; i++)
        if (kept == 0 || !str_eq(search->found[i].path, search->found[kept - 1].path))
            search->found[kept++] = search->found[i];
    search->count = kept;
}

static int search_all(struct search *search, const struct pattern_set *set)
{
    fd_auto int start = work_path_open(search->call->work, search->call->path,
                                       O_PATH | O_DIRECTORY);
    if (start < 0)
        return start;
    search->places = arena_alloc(search->arena, set->count * sizeof *search->places);
    if (!search->places)
        return -ENOMEM;
    for (size_t i = 0; i < set->count && !search->truncated; i += search->pattern_count) {
        size_t same = 1;

        while (i + same < set->count && str_eq(set->items[i].prefix, set->items[i + same].prefix))
            same++;
        if (sys_clock_ns(CLOCK_MONOTONIC) > search->deadline_ns) {
            search->truncated = true;
            break;
        }
        search->patterns = &set->items[i];
        search->pattern_count = same;
        int r = search_from(search, set->items[i].prefix);
        if (r < 0)
            return r;
    }
    tidy(search);
    return 0;
}

int work_glob(const struct work *work, const char *path, const char *pattern,
              const struct hutch_file_glob_options *options, struct arena *arena,
              struct hutch_file_entries *ret, struct hutch_error *err)
{
    struct pattern_options how = {.hidden = options->hidden, .anchored = options->anchored};
    struct pattern_set set;
    struct call call;

    int r = pattern_parse(pattern, &how, "pattern", arena, &set, err);
    if (r == 0)
        r = call_begin(&call, work, "search", path, err);
    if (r != 0)
        return r;
    struct search search = {
        .call = &call,
        .options = options,
        .arena = arena,
        .deadline_ns = call_deadline_ns(options->budget_ms),
    };
    r = call_end(&call, search_all(&search, &set));
    if (r == 0)
        *ret = (struct hutch_file_entries){
            .items = search.found, .count = search.count, .truncated = search.truncated};
    return r;
}
