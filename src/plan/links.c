/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that code in a sandbox could have made.
 *
 * What lies in a workspace is not trusted: an earlier run may have put a link to a key where a policy
 * names a cache. So a grant that was reached through a link in such a tree gives nothing that its
 * target would not give without it: it stays in the tree, and opens nothing there that a rule hides or
 * keeps from change. Links in all other places are the user's own, and are followed.
 */
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/passes.h"

/* What code in a sandbox can write to, now or (a repository) in another run. */
static bool is_untrusted(const struct plan_mount *mount)
{
    return mount->kind == MOUNT_BIND &&
           (mount->why == WHY_WORKSPACE || mount->why == WHY_REPO || mount->why == WHY_WRITE);
}

/* The next tree from *at on that has `link` in it. *at is then one past it. */
static const char *next_tree(const struct plan_entries *entries, const struct resolved_link *link,
                             size_t *at)
{
    while (*at < entries->count) {
        const struct plan_mount *mount = &entries->items[(*at)++].mount;
        if (is_untrusted(mount) && path_is_within(link->path, mount->source))
            return mount->source;
    }
    return NULL;
}

/* The first link on the way to a grant that is not the user's own; NULL when all are. */
static const struct resolved_link *untrusted_link(const struct plan_entries *entries,
                                                  const struct plan_mount *mount)
{
    for (const struct resolved_link *link = mount->links; link; link = link->next) {
        size_t at = 0;
        if (next_tree(entries, link, &at))
            return link;
    }
    return NULL;
}

static bool is_rule(const struct plan_mount *mount)
{
    return is_untrusted(mount) || mount->why == WHY_READ || mount->why == WHY_PROTECT ||
           mount->why == WHY_HIDE;
}

/* What the policy says about a path of the host, but for grants that are themselves in question. */
static const struct plan_mount *rule_about(const struct plan_entries *entries, const char *path)
{
    const struct plan_entry *best = NULL;
    size_t best_len = 0;

    for (size_t i = 0; i < entries->count; i++) {
        const struct plan_entry *entry = &entries->items[i];
        const struct plan_mount *mount = &entry->mount;
        if (!is_rule(mount) || !mount->source || !path_is_within(path, mount->source) ||
            untrusted_link(entries, mount))
            continue;
        size_t len = strlen(mount->source);
        if (!best || len > best_len || (len == best_len && entry->precedence > best->precedence)) {
            best = entry;
            best_len = len;
        }
    }
    return best ? &best->mount : NULL;
}

static int refuse(const struct plan_mount *mount, const struct resolved_link *link,
                  const char *reason, struct hutch_error *err)
{
    char from[120];
    char to[120];

    return err_set(err, HUTCH_EPOLICY, mount->origin,
                   "the link '%s', which code in a sandbox may have made, leads to '%s', %s: "
                   "name the target itself",
                   str_printable(link->path, from, sizeof from),
                   str_printable(mount->source, to, sizeof to), reason);
}

/* Every tree that a link is in must have the target in it too. */
static int check_trees(const struct plan_entries *entries, const struct plan_mount *mount,
                       struct hutch_error *err)
{
    for (const struct resolved_link *link = mount->links; link; link = link->next) {
        const char *tree;
        for (size_t at = 0; (tree = next_tree(entries, link, &at));)
            if (!path_is_within(mount->source, tree))
                return refuse(mount, link, "outside of what a sandbox may write to", err);
    }
    return 0;
}

static int check_rules(const struct plan_entries *entries, const struct plan_mount *mount,
                       struct hutch_error *err)
{
    const struct resolved_link *link = untrusted_link(entries, mount);
    const struct plan_mount *rule = link ? rule_about(entries, mount->source) : NULL;

    if (rule && rule->why == WHY_HIDE)
        return refuse(mount, link, "which is hidden", err);
    if (rule && mount->writable && !rule->writable)
        return refuse(mount, link, "which is not to be changed", err);
    return 0;
}

int plan_pass_links(const struct plan_entries *entries, struct hutch_error *err)
{
    for (size_t i = 0; i < entries->count; i++) {
        const struct plan_mount *mount = &entries->items[i].mount;
        int r = mount->links ? check_trees(entries, mount, err) : 0;
        if (r == 0 && mount->links)
            r = check_rules(entries, mount, err);
        if (r < 0)
            return r;
    }
    return 0;
}
