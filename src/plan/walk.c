/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path, link by link. The kernel resolves paths for us everywhere else; here we need to know what
 * it passes, because a link that can be replaced is another way to the name it leads to.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/resolve.h"

/* As many as the kernel follows. */
#define LINKS_MAX 40

struct walk {
    struct arena *arena;
    const char *at;   /* canonical, a directory */
    const char *rest; /* still to go */
    struct resolve_walked known;
    size_t links;
    bool stopped; /* by the caller, which has said why */
    int end;      /* errno of the look at the component it ended before; 0: that one is there */
};

/* Follow the link `path`: its text goes before what is left. */
static int follow(struct walk *walk, const char *path, const char *rest)
{
    char text[PATH_MAX];
    ssize_t len = readlink(path, text, sizeof text - 1);

    if (len < 0)
        return -errno;
    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    text[len] = '\0';
    walk->rest = arena_printf(walk->arena, "%s/%s", text, rest);
    if (text[0] == '/')
        walk->at = "/";
    return walk->rest ? 0 : -ENOMEM;
}

/* One component. Returns 1 to go on, 0 when the next one is not a directory or not there. */
static int step(struct walk *walk, resolve_link_fn *fn, void *arg, struct hutch_error *err)
{
    const char *start = walk->rest + strspn(walk->rest, "/");
    size_t len = strcspn(start, "/");
    struct stat st;

    if (len == 0)
        return 0;
    if (start[0] == '.' && (len == 1 || (len == 2 && start[1] == '.'))) {
        walk->at = len == 1 ? walk->at : path_parent(walk->arena, walk->at);
        walk->rest = start + len;
        return walk->at ? 1 : -ENOMEM;
    }
    const char *path = path_append(walk->arena, walk->at, start, len);
    if (!path)
        return -ENOMEM;
    if (walk->known.missing && str_eq(path, walk->known.missing)) {
        walk->end = ENOENT;
        return 0;
    }
    walk->end = lstat(path, &st) < 0 ? errno : 0;
    if (walk->end == ENOENT)
        walk->known.missing = path;
    if (walk->end) /* any other failure must not pass for "not there" */
        return walk->end == ENOENT || walk->end == ENOTDIR || walk->end == EACCES ? 0 : -walk->end;
    if (S_ISLNK(st.st_mode)) {
        int r = fn(arg, path, err);
        walk->stopped = r < 0;
        if (r == 0)
            r = follow(walk, path, start + len);
        return r < 0 ? r : 1;
    }
    if (!S_ISDIR(st.st_mode))
        return 0;
    walk->at = path;
    walk->rest = start + len;
    return 1;
}

/* Names below the directory that the last walk ended in need not pass those above it again. */
static void skip_known(struct walk *walk)
{
    const char *known = walk->known.directory;
    size_t len = known ? strlen(known) : 0;

    if (len > 1 && strncmp(walk->rest, known, len) == 0 && walk->rest[len] == '/') {
        walk->at = known;
        walk->rest += len;
    }
}

int resolve_walk(struct resolver *resolver, const struct policy_item *item, resolve_link_fn *fn,
                 void *arg, struct resolved_walk *ret, struct hutch_error *err)
{
    struct walk walk = {.arena = resolver->arena, .known = resolver->walked};
    char shown[256];
    int r = resolve_start(resolver, item, &walk.at, &walk.rest, err);

    if (r < 0)
        return r;
    skip_known(&walk);
    while ((r = step(&walk, fn, arg, err)) > 0)
        ;
    if (r < 0 && !walk.stopped)
        r = err_sys(err, r, item->origin, "cannot look at '%s'",
                    str_printable(item->text, shown, sizeof shown));
    if (r < 0)
        return r;
    resolver->walked = walk.known;
    resolver->walked.directory = walk.at;
    *ret = (struct resolved_walk){
        .directory = walk.at, .rest = walk.rest + strspn(walk.rest, "/"), .error = walk.end};
    return 0;
}

struct link_list {
    struct arena *arena;
    const struct resolved_link *first;
};

static int keep_link(void *arg, const char *path, struct hutch_error *err)
{
    struct link_list *list = arg;
    struct resolved_link *link = arena_alloc(list->arena, sizeof *link);

    if (!link)
        return err_oom(err);
    *link = (struct resolved_link){.path = path, .next = list->first};
    list->first = link;
    return 0;
}

/*
 * The kernel has followed the links before us, and whoever may change one could do so in between. As
 * long as both came to the same name, these are the links that lead there.
 */
int resolve_links(struct resolver *resolver, const struct policy_item *item, struct resolved *found,
                  struct hutch_error *err)
{
    struct link_list list = {.arena = resolver->arena};
    struct resolved_walk walk;
    char shown[256];
    int r = resolve_walk(resolver, item, keep_link, &list, &walk, err);

    if (r < 0)
        return r;
    const char *end = path_normalize(resolver->arena, walk.directory, walk.rest);
    if (!end || !str_eq(end, found->path))
        return err_set(
            err, HUTCH_EPOLICY, item->origin,
            "cannot tell by which links '%s' leads where it does: name the target itself",
            str_printable(item->text, shown, sizeof shown));
    found->links = list.first;
    return 0;
}
