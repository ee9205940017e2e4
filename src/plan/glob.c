/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns in hide and protect. One component at a time, by descriptor: a directory that is swapped
 * for a symbolic link during the walk is not followed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/resolve.h"

/* Deeper trees than this are not walked; their names could not be mounted on anyway. */
#define DEPTH_MAX 64

struct walk {
    const struct resolver *resolver;
    const struct policy_item *item;
    resolve_match_fn *fn;
    void *arg;
    size_t matches;
};

static int walk_pattern(struct walk *walk, int dir, const char *prefix, const char *pattern,
                        int depth, struct hutch_error *err);

static int report(struct walk *walk, const char *path, struct hutch_error *err)
{
    struct policy_item match = *walk->item;

    if (++walk->matches > RESOLVE_MATCHES_MAX)
        return err_set(err, HUTCH_EPOLICY, walk->item->origin,
                       "'%s' matches more than %d paths: name a directory instead",
                       walk->item->text, RESOLVE_MATCHES_MAX);
    match.text = path;
    return walk->fn(walk->arg, &match, err);
}

/* One entry of a directory against the first component of the pattern. */
static int visit(struct walk *walk, int dir, const char *prefix, const char *name,
                 const char *component, const char *rest, int depth, struct hutch_error *err)
{
    const char *path = path_join(walk->resolver->arena, prefix, name);
    bool deep = str_eq(component, "**");
    if (!path)
        return err_oom(err);

    if (!deep && fnmatch(component, name, FNM_PERIOD) != 0)
        return 0;
    /* A trailing "**" means all that is in here, and hiding a directory hides what is below it. */
    if (!*rest)
        return report(walk, path, err);

    fd_auto int child = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child < 0)
        return 0; /* not a directory, gone, or not ours to read: nothing there can match */
    if (!deep)
        return walk_pattern(walk, child, path, rest, depth + 1, err);

    /* "**" stands for any number of directories: try the rest here, and "**" again below. */
    const char *again = path_join(walk->resolver->arena, "**", rest);
    return again ? walk_pattern(walk, child, path, again, depth + 1, err) : err_oom(err);
}

static int walk_directory(struct walk *walk, int dir, const char *prefix, const char *component,
                          const char *rest, int depth, struct hutch_error *err)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    int r = 0;

    if (!stream) {
        fd_close(&copy);
        return 0;
    }
    for (struct dirent *e = readdir(stream); e && r == 0; e = readdir(stream))
        if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, ".."))
            r = visit(walk, dir, prefix, e->d_name, component, rest, depth, err);
    closedir(stream);
    return r;
}

/* "**" after "**" says nothing new, and would multiply the ways to walk. */
static const char *skip_stars(const char *pattern)
{
    while (str_starts(pattern, "**") && (pattern[2] == '/' || pattern[2] == '\0'))
        pattern += 2 + strspn(pattern + 2, "/");
    return pattern;
}

static int walk_pattern(struct walk *walk, int dir, const char *prefix, const char *pattern,
                        int depth, struct hutch_error *err)
{
    struct arena *arena = walk->resolver->arena;

    pattern += strspn(pattern, "/");
    size_t len = strcspn(pattern, "/");
    const char *component = arena_strndup(arena, pattern, len);
    const char *rest = pattern + len + strspn(pattern + len, "/");
    if (!component)
        return err_oom(err);
    if (depth > DEPTH_MAX)
        return err_set(err, HUTCH_EPOLICY, walk->item->origin,
                       "'%s' would walk more than %d directories deep", walk->item->text,
                       DEPTH_MAX);

    int r = 0;
    if (str_eq(component, "**")) {
        rest = skip_stars(rest);
        r = *rest ? walk_pattern(walk, dir, prefix, rest, depth + 1, err) : 0;
    }
    return r < 0 ? r : walk_directory(walk, dir, prefix, component, rest, depth, err);
}

int resolve_glob(const struct resolver *resolver, const struct policy_item *item,
                 resolve_match_fn *fn, void *arg, struct hutch_error *err)
{
    struct walk walk = {.resolver = resolver, .item = item, .fn = fn, .arg = arg};
    const char *pattern = item->text;

    /* The part before the first wildcard is an ordinary path: links in it are followed. */
    size_t fixed = strcspn(pattern, "*?[");
    while (fixed > 0 && pattern[fixed - 1] != '/')
        fixed--;
    struct policy_item start = *item;
    start.text = fixed ? arena_strndup(resolver->arena, pattern, fixed) : ".";
    if (!start.text)
        return err_oom(err);

    struct resolved found;
    int r = resolve_path(resolver, &start, &found, err);
    if (r < 0 || !found.exists)
        return r;
    fd_auto int dir = found.fd;
    return walk_pattern(&walk, dir, found.path, pattern + fixed, 0, err);
}
