/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of overlap, in one place:
 *  - the most specific path wins: what lies deeper is mounted later, on top;
 *  - at the same path, hide wins over protect over write over read over what the layout has there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/passes.h"

static unsigned precedence_of(enum mount_why why)
{
    switch (why) {
    case WHY_LAYOUT:
    case WHY_MASK:
    case WHY_DEVICE: return 0;
    case WHY_HOME: return 1;
    case WHY_READ:
    case WHY_REPO: return 2;
    case WHY_PIN: return 3;
    case WHY_WRITE:
    case WHY_WORKSPACE: return 4;
    case WHY_PROTECT: return 5;
    case WHY_HIDE: return 6;
    }
    return 0;
}

/* Whether everybody may pass every directory above `path`. */
static bool is_reachable(struct plan *plan, const char *path)
{
    struct stat st;

    for (const char *dir = path_parent(&plan->arena, path); dir && !str_eq(dir, "/");
         dir = path_parent(&plan->arena, dir))
        if (stat(dir, &st) < 0 || !(st.st_mode & S_IXOTH))
            return false;
    return true;
}

bool plan_needs_idmap(struct plan *plan, const char *path, const struct stat *st, bool writable)
{
    mode_t open_to_all = S_ISDIR(st->st_mode) ? S_IROTH | S_IXOTH : S_IROTH;

    if (!plan->identity.privileged)
        return false;
    return writable || (st->st_mode & open_to_all) != open_to_all || !is_reachable(plan, path);
}

struct plan_entry *plan_entry_add(struct plan *plan, struct plan_entries *entries,
                                  struct plan_mount mount)
{
    void *grown = arena_grow(&plan->arena, entries->items, entries->count, &entries->cap,
                             sizeof *entries->items);
    if (!grown || !mount.target) {
        fd_close(&mount.source_fd);
        return NULL;
    }
    entries->items = grown;
    struct plan_entry *entry = &entries->items[entries->count++];
    entry->mount = mount;
    /* The policy, which the name is from, may be gone before the plan is. */
    entry->mount.origin = mount.origin ? arena_strdup(&plan->arena, mount.origin) : NULL;
    entry->precedence = precedence_of(mount.why);
    return entry;
}

/* Made on what is there, as opposed to a mount, which decides what that is. */
static bool is_node(const struct plan_mount *mount)
{
    return mount->kind == MOUNT_DIR || mount->kind == MOUNT_LINK || mount->kind == MOUNT_FILE;
}

static bool covers(const struct plan_entry *entry, const char *path)
{
    return path_is_within(path, entry->mount.target) && !is_node(&entry->mount);
}

/* Which of two entries that cover a path decides: of two that are alike in all, the first. */
static bool wins_over(const struct plan_entry *one, const struct plan_entry *other)
{
    size_t one_len = strlen(one->mount.target);
    size_t other_len = strlen(other->mount.target);

    if (one_len != other_len)
        return one_len > other_len;
    if (one->precedence != other->precedence)
        return one->precedence > other->precedence;
    return one < other;
}

const struct plan_entry *plan_entry_covering(const struct plan_entries *entries, const char *path)
{
    const struct plan_entry *best = NULL;

    for (size_t i = 0; i < entries->count; i++) {
        const struct plan_entry *entry = &entries->items[i];
        if (covers(entry, path) && (!best || wins_over(entry, best)))
            best = entry;
    }
    return best;
}

bool plan_entry_shows(const struct plan_entries *entries, const struct plan_entry *entry,
                      const char *path)
{
    for (size_t i = entries->count; i-- > 0;) /* what covers others comes after them, mostly */
        if (covers(&entries->items[i], path) && wins_over(&entries->items[i], entry))
            return false;
    return true;
}

/* Parents before children, and for one path the entry that wins last. */
static int by_target(const void *a, const void *b)
{
    const struct plan_entry *x = a;
    const struct plan_entry *y = b;
    const char *p = x->mount.target;
    const char *q = y->mount.target;

    /* A slash sorts before every other byte, so that "/a/b" comes before "/a-b". */
    while (*p && *p == *q) {
        p++;
        q++;
    }
    int cp = *p == '/' ? 1 : *p ? (unsigned char)*p + 1 : 0;
    int cq = *q == '/' ? 1 : *q ? (unsigned char)*q + 1 : 0;
    if (cp != cq)
        return cp - cq;
    return (int)x->precedence - (int)y->precedence;
}

static bool is_tmpfs(const struct plan_entry *entry)
{
    return entry && entry->mount.kind == MOUNT_TMPFS;
}

static void emit(struct plan *plan, struct plan_mount mount)
{
    void *grown = arena_grow(&plan->arena, plan->mounts, plan->mount_count, &plan->mount_cap,
                             sizeof *plan->mounts);
    if (!grown) {
        fd_close(&mount.source_fd);
        return;
    }
    plan->mounts = grown;
    plan->mounts[plan->mount_count++] = mount;
}

static bool already_made(const struct plan *plan, const char *path)
{
    for (size_t i = plan->mount_count; i-- > 0;)
        if (plan->mounts[i].kind != MOUNT_SEAL && str_eq(plan->mounts[i].target, path))
            return true;
    return false;
}

/*
 * Make the directories above `target` that do not exist: those on a tmpfs of ours, and those in a
 * workspace that serves as the root. Everything else exists on the host, as resolved.
 */
static void emit_place(struct plan *plan, const struct plan_entries *above, const char *target,
                       enum mount_kind kind)
{
    if (str_eq(target, "/") || already_made(plan, target))
        return;

    const char *parent = path_parent(&plan->arena, target);
    const struct plan_entry *cover = parent ? plan_entry_covering(above, parent) : NULL;
    if (!cover)
        return;
    bool in_root_workspace = cover->mount.kind == MOUNT_BIND && cover->mount.why == WHY_WORKSPACE &&
                             str_eq(cover->mount.target, "/");
    if (!is_tmpfs(cover) && !in_root_workspace)
        return;

    emit_place(plan, above, parent, MOUNT_DIR);
    emit(plan, (struct plan_mount){.kind = kind,
                                   .why = cover->mount.why == WHY_DEVICE ? WHY_DEVICE : WHY_LAYOUT,
                                   .target = target,
                                   .source_fd = -1,
                                   .on_host = in_root_workspace,
                                   /* Below a hidden directory: passable, not readable. */
                                   .mode = cover->mount.why == WHY_HIDE ? 0111 : 0755});
}

/* A hidden directory with something visible inside must be passable: an empty tmpfs, not a mask. */
static void open_hidden_parents(struct plan_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        struct plan_mount *hide = &entries->items[i].mount;
        if ((hide->kind != MOUNT_MASK && hide->kind != MOUNT_EMPTY) || !hide->directory)
            continue;
        for (size_t k = i + 1; k < entries->count; k++) {
            const struct plan_mount *below = &entries->items[k].mount;
            if (!path_is_within(below->target, hide->target))
                break;
            if (below->kind == MOUNT_BIND || below->kind == MOUNT_TMPFS) {
                hide->mode = hide->kind == MOUNT_MASK ? 0111 : 0755;
                hide->kind = MOUNT_TMPFS;
                break;
            }
        }
    }
}

/*
 * Of entries with one target the last wins; the others' descriptors are closed. A link of the layout
 * (/var/tmp) gives way to what is granted below its name: that needs a directory there.
 */
static void drop_losers(struct plan_entries *entries)
{
    size_t kept = 0;

    for (size_t i = 0; i < entries->count; i++) {
        struct plan_entry *entry = &entries->items[i];
        const char *next = i + 1 < entries->count ? entries->items[i + 1].mount.target : "";
        if (str_eq(entry->mount.target, next) ||
            (entry->mount.kind == MOUNT_LINK && path_is_within(next, entry->mount.target)))
            fd_close(&entry->mount.source_fd);
        else
            entries->items[kept++] = *entry;
    }
    entries->count = kept;
}

/* What `mount` is put on, pins aside: the deepest of `above`, which are sorted. */
static const struct plan_mount *place_of(const struct plan_entries *above,
                                         const struct plan_mount *mount)
{
    for (size_t i = above->count; i-- > 0;) {
        const struct plan_entry *entry = &above->items[i];
        if (!is_node(&entry->mount) && entry->mount.why != WHY_PIN &&
            path_is_within(mount->target, entry->mount.target))
            return &entry->mount;
    }
    return NULL;
}

/*
 * A pin keeps a directory of a writable place where it is, and is as writable as that place. When
 * another rule hides or protects the place, a pin would open it again; nothing can be moved there,
 * so it is not needed either. What is hidden already needs no hiding, and is not there to be hidden.
 * Files and links of the layout's own (/etc/passwd) are not made in a directory of the host that was
 * granted in their place.
 */
static bool is_idle(const struct plan_entries *above, const struct plan_mount *mount)
{
    const struct plan_mount *place = place_of(above, mount);

    if (mount->why == WHY_PIN)
        return !place || !place->writable;
    if (mount->kind == MOUNT_MASK)
        return place && place->kind == MOUNT_MASK;
    return is_node(mount) && place && place->kind != MOUNT_TMPFS;
}

static void drop_idle(struct plan_entries *entries)
{
    struct plan_entries kept = {.items = entries->items};

    for (size_t i = 0; i < entries->count; i++) {
        struct plan_entry entry = entries->items[i];
        if (is_idle(&kept, &entry.mount))
            fd_close(&entry.mount.source_fd);
        else
            kept.items[kept.count++] = entry;
    }
    entries->count = kept.count;
}

static void emit_entry(struct plan *plan, const struct plan_entries *above,
                       const struct plan_mount *mount)
{
    bool is_file = (mount->kind == MOUNT_BIND || mount->kind == MOUNT_MASK) && !mount->directory;

    if (is_node(mount)) {
        char *parent = path_parent(&plan->arena, mount->target);
        if (parent)
            emit_place(plan, above, parent, MOUNT_DIR);
    } else {
        emit_place(plan, above, mount->target, is_file ? MOUNT_FILE : MOUNT_DIR);
    }
    emit(plan, *mount);
}

/* What is there because programs need it, in a layout where all else is the code's own. */
static void list_system_dirs(struct plan *plan)
{
    size_t count = 0;

    if (plan->layout == LAYOUT_HOST)
        return;
    const char **dirs = arena_alloc(&plan->arena, (plan->mount_count + 1) * sizeof *dirs);
    for (size_t i = 0; dirs && i < plan->mount_count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        if (mount->kind == MOUNT_BIND && mount->why == WHY_LAYOUT && mount->directory &&
            !str_eq(mount->target, "/"))
            dirs[count++] = mount->target;
    }
    plan->system_dirs = dirs;
}

int plan_pass_mounts(struct plan *plan, struct plan_entries *entries, struct hutch_error *err)
{
    struct plan_entries above = *entries;

    qsort(entries->items, entries->count, sizeof *entries->items, by_target);
    drop_losers(entries);
    drop_idle(entries);
    open_hidden_parents(entries);

    for (size_t i = 0; i < entries->count; i++) {
        above.count = i; /* what is already there when this one is put in place */
        emit_entry(plan, &above, &entries->items[i].mount);
    }

    /* Seals last: until then mount points are made inside. The workspace and /tmp stay open. */
    for (size_t i = 0; i < entries->count; i++) {
        const struct plan_mount *mount = &entries->items[i].mount;
        if (mount->kind == MOUNT_TMPFS && !mount->writable)
            emit(plan, (struct plan_mount){.kind = MOUNT_SEAL,
                                           .why = mount->why,
                                           .target = mount->target,
                                           .source_fd = -1});
    }
    list_system_dirs(plan);
    return arena_failed(&plan->arena) ? err_oom(err) : 0;
}
