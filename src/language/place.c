/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "language/language.h"

int place_begin(struct place *place, struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct hutch_sandbox_info info = HUTCH_SANDBOX_INFO_INIT;

    *place = (struct place){.sandbox = sandbox, .path = ""};
    arena_init(&place->arena);
    if (!sandbox)
        return err_set(err, HUTCH_EINVALID, "sandbox", "NULL was given");
    int r = hutch_sandbox_info(sandbox, &info, err);
    if (r < 0)
        return r;
    if (info.gone)
        return err_set(err, HUTCH_ESTATE, "sandbox", "the sandbox has ended");
    place->workspace = info.cwd;
    for (const char *const *variable = info.env; *variable; variable++)
        if (str_starts(*variable, "PATH="))
            place->path = *variable + strlen("PATH=");
    return 0;
}

void place_end(struct place *place)
{
    arena_clear(&place->arena);
}

/* Nothing there, or nothing on the way to it. */
static bool is_missing(const struct hutch_error *error)
{
    const char *word = hutch_error_word(error);

    return str_eq(word, "not_found") || str_eq(word, "not_directory");
}

int place_stat(struct place *place, const char *path, bool follow, enum hutch_file_type *ret,
               struct hutch_error *err)
{
    struct hutch_file_stat_options options = HUTCH_FILE_STAT_INIT;
    struct hutch_file_entry *entry = NULL;
    struct hutch_error why = {0};

    options.follow = follow;
    int r = hutch_file_stat(place->sandbox, path, &options, &entry, &why);
    if (r < 0 && is_missing(&why))
        return 0;
    if (r < 0) {
        if (err)
            *err = why;
        return r;
    }
    if (ret)
        *ret = entry->type;
    hutch_file_free(entry);
    return 1;
}

int place_is_program(struct place *place, const char *path, struct hutch_error *err)
{
    struct hutch_file_stat_options options = HUTCH_FILE_STAT_INIT;
    struct hutch_file_entry *entry = NULL;
    struct hutch_error why = {0};

    options.follow = true;
    int r = hutch_file_stat(place->sandbox, path, &options, &entry, &why);
    if (r < 0 && (why.code == HUTCH_ESTATE || why.code == HUTCH_ENOMEM)) {
        if (err)
            *err = why;
        return r;
    }
    /* A shell that looks for a program passes over what it may not look at, too. */
    bool is_program = r == 0 && entry->type == HUTCH_FILE_REGULAR && (entry->mode & 0111);
    hutch_file_free(entry);
    return is_program;
}

int place_find(struct place *place, const char *name, const char **ret, struct hutch_error *err)
{
    const char *found = NULL;
    int r = 0;

    if (strchr(name, '/')) {
        found = path_normalize(&place->arena, place->workspace, name);
        r = found ? place_is_program(place, found, err) : 0;
    }
    for (const char *dir = place->path; !found && r == 0 && *dir; dir += *dir == ':') {
        size_t len = strcspn(dir, ":");

        if (*dir == '/') {
            found = path_join(&place->arena, arena_strndup(&place->arena, dir, len), name);
            r = found ? place_is_program(place, found, err) : err_oom(err);
            if (r == 0)
                found = NULL;
        }
        dir += len;
    }
    if (arena_failed(&place->arena))
        return err_oom(err);
    if (r < 0)
        return r;
    *ret = r > 0 ? found : NULL;
    return 0;
}

int place_need(struct place *place, const char *const *names, const char **ret,
               struct hutch_error *err)
{
    char shown[128], path[160];
    const char *found = NULL;

    for (size_t i = 0; names[i]; i++) {
        int r = place_find(place, names[i], &found, err);
        if (r < 0)
            return r;
        if (found) {
            *ret = found;
            return 0;
        }
    }
    const char *first = names[0] ? names[0] : "";
    str_printable(first, shown, sizeof shown);
    if (strchr(first, '/'))
        return err_set(err, HUTCH_ENOTFOUND, shown,
                       "'%s' is no program in the sandbox: is it installed, and may the sandbox "
                       "read it?",
                       shown);
    return err_set(
        err, HUTCH_ENOTFOUND, shown,
        "there is no %s%s%s in the sandbox's PATH (%s): install it on the host, or let the "
        "sandbox read where it is and set PATH to that",
        shown, names[1] ? " and no " : "", names[1] ? names[1] : "",
        str_printable(place->path, path, sizeof path));
}

static size_t count_strings(const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    return count;
}

const char *const *place_concat(struct place *place, const char *const *first,
                                const char *const *second)
{
    const size_t firsts = count_strings(first), seconds = count_strings(second);
    const char **all = arena_alloc(&place->arena, (firsts + seconds + 1) * sizeof *all);

    for (size_t i = 0; all && i < firsts; i++)
        all[i] = first[i];
    for (size_t i = 0; all && i < seconds; i++)
        all[firsts + i] = second[i];
    return all;
}

const char *place_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}
