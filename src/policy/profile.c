/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: named policies. Looked up in this order:
 *
 *  1. shipped with hutch, compiled in;
 *  2. $XDG_CONFIG_HOME/hutch/profiles/NAME.json, or ~/.config/hutch/profiles/NAME.json;
 *  3. /etc/hutch/profiles/NAME.json.
 *
 * A shipped name cannot be shadowed by a file: `strict` always means strict, whatever lies in a
 * home directory that code in a sandbox may have been allowed to write to.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/suggest.h"
#include "policy/merge.h"
#include "policy/profile_data.h"
#include "policy/set.h"

/* More than any sensible family of profiles; keeps a long chain of files from filling the stack. */
enum { EXTENDS_MOST = 8 };

enum { DIR_COUNT = 2 };

/* The text of one profile. */
struct profile {
    const char *text; /* shipped, or `owned` */
    size_t len;
    char *owned;
    char path[PATH_MAX]; /* empty for a shipped one */
};

static void profile_clear(struct profile *profile)
{
    free(profile->owned);
}
#define profile_auto __attribute__((cleanup(profile_clear)))

static bool is_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    return len > 0 && name[len] == '\0' && name[0] != '_' && name[0] != '-' && len < NAME_MAX - 8;
}

static const struct profile_shipped *find_shipped(const char *name)
{
    for (size_t i = 0; i < profile_shipped_count; i++) {
        if (str_eq(profile_shipped[i].name, name))
            return &profile_shipped[i];
    }
    return NULL;
}

/* The directories of installed profiles, by index; false when there is no such one here. */
static bool installed_dir(size_t index, char out[PATH_MAX])
{
    const char *config = secure_getenv("XDG_CONFIG_HOME");
    const char *home = secure_getenv("HOME");
    int len = -1;

    /* Relative ones are ignored, as the XDG specification wants it. */
    if (index == 1)
        len = snprintf(out, PATH_MAX, "/etc/hutch/profiles");
    else if (config && config[0] == '/')
        len = snprintf(out, PATH_MAX, "%s/hutch/profiles", config);
    else if (home && home[0] == '/')
        len = snprintf(out, PATH_MAX, "%s/.config/hutch/profiles", home);
    return len >= 0 && len < PATH_MAX;
}

static bool make_path(char out[PATH_MAX], const char *dir, const char *name)
{
    int len = snprintf(out, PATH_MAX, "%s/%s.json", dir, name);

    return len >= 0 && len < PATH_MAX;
}

/* 1 when the file is there and read, 0 when there is none. */
static int read_installed(struct profile *profile, struct hutch_error *err)
{
    struct stat st;
    /* Not blocking: a named pipe put there must not hang whoever names it. */
    fd_auto int fd = open(profile->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, -errno, profile->path, "cannot open the profile '%s'", profile->path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, HUTCH_EPOLICY, profile->path, "the profile '%s' is not a file",
                       profile->path);
    int r = file_read_all(fd, POLICY_JSON_MAX, &profile->owned, &profile->len);
    if (r < 0)
        return err_sys(err, r, profile->path, "cannot read the profile '%s'", profile->path);
    profile->text = profile->owned;
    return 1;
}

static int no_such_profile(int code, const char *name, const char *where, struct hutch_error *err)
{
    struct suggest suggest;
    char shown[64];

    str_printable(name, shown, sizeof(shown));
    suggest_init(&suggest, name);
    for (size_t i = 0; i < profile_shipped_count; i++)
        suggest_offer(&suggest, profile_shipped[i].name);
    const char *nearest = suggest_best(&suggest);
    if (nearest)
        return err_set(err, code, where, "there is no profile '%s' (did you mean '%s'?)", shown,
                       nearest);
    return err_set(err, code, where, "there is no profile '%s'; see 'hutch profile list'", shown);
}

/* `missing` is the code for a profile that does not exist. */
static int find_profile(const char *name, const char *where, int missing, struct profile *ret,
                        struct hutch_error *err)
{
    const struct profile_shipped *shipped = find_shipped(name);
    int r = 0;

    if (shipped) {
        ret->text = shipped->text;
        ret->len = shipped->len;
        return 0;
    }
    if (!is_name(name)) {
        char shown[64];

        return err_set(err, missing, where,
                       "'%s' is not the name of a profile: use a-z, 0-9, '-' and '_'",
                       str_printable(name, shown, sizeof(shown)));
    }
    for (size_t i = 0; i < DIR_COUNT && r == 0; i++) {
        char dir[PATH_MAX];

        if (installed_dir(i, dir) && make_path(ret->path, dir, name))
            r = read_installed(ret, err);
    }
    if (r == 0)
        return no_such_profile(missing, name, where, err);
    return r < 0 ? r : 0;
}

/* "a -> b -> a", outermost first. */
static void chain_text(const struct merge_chain *chain, char *out, size_t size)
{
    if (chain->outer)
        chain_text(chain->outer, out, size);
    size_t len = strlen(out);
    snprintf(out + len, size - len, "%s%s", len ? " -> " : "", chain->name);
}

static int check_chain(const struct merge_chain *chain, const char *where, struct hutch_error *err)
{
    size_t depth = 0;

    for (const struct merge_chain *c = chain->outer; c; c = c->outer) {
        if (++depth < EXTENDS_MOST && !str_eq(c->name, chain->name))
            continue;
        char text[sizeof(err->msg)] = "";

        chain_text(chain, text, sizeof(text));
        if (depth >= EXTENDS_MOST)
            return err_set(err, HUTCH_EPOLICY, where, "extends goes deeper than %d: %s",
                           EXTENDS_MOST, text);
        return err_set(err, HUTCH_EPOLICY, where, "extends goes in a circle: %s", text);
    }
    return 0;
}

/* The next field of a record. */
static const char *next_field(const char **record)
{
    size_t len = (unsigned char)**record;
    const char *field = *record + 1;

    *record = field + len + 1;
    return field;
}

static enum policy_id find_field(const char *path)
{
    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++) {
        const char *rest = path;
        if (policy_fields[i].section) {
            if (path[0] != policy_fields[i].section[0])
                continue;
            size_t len = strlen(policy_fields[i].section);
            if (strncmp(path, policy_fields[i].section, len) != 0 || path[len] != '.')
                continue;
            rest += len + 1;
        }
        if (str_eq(policy_fields[i].key, rest))
            return (enum policy_id)i;
    }
    return POLICY_FIELD_COUNT;
}

/* A shipped profile, from its list of settings: the way of every ordinary start. */
static int merge_shipped(struct policy *policy, const struct profile_shipped *shipped,
                         struct hutch_error *err)
{
    struct set_source source = {.from_profile = true, .constant = true};
    const char *record = shipped->settings;
    enum policy_id id = POLICY_FIELD_COUNT;

    for (size_t i = 0; i < shipped->setting_count; i++) {
        const char *key = next_field(&record);
        source.origin = next_field(&record);
        char how = *next_field(&record);
        int r;

        if (*key) {
            id = find_field(key);
            if (id == POLICY_FIELD_COUNT)
                return err_set(err, HUTCH_EINTERNAL, source.origin, "unknown key '%s'", key);
            source.distinct = policy->values[id].count == 0; /* no document says one twice */
        }
        if (how == '=') {
            r = set_text(policy, id, next_field(&record), &source, err);
        } else if (how == '+') {
            r = set_item(policy, id, next_field(&record), &source, err);
        } else if (how == ':') {
            const char *name = next_field(&record);
            r = set_entry(policy, id, name, next_field(&record), &source, err);
        } else {
            r = how == '[' ? set_list(policy, id, &source, err)
                           : set_nothing(policy, id, &source, err);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int merge_profile(struct policy *policy, const char *name, const char *where,
                  const struct merge_chain *chain, struct hutch_error *err)
{
    const struct merge_chain here = {.name = name, .outer = chain};
    const struct profile_shipped *shipped = find_shipped(name);
    profile_auto struct profile profile = {.text = ""};
    char label[NAME_MAX + 16];

    int r = check_chain(&here, where, err);
    if (r < 0)
        return r;
    if (shipped)
        return merge_shipped(policy, shipped, err);
    r = find_profile(name, where, HUTCH_EPOLICY, &profile, err);
    if (r < 0)
        return r;
    snprintf(label, sizeof(label), "profile %s", name);
    return merge_document(policy, profile.text, profile.len, profile.path[0] ? profile.path : label,
                          &here, err);
}

int policy_merge_profile(struct policy *policy, const char *name, struct hutch_error *err)
{
    return merge_profile(policy, name, "profile", NULL, err);
}

int profile_text(const char *name, char **ret, struct hutch_error *err)
{
    profile_auto struct profile profile = {.text = ""};

    int r = find_profile(name, "profile", HUTCH_ENOTFOUND, &profile, err);
    if (r < 0)
        return r;
    if (profile.len > POLICY_JSON_MAX)
        return err_set(err, HUTCH_EPOLICY, profile.path, "larger than %zu bytes", POLICY_JSON_MAX);
    char *text = strndup(profile.text, profile.len);
    if (!text)
        return err_oom(err);
    *ret = text;
    return 0;
}

/* ---- The list ------------------------------------------------------------------------------ */

struct profile_rows {
    struct arena arena; /* owns the array and its strings */
    struct hutch_profile *rows;
    size_t count;
    size_t cap;
};

static void rows_clear(struct profile_rows *list)
{
    arena_clear(&list->arena);
}
#define rows_auto __attribute__((cleanup(rows_clear)))

static bool has_row(const struct profile_rows *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (str_eq(list->rows[i].name, name))
            return true;
    }
    return false;
}

/* A profile that does not parse is listed too: using it says what is wrong. */
static const char *read_description(struct profile_rows *list, const char *text, size_t len)
{
    json_auto_ref json_t *root = NULL;
    const char *description = NULL;

    if (json_parse_object(text, len, POLICY_JSON_MAX, "", &root, NULL) == 0)
        description = json_string_value(json_object_get(root, "description"));
    return arena_strdup(&list->arena, description ? description : "");
}

static void add_row(struct profile_rows *list, const char *name, const struct profile *profile)
{
    struct hutch_profile *rows = arena_grow(&list->arena, list->rows, list->count, &list->cap,
                                            sizeof(*rows));

    if (!rows)
        return;
    list->rows = rows;
    rows[list->count++] = (struct hutch_profile){
        .name = arena_strdup(&list->arena, name),
        .path = profile->path[0] ? arena_strdup(&list->arena, profile->path) : NULL,
        .description = read_description(list, profile->text, profile->len),
    };
}

static void add_installed(struct profile_rows *list, const char *dir_path)
{
    DIR *dir = opendir(dir_path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) && !arena_failed(&list->arena)) {
        profile_auto struct profile profile = {.text = ""};
        size_t len = strlen(entry->d_name);

        if (len < sizeof(".json") || !str_eq(entry->d_name + len - 5, ".json"))
            continue;
        char *name = arena_strndup(&list->arena, entry->d_name, len - 5);
        if (!name || !is_name(name) || has_row(list, name))
            continue;
        if (make_path(profile.path, dir_path, name) && read_installed(&profile, NULL) == 1)
            add_row(list, name, &profile);
    }
    if (dir)
        closedir(dir);
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp(((const struct hutch_profile *)a)->name, ((const struct hutch_profile *)b)->name);
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* Copy `text` to *at and move *at behind it. */
static const char *put_text(char **at, const char *text)
{
    char *copy = *at;

    if (!text)
        return NULL;
    *at = stpcpy(copy, text) + 1;
    return copy;
}

/* The rows and behind them their strings, in one allocation: the caller frees with one free(). */
static struct hutch_profile *pack_rows(const struct profile_rows *list)
{
    size_t size = list->count * sizeof(struct hutch_profile);

    for (size_t i = 0; i < list->count; i++) {
        const struct hutch_profile *row = &list->rows[i];

        size += text_size(row->name) + text_size(row->path) + text_size(row->description);
    }
    struct hutch_profile *packed = malloc(size ? size : 1);
    if (!packed)
        return NULL;
    char *at = (char *)(packed + list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct hutch_profile *row = &list->rows[i];

        packed[i].name = put_text(&at, row->name);
        packed[i].path = put_text(&at, row->path);
        packed[i].description = put_text(&at, row->description);
    }
    return packed;
}

int profile_list(struct hutch_profile **ret, size_t *count, struct hutch_error *err)
{
    rows_auto struct profile_rows list = {0};

    for (size_t i = 0; i < profile_shipped_count; i++) {
        const struct profile profile = {
            .text = profile_shipped[i].text,
            .len = profile_shipped[i].len,
        };

        add_row(&list, profile_shipped[i].name, &profile);
    }
    for (size_t i = 0; i < DIR_COUNT; i++) {
        char dir[PATH_MAX];

        if (installed_dir(i, dir))
            add_installed(&list, dir);
    }
    if (arena_failed(&list.arena))
        return err_oom(err);
    if (list.count > 0)
        qsort(list.rows, list.count, sizeof(*list.rows), compare_rows);
    struct hutch_profile *packed = pack_rows(&list);
    if (!packed)
        return err_oom(err);
    *ret = packed;
    *count = list.count;
    return 0;
}
