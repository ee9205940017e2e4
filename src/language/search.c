/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "language/search.h"

/* Where the workspace is the root, these are not of it. What has a dot in front is left out anyway. */
static const char *const system_dirs[] = {
    "/bin",  "/dev", "/etc",  "/lib", "/lib32", "/lib64", "/libx32",
    "/proc", "/run", "/sbin", "/sys", "/tmp",   "/usr",
};

static bool is_system(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(system_dirs); i++)
        if (str_eq(path, system_dirs[i]))
            return true;
    return false;
}

/* Add what matches below `dir`; with `anchored`, in it. What packages bring with them does not count. */
static int add_matches(struct place *place, const char *dir, const char *pattern, bool anchored,
                       struct search *found, struct hutch_error *err)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;
    struct hutch_file_entries *entries = NULL;

    options.anchored = anchored;
    int r = hutch_file_glob(place->sandbox, dir, pattern, &options, &entries, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < entries->count; i++) {
        const char *path = entries->items[i].path;

        if (strstr(path + strlen(dir), "/node_modules/"))
            continue;
        if (found->count < SEARCH_MOST)
            found->paths[found->count++] = arena_strdup(&place->arena, path);
        else
            found->more = true;
    }
    found->more |= entries->truncated;
    hutch_file_free(entries);
    return arena_failed(&place->arena) ? err_oom(err) : 0;
}

static int search_root(struct place *place, const char *pattern, struct search *found,
                       struct hutch_error *err)
{
    struct hutch_file_entries *entries = NULL;
    int r = add_matches(place, "/", pattern, true, found, err);

    if (r == 0)
        r = hutch_file_list(place->sandbox, "/", NULL, &entries, err);
    for (size_t i = 0; r == 0 && !found->more && i < entries->count; i++) {
        const struct hutch_file_entry *entry = &entries->items[i];

        if (entry->type == HUTCH_FILE_DIRECTORY && entry->name[0] != '.' &&
            !str_eq(entry->name, "node_modules") && !is_system(entry->path))
            r = add_matches(place, entry->path, pattern, false, found, err);
    }
    hutch_file_free(entries);
    return r;
}

int search_files(struct place *place, const char *dir, const char *pattern, struct search *ret,
                 struct hutch_error *err)
{
    struct search found = {
        .paths = arena_alloc(&place->arena, (SEARCH_MOST + 1) * sizeof *found.paths)};

    if (!found.paths)
        return err_oom(err);
    int r = str_eq(dir, "/") ? search_root(place, pattern, &found, err)
                             : add_matches(place, dir, pattern, false, &found, err);
    if (r == 0)
        *ret = found;
    return r;
}
