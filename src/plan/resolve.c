/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "sys/path.h"
#include "sys/ret.h"

/* "name:password:uid:gid:comment:home:shell": the home, if the row is this user's. */
static const char *home_in_row(struct arena *arena, char *row, const char *uid)
{
    enum { UID = 2, HOME = 5, FIELDS };
    char *fields[FIELDS] = {0};

    for (size_t i = 0; i < FIELDS && row; i++)
        fields[i] = strsep(&row, ":");
    /* A row that ends with the home is not one of seven fields. */
    return row && str_eq(fields[UID], uid) ? arena_strdup(arena, fields[HOME]) : NULL;
}

/*
 * /etc/passwd only: NSS may load plugins and ask the network, which a start cannot afford. Not by
 * fgetpwent(), whose answer is everybody's.
 */
static const char *home_from_passwd(struct arena *arena)
{
    const char *home = NULL;
    str_auto char *line = NULL;
    size_t size = 0;
    char uid[16];
    FILE *file = fopen("/etc/passwd", "re");
    if (!file)
        return NULL;

    snprintf(uid, sizeof uid, "%u", geteuid());
    while (!home && getline(&line, &size, file) >= 0)
        home = home_in_row(arena, line, uid);
    fclose(file);
    return home;
}

const char *resolve_home(struct arena *arena)
{
    const char *home = getenv("HOME");

    if (!home || home[0] != '/')
        home = home_from_passwd(arena);
    return home && home[0] == '/' ? arena_strdup(arena, home) : NULL;
}

int resolver_init(struct resolver *resolver, struct arena *arena, struct hutch_error *err)
{
    *resolver = (struct resolver){
        .arena = arena,
        .cwd = {.fd = sys_open(".", O_PATH | O_DIRECTORY), .what = "current directory"},
        .workspace = {.fd = -1, .what = "workspace"},
        .repo = {.fd = -1, .what = "repository"},
    };
    if (resolver->cwd.fd < 0)
        return err_sys(err, resolver->cwd.fd, "cwd", "cannot open the current directory");
    resolver->home = resolve_home(arena);
    return 0;
}

void resolver_clear(struct resolver *resolver)
{
    fd_close(&resolver->cwd.fd);
    fd_close(&resolver->workspace.fd);
    fd_close(&resolver->repo.fd);
}

/* The kernel's own name of an open file. */
static int canonical_name(struct arena *arena, int fd, const char **ret)
{
    char link[40];
    char path[PATH_MAX];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path);
    if (len < 0)
        return -errno;
    if ((size_t)len >= sizeof path)
        return -ENAMETOOLONG;
    if (path[0] != '/')
        return -EXDEV; /* "(unreachable)...": outside of this process's root */
    *ret = arena_strndup(arena, path, (size_t)len);
    return *ret ? 0 : -ENOMEM;
}

/* The deepest directory above `path` that exists, and the rest as written below it. */
static int missing_name(const struct resolver *resolver, int base, const char *path,
                        const char **ret)
{
    char *dir = arena_strdup(resolver->arena, path);
    if (!dir)
        return -ENOMEM;

    int error = ENOENT;
    for (size_t len = strlen(dir); len > 0;) {
        while (len > 0 && dir[len - 1] == '/')
            len--;
        while (len > 0 && dir[len - 1] != '/')
            len--;
        dir[len] = '\0';
        fd_auto int fd = openat(base, len ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
            error = errno;
            continue;
        }
        const char *parent = NULL;
        int r = canonical_name(resolver->arena, fd, &parent);
        if (r < 0)
            return r;
        *ret = path_normalize(resolver->arena, parent, path + len);
        return *ret ? 0 : -EINVAL;
    }
    return -error;
}

/*
 * *ret_direct: there is no link in it, so that an absolute path without ".." is its own name. To ask
 * the kernel for a name takes as long as all else here.
 */
static int open_path(int base, const char *path, bool *ret_direct)
{
    int fd = sys_open_direct(base, path, O_PATH);

    *ret_direct = fd >= 0;
    if (fd == -ELOOP || fd == -ENOSYS || fd == -EPERM) /* EPERM: a filter around us */
        fd = ret_errno(openat(base, path, O_PATH | O_CLOEXEC));
    return fd;
}

static int resolve_at(const struct resolver *resolver, int base, const char *path,
                      struct resolved *ret)
{
    /* Most of what policies hide is not there, and this says so in half the time of a failing open. */
    bool seen = fstatat(base, path, &ret->st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!seen && errno != EACCES)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
    fd_auto int fd = open_path(base, path, &ret->direct);
    /* What a link leads to may be out of reach; what has just been looked at is not. */
    if (fd == -EACCES && seen && !S_ISLNK(ret->st.st_mode))
        return fd;
    ret->denied = fd == -EACCES;
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
        return 0;
    if (fd < 0)
        return fd;
    if (fstat(fd, &ret->st) < 0)
        return -errno;

    if (ret->direct && path[0] == '/')
        ret->path = path_normalize(resolver->arena, "/", path);
    int r = ret->path ? 0 : canonical_name(resolver->arena, fd, &ret->path);
    if (r < 0)
        return r;
    /* An unlinked file's name ends in " (deleted)"; the check before mounting would catch it too. */
    if (ret->st.st_nlink == 0)
        return -ENOENT;
    ret->exists = true;
    ret->fd = fd_take(&fd);
    return 0;
}

static int refuse_home(const struct policy_item *item, struct hutch_error *err)
{
    const char *home = getenv("HOME");

    return err_set(err, HUTCH_EPOLICY, item->origin,
                   "cannot resolve '%s': HOME is not %s, and /etc/passwd has no home of user "
                   "%u: set HOME to a directory",
                   item->text, home && *home ? "absolute" : "set", geteuid());
}

/* Where a relative path starts and what is left of `text` once `~` is replaced. */
static int start_of(const struct resolver *resolver, const struct policy_item *item, int *base,
                    const char **text, struct hutch_error *err)
{
    const char *path = item->text;

    *base = item->from_flag ? resolver->cwd.fd : resolver->workspace.fd;
    *text = path;
    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0')) {
        if (!resolver->home)
            return refuse_home(item, err);
        *text = path[1] ? path_join(resolver->arena, resolver->home, path + 2) : resolver->home;
        return *text ? 0 : err_oom(err);
    }
    if (path[0] != '/' && *base < 0)
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "relative path '%s' has no meaning: the workspace is in memory; "
                       "write it from '/' or '~'",
                       path);
    return 0;
}

int resolve_path(const struct resolver *resolver, const struct policy_item *item,
                 struct resolved *ret, struct hutch_error *err)
{
    char shown[256];
    const char *text;
    int base;
    struct resolved found = {.fd = -1};

    int r = start_of(resolver, item, &base, &text, err);
    if (r < 0)
        return r;
    r = resolve_at(resolver, base, text, &found);
    if (r < 0)
        return err_sys(err, r, item->origin, "cannot look at '%s'",
                       str_printable(item->text, shown, sizeof shown));
    *ret = found;
    return 0;
}

int resolve_base_name(const struct resolver *resolver, struct resolve_base *base,
                      const char *origin, struct hutch_error *err)
{
    int r = base->name ? 0 : canonical_name(resolver->arena, base->fd, &base->name);

    return r < 0 ? err_sys(err, r, origin, "cannot find the name of the %s", base->what) : 0;
}

int resolve_start(struct resolver *resolver, const struct policy_item *item, const char **ret_start,
                  const char **ret_rest, struct hutch_error *err)
{
    struct resolve_base *base = item->from_flag ? &resolver->cwd : &resolver->workspace;
    const char *text;
    int fd;
    int r = start_of(resolver, item, &fd, &text, err);

    if (r == 0 && text[0] != '/')
        r = resolve_base_name(resolver, base, item->origin, err);
    if (r < 0)
        return r;
    *ret_start = text[0] == '/' ? "/" : base->name;
    *ret_rest = text;
    return 0;
}

int resolve_existing(struct resolver *resolver, const struct policy_item *item,
                     struct resolved *ret, struct hutch_error *err)
{
    char shown[256];
    struct resolved found = {.fd = -1};
    int r = resolve_path(resolver, item, &found, err);

    if (r < 0)
        return r;
    if (!found.exists)
        str_printable(item->text, shown, sizeof shown);
    if (found.denied)
        return err_sys(err, -EACCES, item->origin, "cannot look at '%s'", shown);
    if (!found.exists)
        return err_set(err, HUTCH_EPOLICY, item->origin, "'%s' does not exist", shown);
    r = found.direct ? 0 : resolve_links(resolver, item, &found, err);
    if (r < 0)
        fd_close(&found.fd);
    else
        *ret = found;
    return r;
}

int resolve_missing(const struct resolver *resolver, const struct policy_item *item,
                    const char **ret, struct hutch_error *err)
{
    char shown[256];
    const char *text;
    int base;

    int r = start_of(resolver, item, &base, &text, err);
    if (r < 0)
        return r;
    str_printable(item->text, shown, sizeof shown);
    r = missing_name(resolver, base, text, ret);
    if (r == -EINVAL)
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "'%s' does not exist and has '..' in it: write the path without", shown);
    return r < 0 ? err_sys(err, r, item->origin, "cannot look at '%s'", shown) : 0;
}
