/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read, write, hide and protect: from what was written to entries at canonical paths.
 *
 *   read     there and readable; a missing path is an error
 *   write    there and writable; a missing path is an error
 *   hide     unreadable; a missing path has nothing to hide
 *   protect  readable, never changed
 *
 * Both are found by name at every start. So every directory above such a path, up to the writable one, and
 * every link on the way is pinned by a mount of its own, which the kernel refuses to rename or remove.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/passes.h"
#include "sys/path.h"

struct rules {
    struct resolver *resolver;
    struct plan *plan;
    struct plan_entries *entries;
    enum mount_why why; /* of the list being read */
};

/* hutch makes these anew in every sandbox: a rule inside them could only name the host's. */
static bool is_own(const char *path)
{
    return path_is_within(path, "/proc") || path_is_within(path, "/dev");
}

static int refuse_own(const struct policy_item *item, struct hutch_error *err)
{
    char shown[256];

    return err_set(
        err, HUTCH_EPOLICY, item->origin,
        "'%s' is in a directory that every sandbox has of its own: no rule applies there",
        str_printable(item->text, shown, sizeof shown));
}

/*
 * A rule that would hide or protect nothing, since what a sandbox has there is not the host's. Of what
 * is in /dev/shm nothing gets in, which is as good; and a home that is a device means there is none.
 */
static bool is_idle_guard(const struct policy_item *item, const char *path)
{
    bool in_shm = path_is_within(path, "/dev/shm") && !str_eq(path, "/dev/shm");

    return is_own(path) && !in_shm && item->text[0] != '~';
}

static void add_bind(struct rules *rules, const char *target, struct resolved *found,
                     enum mount_why why, const char *origin, bool writable)
{
    struct plan_mount mount = {
        .kind = MOUNT_BIND,
        .why = why,
        .target = target,
        .source = found->path,
        .origin = origin,
        .source_fd = fd_take(&found->fd),
        .dev = found->st.st_dev,
        .ino = found->st.st_ino,
        .directory = S_ISDIR(found->st.st_mode),
        .writable = writable,
        .recursive = true,
        .idmap = plan_needs_idmap(rules->plan, found->path, &found->st, writable),
        .owner_uid = found->st.st_uid,
        .owner_gid = found->st.st_gid,
        .links = found->links,
    };

    plan_entry_add(rules->plan, rules->entries, mount);
}

static int add_grant(struct rules *rules, const struct policy_item *item, struct resolved *found,
                     struct hutch_error *err)
{
    char shown[256];

    str_printable(item->text, shown, sizeof shown);
    if (!S_ISDIR(found->st.st_mode) && !S_ISREG(found->st.st_mode))
        return err_set(err, HUTCH_EPOLICY, item->origin, "'%s' is neither a file nor a directory",
                       shown);
    if (str_eq(found->path, "/") && (rules->why == WHY_WRITE || rules->plan->layout != LAYOUT_HOST))
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "'%s' is the root of the host: name a directory in it", shown);
    if (is_own(found->path))
        return refuse_own(item, err);

    /*
     * The host layout has all of the root already. What lies deeper must become an entry of its own,
     * readable there or not: a write or hide rule that is yet to come may cover it.
     */
    if (str_eq(found->path, "/"))
        return 0;
    add_bind(rules, found->path, found, rules->why, item->origin, rules->why == WHY_WRITE);
    return 0;
}

/* Where a host path is inside, by a mount of a directory above it. */
static const char *place_in(struct arena *arena, const struct plan_mount *mount, const char *path)
{
    if (str_eq(mount->source, mount->target))
        return path;
    const char *rest = path + (str_eq(mount->source, "/") ? 0 : strlen(mount->source));
    const char *target = str_eq(mount->target, "/") ? "" : mount->target;
    const char *place = arena_concat(arena, target, rest);
    return place && !place[0] ? "/" : place;
}

/*
 * The next place inside at which a host path is seen, through an entry from *at on and before `end`;
 * NULL when there is none. One that is granted twice is seen twice: at /workspace, say, and in a
 * directory above it. *at is then one past the entry.
 */
static const char *next_place(const struct rules *rules, const char *path, size_t *at, size_t end)
{
    while (*at < end) {
        const struct plan_entry *entry = &rules->entries->items[(*at)++];
        const struct plan_mount *mount = &entry->mount;
        if (mount->kind != MOUNT_BIND || mount->device || !path_is_within(path, mount->source))
            continue;
        const char *place = place_in(&rules->plan->arena, mount, path);
        /* Something else may have been put over the place: a private /tmp over the host's. */
        if (place && plan_entry_shows(rules->entries, entry, place))
            return place;
    }
    return NULL;
}

/*
 * Pin every directory from `dir`, the deepest that exists above the path, to the writable one: mounted on itself,
 * it cannot be renamed or removed, so nothing else can come to be at a protected name, and what is hidden
 * has no other name when the next sandbox looks for it.
 */
static int pin_parents(struct rules *rules, const struct policy_item *item, const char *dir,
                       const struct plan_mount *cover, struct hutch_error *err)
{
    while (dir && path_is_within(dir, cover->target) && !str_eq(dir, cover->target)) {
        const char *host = arena_concat(
            &rules->plan->arena, cover->source,
            dir + (str_eq(cover->target, "/") ? 0 : strlen(cover->target)));
        struct policy_item self = {.text = host, .origin = item->origin, .from_flag = true};
        struct resolved found;
        if (!host)
            return err_oom(err);
        int r = resolve_path(rules->resolver, &self, &found, err);
        if (r < 0)
            return r;
        if (found.exists && str_eq(found.path, host))
            add_bind(rules, dir, &found, WHY_PIN, item->origin, true);
        fd_close(&found.fd);
        dir = path_parent(&rules->plan->arena, dir);
    }
    return 0;
}

/* Whether a path could be changed, or brought into being: some place of it is writable. */
static bool could_be_changed(const struct rules *rules, const char *path)
{
    size_t at = 0;

    while (next_place(rules, path, &at, rules->entries->count))
        if (rules->entries->items[at - 1].mount.writable)
            return true;
    return false;
}

/* One place of a protected path, seen through `cover`. */
static int protect_place(struct rules *rules, const struct policy_item *item,
                         const struct resolved *found, const char *target,
                         const struct plan_mount *cover, bool link, struct hutch_error *err)
{
    char shown[256];
    struct resolved own = *found;

    if (str_eq(target, cover->target) && cover->why == WHY_WORKSPACE)
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "'%s' is the workspace, which is there to be changed",
                       str_printable(item->text, shown, sizeof shown));
    int r = pin_parents(rules, item, path_parent(&rules->plan->arena, target), cover, err);
    if (r < 0)
        return r;
    own.fd = sys_dup(found->fd, 3);
    if (own.fd < 0)
        return err_sys(err, own.fd, item->origin, "cannot keep '%s' open",
                       str_printable(item->text, shown, sizeof shown));
    add_bind(rules, target, &own, link ? WHY_PIN : WHY_PROTECT, item->origin, link);
    return 0;
}

/* Every writable place of an existing path is mounted on itself. */
static int guard_places(struct rules *rules, const struct policy_item *item,
                        const struct resolved *found, bool link, struct hutch_error *err)
{
    const char *target;
    size_t end = rules->entries->count;
    int r = 0;

    for (size_t at = 0; r == 0 && (target = next_place(rules, found->path, &at, end));) {
        const struct plan_mount cover = rules->entries->items[at - 1].mount;
        if (cover.writable)
            r = protect_place(rules, item, found, target, &cover, link, err);
    }
    return r;
}

struct guarded_item {
    struct rules *rules;
    const struct policy_item *item;
};

/*
 * A link on the way to a protected or hidden path is as good as the path: it must stay what it is. Mounted
 * on itself, it can still be followed, and neither removed nor replaced.
 */
static int guard_link(void *arg, const char *path, struct hutch_error *err)
{
    const struct guarded_item *guarded = arg;
    struct resolved link = {.exists = true, .path = path};

    link.fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (link.fd < 0 || fstat(link.fd, &link.st) < 0) {
        int r = -errno;
        fd_close(&link.fd);
        return err_sys(err, r, guarded->item->origin, "cannot look at '%s'", path);
    }
    int r = guard_places(guarded->rules, guarded->item, &link, true, err);
    fd_close(&link.fd);
    return r;
}

static int guard_existing(struct rules *rules, const struct policy_item *item, const char *path,
                          struct hutch_error *err)
{
    struct policy_item self = {.text = path, .origin = item->origin, .from_flag = true};
    struct resolved found;

    if (!could_be_changed(rules, path))
        return 0;
    int r = resolve_path(rules->resolver, &self, &found, err);
    if (r < 0)
        return r;
    if (found.exists)
        r = guard_places(rules, item, &found, false, err);
    fd_close(&found.fd);
    return r;
}

/* A path that does not exist: its parents are pinned, and init watches for it to appear. */
static int watch_missing(struct rules *rules, const struct policy_item *item, const char *directory,
                         const char *rest, struct hutch_error *err)
{
    struct arena *arena = &rules->plan->arena;
    const char *path = path_normalize(arena, directory, rest);
    const char *target;
    size_t end = rules->entries->count;
    char shown[256];

    if (!path && !arena_failed(arena))
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "'%s' does not exist and has '..' in it: write the path without",
                       str_printable(item->text, shown, sizeof shown));
    for (size_t at = 0; path && (target = next_place(rules, path, &at, end));) {
        const struct plan_mount cover = rules->entries->items[at - 1].mount;
        size_t dir_len = strlen(target) - strlen(path) + strlen(directory);
        if (!cover.writable)
            continue;
        const char *dir = dir_len ? arena_strndup(arena, target, dir_len) : "/";
        int r = pin_parents(rules, item, dir, &cover, err);
        struct plan *plan = rules->plan;
        void *grown = arena_grow(arena, plan->watches, plan->watch_count, &plan->watch_cap,
                                 sizeof *plan->watches);
        if (r < 0 || !grown)
            return r < 0 ? r : err_oom(err);
        plan->watches = grown;
        plan->watches[plan->watch_count++] = (struct plan_watch){
            .directory = dir,
            .rest = target + dir_len + strspn(target + dir_len, "/"),
        };
    }
    return path && !arena_failed(arena) ? 0 : err_oom(err);
}

static int compare_watches(const void *a, const void *b)
{
    const struct plan_watch *one = a;
    const struct plan_watch *other = b;
    int order = strcmp(one->directory, other->directory);

    return order ? order : strcmp(one->rest, other->rest);
}

static bool has_many_directories(const struct plan *plan)
{
    for (size_t i = 1; i < plan->watch_count; i++)
        if (!str_eq(plan->watches[i].directory, plan->watches[0].directory))
            return true;
    return false;
}

/* Those of one directory together: init watches it once. A path that is granted twice is watched at both its places. */
static void order_watches(struct plan *plan)
{
    if (has_many_directories(plan))
        qsort(plan->watches, plan->watch_count, sizeof *plan->watches, compare_watches);
}

/*
 * A path that the caller's rights do not reach is out of the sandbox's reach too, unless it is in a
 * place where the sandbox can change those rights.
 */
static int add_denied(struct rules *rules, const struct policy_item *item, struct hutch_error *err)
{
    const char *path;
    char shown[256];
    int r = resolve_missing(rules->resolver, item, &path, err);

    if (r == 0 && is_idle_guard(item, path))
        return refuse_own(item, err);
    if (r < 0 || !could_be_changed(rules, path))
        return r;
    return err_sys(err, -EACCES, item->origin, "cannot look at '%s'",
                   str_printable(item->text, shown, sizeof shown));
}

/*
 * Walked first, not resolved: most protected paths of a profile do not exist, and a walk that ends
 * early is all it takes to know where they would be.
 */
static int add_protect(struct rules *rules, const struct policy_item *item, struct hutch_error *err)
{
    struct guarded_item guarded = {.rules = rules, .item = item};
    struct resolved_walk walk;

    int r = resolve_walk(rules->resolver, item, guard_link, &guarded, &walk, err);
    if (r < 0)
        return r;
    if (is_idle_guard(item, walk.directory))
        return refuse_own(item, err);
    if (*walk.rest && walk.error == EACCES)
        return add_denied(rules, item, err);
    if (*walk.rest && walk.error)
        return watch_missing(rules, item, walk.directory, walk.rest, err);

    /* The path itself, or something in its way: either is guarded against change. */
    const char *there = walk.directory;
    if (*walk.rest)
        there = path_append(&rules->plan->arena, walk.directory, walk.rest,
                            strcspn(walk.rest, "/"));
    return there ? guard_existing(rules, item, there, err) : err_oom(err);
}

/* One place of a hidden path, seen through `cover`. */
static int hide_place(struct rules *rules, const struct policy_item *item,
                      const struct resolved *found, const char *target,
                      const struct plan_mount *cover, struct hutch_error *err)
{
    char shown[256];

    if (str_eq(target, "/") || str_eq(target, rules->plan->workspace))
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "'%s' cannot be hidden: the sandbox works in it",
                       str_printable(item->text, shown, sizeof shown));
    plan_entry_add(rules->plan, rules->entries,
                   (struct plan_mount){.kind = MOUNT_MASK,
                                       .why = WHY_HIDE,
                                       .target = target,
                                       .source = found->path,
                                       .origin = item->origin,
                                       .source_fd = -1,
                                       .directory = S_ISDIR(found->st.st_mode)});
    return cover->writable
               ? pin_parents(rules, item, path_parent(&rules->plan->arena, target), cover, err)
               : 0;
}

static int add_hide(struct rules *rules, const struct policy_item *item,
                    const struct resolved *found, struct hutch_error *err)
{
    struct guarded_item guarded = {.rules = rules, .item = item};
    struct resolved_walk walk;
    const char *target;
    int r = 0;

    if (!found->exists)
        return 0;
    if (is_idle_guard(item, found->path))
        return refuse_own(item, err);
    size_t end = rules->entries->count;
    for (size_t at = 0; r == 0 && (target = next_place(rules, found->path, &at, end));) {
        const struct plan_mount cover = rules->entries->items[at - 1].mount;
        r = hide_place(rules, item, found, target, &cover, err);
    }
    return r < 0 || found->direct
               ? r
               : resolve_walk(rules->resolver, item, guard_link, &guarded, &walk, err);
}

/* hide and protect: what is not there is fine. */
static int add_guarded(struct rules *rules, const struct policy_item *item, struct hutch_error *err)
{
    struct resolved found;

    if (rules->why == WHY_PROTECT)
        return add_protect(rules, item, err);
    int r = resolve_path(rules->resolver, item, &found, err);
    if (r < 0)
        return r;
    r = found.denied ? add_denied(rules, item, err) : add_hide(rules, item, &found, err);
    fd_close(&found.fd);
    return r;
}

static int add_rule(void *arg, const struct policy_item *item, struct hutch_error *err)
{
    struct rules *rules = arg;
    struct resolved found;

    if (rules->why == WHY_HIDE || rules->why == WHY_PROTECT)
        return add_guarded(rules, item, err);
    int r = resolve_existing(rules->resolver, item, &found, err);
    if (r < 0)
        return r;
    r = add_grant(rules, item, &found, err);
    fd_close(&found.fd);
    return r;
}

/* With every match of a pattern, where those are taken. */
static int add_item(struct rules *rules, const struct policy_item *item, struct hutch_error *err)
{
    bool globs = rules->why == WHY_HIDE || rules->why == WHY_PROTECT;

    if (globs && path_is_glob(item->text))
        return resolve_glob(rules->resolver, item, add_rule, rules, err);
    return add_rule(rules, item, err);
}

static int add_item_at(struct rules *rules, const struct policy_item *item,
                       const struct resolve_base *base, struct hutch_error *err)
{
    struct resolver start = *rules->resolver;
    struct rules there = *rules;

    start.workspace = *base;
    there.resolver = &start;
    int r = add_item(&there, item, err);
    rules->resolver->walked = start.walked;
    return r;
}

/* Whether the sandbox sees a directory of the host, or a part of it. */
static bool is_seen(const struct rules *rules, const char *directory)
{
    for (size_t i = 0; i < rules->entries->count; i++) {
        const struct plan_mount *mount = &rules->entries->items[i].mount;
        if (mount->kind == MOUNT_BIND &&
            (path_is_within(directory, mount->source) || path_is_within(mount->source, directory)))
            return true;
    }
    return false;
}

/*
 * What documents hide and protect in the workspace they mean where the project is: in the repository
 * too and, when the workspace is in memory, in the caller's directory, if the sandbox sees that.
 */
static int add_item_everywhere(struct rules *rules, const struct policy_item *item,
                               struct hutch_error *err)
{
    struct resolver *resolver = rules->resolver;
    struct resolve_base *project = resolver->workspace.fd < 0 ? &resolver->cwd
                                                              : &resolver->workspace;
    int r = resolve_base_name(resolver, project, item->origin, err);

    if (r == 0 && is_seen(rules, project->name))
        r = add_item_at(rules, item, project, err);
    if (r == 0 && resolver->repo.fd >= 0 && !str_eq(resolver->repo.name, project->name))
        r = add_item_at(rules, item, &resolver->repo, err);
    return r;
}

static bool is_of_project(const struct rules *rules, const struct policy_item *item)
{
    return (rules->why == WHY_HIDE || rules->why == WHY_PROTECT) && !item->from_flag &&
           item->text[0] != '/' && item->text[0] != '~';
}

int plan_pass_rules(const struct policy *policy, struct resolver *resolver, struct plan *plan,
                    struct plan_entries *entries, struct hutch_error *err)
{
    /* Grants first: hide and protect depend on what they make visible and writable. */
    static const struct {
        enum policy_id id;
        enum mount_why why;
    } lists[] = {
        {POLICY_READ, WHY_READ},
        {POLICY_WRITE, WHY_WRITE},
        {POLICY_PROTECT, WHY_PROTECT},
        {POLICY_HIDE, WHY_HIDE},
    };
    struct rules rules = {.resolver = resolver, .plan = plan, .entries = entries};

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct policy_value *value = &policy->values[lists[i].id];
        rules.why = lists[i].why;
        for (size_t k = 0; k < value->count; k++) {
            const struct policy_item *item = &value->items[k];
            int r = is_of_project(&rules, item) ? add_item_everywhere(&rules, item, err)
                                                : add_item(&rules, item, err);
            if (r < 0)
                return r;
        }
    }
    if (arena_failed(&plan->arena))
        return err_oom(err);
    order_watches(plan);
    return 0;
}
