/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workspace's own Node project: package.json in it. It is written from here and not by a package
 * manager: those want a network for more than is asked of them, and none of them can name a project
 * whose directory is "/".
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/options.h"
#include "base/str.h"
#include "language/language.h"

static const char name_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789-._~@/";
#define MOST_NAME 214 /* npm's */

int node_program(struct place *place, const char **ret, struct hutch_error *err)
{
    return place_need(place, ARGV("node", "bun"), ret, err);
}

/* Whether package.json is there now: an error when it is, but is no file. */
static int project_exists(struct place *place, struct hutch_error *err)
{
    enum hutch_file_type type;
    int r = place_stat(place, NODE_PROJECT, false, &type, err);

    if (r <= 0 || type == HUTCH_FILE_REGULAR)
        return r;
    return err_set(
        err, HUTCH_EINVALID, NODE_PROJECT,
        "'%s' in the workspace is a %s and not a file: remove it, or give it another name",
        NODE_PROJECT, type == HUTCH_FILE_OTHER ? "special file" : hutch_file_type_name(type));
}

static int check_name(const char *name, struct hutch_error *err)
{
    const size_t len = strlen(name);
    char shown[128];

    if (len > 0 && len <= MOST_NAME && strspn(name, name_chars) == len)
        return 0;
    return err_set(err, HUTCH_EINVALID, "name",
                   "'%s' cannot name a project: 1 to %d of a-z, 0-9 and -._~@/ can",
                   str_printable(name, shown, sizeof shown), MOST_NAME);
}

static int ensure(struct place *place, const char *name, bool *created, struct hutch_error *err)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;
    int r = project_exists(place, err);

    *created = r == 0;
    if (r != 0)
        return r;
    const char *text = arena_printf(&place->arena,
                                    "{\n"
                                    "  \"name\": \"%s\",\n"
                                    "  \"version\": \"0.0.0\",\n"
                                    "  \"private\": true\n"
                                    "}\n",
                                    name);
    if (!text)
        return err_oom(err);
    options.exclusive = true;
    return hutch_file_write(place->sandbox, NODE_PROJECT, text, strlen(text), &options, NULL, err);
}

int hutch_node_init(struct hutch_sandbox *sandbox, const struct hutch_node_options *options,
                    struct hutch_language **ret, struct hutch_error *err)
{
    struct hutch_node_options known = HUTCH_NODE_INIT;
    struct hutch_language language = {0};
    place_auto struct place place;

    int r = place_begin(&place, sandbox, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = check_name(known.name, err);
    if (r == 0)
        r = node_program(&place, &language.program, err);
    if (r == 0)
        r = place_find(&place, "bun", &language.manager, err);
    if (r == 0 && !language.manager)
        r = place_find(&place, "npm", &language.manager, err);
    if (r == 0)
        r = ensure(&place, known.name, &language.created, err);
    return r < 0 ? r : place_give(&language, ret, err);
}
