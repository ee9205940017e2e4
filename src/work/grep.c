/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "work/call.h"
#include "work/file.h"
#include "work/grep_file.h"
#include "work/path.h"
#include "work/pattern.h"
#include "work/walk.h"

/* Whether to search this name, and whether to look below it. */
static void judge(const struct pattern_set *include, const uint64_t *places, const char *name,
                  bool *ret_matches, bool *ret_goes_on)
{
    *ret_matches = *ret_goes_on = include->count == 0;
    for (size_t i = 0; i < include->count; i++) {
        uint64_t after = pattern_step(&include->items[i], places[i], name);

        *ret_matches |= pattern_is_end(&include->items[i], after);
        *ret_goes_on |= pattern_goes_on(&include->items[i], after);
    }
}

/* Whether an error about one file is about more than that file. */
static bool is_general(int r)
{
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOSYS;
}

static int search_at(struct grep *grep, const struct call *call, const struct walk_item *item)
{
    char text[PATH_MAX];
    struct stat st;

    if (work_path_below(call->path, item->path, text) < 0)
        return 0;
    fd_auto int fd = work_file_open_at(call->work, item->dir, item->name, &st);
    int r = fd < 0 ? fd : grep_file(grep, fd, text);
    return is_general(r) ? r : 0;
}

static int search_walk(struct grep *grep, const struct call *call, struct walk *walk,
                       const struct pattern_set *include, uint64_t *places)
{
    unsigned entered = 0;
    struct walk_item item;
    int r = 0;

    while (!grep->truncated && (r = walk_next(walk, &item)) > 0) {
        bool matches, goes_on;

        if (walk->entered != entered) {
            for (size_t i = 0; i < include->count; i++)
                places[i] = pattern_walk(&include->items[i], walk->dir_path);
            entered = walk->entered;
        }
        judge(include, places, item.name, &matches, &goes_on);
        if (item.type == HUTCH_FILE_REGULAR && matches)
            r = search_at(grep, call, &item);
        else if (item.type == HUTCH_FILE_DIRECTORY && goes_on)
            r = walk_enter(walk, &item);
        if (r < 0)
            return r;
    }
    grep->truncated |= walk->truncated;
    return r;
}

static int search_path(struct grep *grep, const struct call *call,
                       const struct pattern_set *include)
{
    struct stat st;
    struct walk walk;
    fd_auto int found = work_path_open(call->work, call->path, O_PATH);

    if (found < 0)
        return found;
    if (fstat(found, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode)) {
        fd_auto int fd = work_file_open_found(call->work, found, &st);
        return fd < 0 ? fd : grep_file(grep, fd, call->path);
    }
    uint64_t *places = arena_alloc(grep->arena, (include->count + 1) * sizeof *places);
    if (!places)
        return -ENOMEM;
    int r = walk_init(&walk, call->work, &found, grep->deadline_ns);
    if (r == 0)
        r = search_walk(grep, call, &walk, include, places);
    walk_clear(&walk);
    return r;
}

static int parse_include(const char *text, struct arena *arena, struct pattern_set *ret,
                         struct hutch_error *err)
{
    struct pattern_options how = {.hidden = true, .keep_prefix = true};

    *ret = (struct pattern_set){0};
    return text ? pattern_parse(text, &how, "glob", arena, ret, err) : 0;
}

int work_grep(const struct work *work, const char *path, const char *pattern,
              const struct hutch_file_grep_options *options, struct arena *arena,
              struct hutch_file_matches *ret, struct hutch_error *err)
{
    struct pattern_set include;
    struct needle needle = {0};
    struct call call;

    if (options->context > GREP_CONTEXT_MAX)
        return err_set(err, HUTCH_EINVALID, "context", "more than %d lines", GREP_CONTEXT_MAX);
    int r = parse_include(options->glob, arena, &include, err);
    if (r == 0)
        r = needle_init(&needle, pattern, options->regex, options->ignore_case, arena, err);
    if (r == 0)
        r = call_begin(&call, work, "search", path, err);
    if (r == 0) {
        struct grep grep = {
            .options = options,
            .arena = arena,
            .needle = &needle,
            .deadline_ns = call_deadline_ns(options->budget_ms),
        };
        r = call_end(&call, search_path(&grep, &call, &include));
        if (r == 0)
            *ret = (struct hutch_file_matches){
                .items = grep.found, .count = grep.count, .truncated = grep.truncated || grep.cut};
        grep_clear(&grep);
    }
    return r;
}
