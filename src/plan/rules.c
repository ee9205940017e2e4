/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read, write, hide and protect: from what was written to entries at canonical paths.
 *
 *   read     there and readable; a missing path is an error
 *   write    there and writable; a missing path is an error
 *   hide     unreadable; a missing path has nothing to hide
 *   protect  readable, never changed; every directory above it, up to the writable one, is pinned
 *            by a mount of its own, which the kernel refuses to rename or remove
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/passes.h"

struct rules {
    const struct policy *policy;
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

static int add_bind(struct rules *rules, const char *target, struct resolved *found,
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
        .idmap = rules->plan->identity.privileged,
        .owner_uid = found->st.st_uid,
        .owner_gid = found->st.st_gid,
    };

    return plan_entry_add(rules->plan, rules->entries, mount) ? 0 : -1;
}

static int add_grant(struct rules *rules, const struct policy_item *item, struct resolved *found,
                     struct hutch_error *err)
{
    char shown[256];

    str_printable(item->text, shown, sizeof shown);
    if (!S_ISDIR(found->st.st_mode) && !S_ISREG(found->st.st_mode))
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "'%s' is neither a file nor a directory", shown);
    if (str_eq(found->path, "/") && (rules->why == WHY_WRITE || rules->plan->layout != LAYOUT_HOST))
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "'%s' is the root of the host: name a directory in it", shown);
    if (is_own(found->path))
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "'%s' is in a directory that every sandbox has of its own", shown);

    /* Already readable there through the layout: nothing to do. */
    const struct plan_entry *cover = plan_entry_covering(rules->entries, found->path);
    if (rules->why == WHY_READ && cover && cover->mount.why == WHY_LAYOUT &&
        cover->mount.kind == MOUNT_BIND && !rules->plan->identity.privileged)
        return 0;
    add_bind(rules, found->path, found, rules->why, item->origin, rules->why == WHY_WRITE);
    return 0;
}

/* Where a host path is inside, given what covers it; NULL when it is not visible at all. */
static const char *place_inside(struct rules *rules, const char *path)
{
    const char *best = NULL;
    size_t best_len = 0;

    for (size_t i = 0; i < rules->entries->count; i++) {
        const struct plan_mount *mount = &rules->entries->items[i].mount;
        if (mount->kind != MOUNT_BIND || mount->device || !path_is_within(path, mount->source))
            continue;
        size_t len = strlen(mount->source);
        if (best && len < best_len)
            continue;
        const char *rest = path + (str_eq(mount->source, "/") ? 0 : len);
        const char *target = str_eq(mount->target, "/") ? "" : mount->target;
        best = arena_printf(&rules->plan->arena, "%s%s", target, rest);
        best_len = len;
        if (best && !best[0])
            best = "/";
    }
    if (!best)
        return NULL;

    /* Something else may have been put over the place: a private /tmp over the host's. */
    const struct plan_entry *cover = plan_entry_covering(rules->entries, best);
    return cover && cover->mount.kind == MOUNT_BIND ? best : NULL;
}

/*
 * Pin every directory between the writable one and the protected path: mounted on itself, it cannot
 * be renamed or removed, so nothing else can come to be at the protected name.
 */
static int pin_parents(struct rules *rules, const struct policy_item *item, const char *target,
                       const struct plan_mount *cover, struct hutch_error *err)
{
    const char *dir = path_parent(&rules->plan->arena, target);

    while (dir && path_is_within(dir, cover->target) && !str_eq(dir, cover->target)) {
        const char *host = arena_printf(&rules->plan->arena, "%s%s", cover->source,
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

/* Where a missing path would be created, were it created: the entry that would receive it. */
static bool could_be_created(struct rules *rules, const char *path)
{
    const char *target = place_inside(rules, path);
    const struct plan_entry *cover = target ? plan_entry_covering(rules->entries, target) : NULL;

    return cover && cover->mount.writable;
}

static int add_protect(struct rules *rules, const struct policy_item *item, struct resolved *found,
                       struct hutch_error *err)
{
    char shown[256];

    str_printable(item->text, shown, sizeof shown);
    if (!found->exists) {
        const char *missing;
        int r = resolve_missing(rules->resolver, item, &missing, err);
        if (r < 0 || !could_be_created(rules, missing))
            return r;
        return err_set(err, HUTCH_EUNSUPPORTED, item->origin,
                       "protecting a path that does not exist ('%s') is not enforced yet: "
                       "create it first",
                       shown);
    }
    if (found->through_link && could_be_created(rules, found->path))
        return err_set(err, HUTCH_EUNSUPPORTED, item->origin,
                       "protecting '%s' through a symbolic link is not enforced yet: name '%s'",
                       shown, found->path);

    const char *target = place_inside(rules, found->path);
    if (!target)
        return 0; /* not visible inside, so not changeable */
    const struct plan_entry *cover = plan_entry_covering(rules->entries, target);
    if (!cover->mount.writable)
        return 0;
    if (str_eq(target, cover->mount.target) && cover->mount.why == WHY_WORKSPACE)
        return err_set(err, HUTCH_EPOLICY, item->origin,
                       "'%s' is the workspace, which is there to be changed", shown);
    int r = pin_parents(rules, item, target, &cover->mount, err);
    if (r < 0)
        return r;
    add_bind(rules, target, found, WHY_PROTECT, item->origin, false);
    return 0;
}

static int add_hide(struct rules *rules, const struct policy_item *item, struct resolved *found,
                    struct hutch_error *err)
{
    char shown[256];

    if (!found->exists)
        return 0;
    const char *target = place_inside(rules, found->path);
    if (!target)
        return 0;
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
    return 0;
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

    if (r < 0 || !could_be_created(rules, path))
        return r;
    return err_sys(err, -EACCES, item->origin, "cannot look at '%s'",
                   str_printable(item->text, shown, sizeof shown));
}

/* hide and protect: what is not there is fine. */
static int add_guarded(struct rules *rules, const struct policy_item *item, struct hutch_error *err)
{
    struct resolved found;

    /* Documents name paths in the workspace; one in memory starts empty. */
    if (item->text[0] != '/' && item->text[0] != '~' && !item->from_flag &&
        rules->resolver->workspace_fd < 0)
        return 0;
    int r = resolve_path(rules->resolver, item, &found, err);
    if (r < 0)
        return r;
    if (found.denied)
        r = add_denied(rules, item, err);
    else if (rules->why == WHY_HIDE)
        r = add_hide(rules, item, &found, err);
    else
        r = add_protect(rules, item, &found, err);
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

int plan_pass_rules(const struct policy *policy, struct resolver *resolver, struct plan *plan,
                    struct plan_entries *entries, struct hutch_error *err)
{
    /* Grants first: hide and protect depend on what they make visible and writable. */
    static const struct {
        enum policy_id id;
        enum mount_why why;
        bool globs;
    } lists[] = {
        {POLICY_READ, WHY_READ, false},
        {POLICY_WRITE, WHY_WRITE, false},
        {POLICY_PROTECT, WHY_PROTECT, true},
        {POLICY_HIDE, WHY_HIDE, true},
    };
    struct rules rules = {
        .policy = policy, .resolver = resolver, .plan = plan, .entries = entries};

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct policy_value *value = &policy->values[lists[i].id];
        rules.why = lists[i].why;
        for (size_t k = 0; k < value->count; k++) {
            const struct policy_item *item = &value->items[k];
            int r = lists[i].globs && path_is_glob(item->text)
                        ? resolve_glob(resolver, item, add_rule, &rules, err)
                        : add_rule(&rules, item, err);
            if (r < 0)
                return r;
        }
    }
    return arena_failed(&plan->arena) ? err_oom(err) : 0;
}
