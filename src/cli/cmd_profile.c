/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <hutch.h>

#include "base/json.h"
#include "base/str.h"
#include "cli/help.h"
#include "cli/out.h"

static int wrong_usage(const struct cli_command *self)
{
    out_line("usage: hutch %s", self->usage);
    return CLI_USAGE;
}

static int print_json(const struct hutch_profile *profiles, size_t count)
{
    json_auto_ref json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct hutch_profile *profile = &profiles[i];

        json_array_append_new(list, json_pack("{s:s, s:s?, s:s}", "name", profile->name, "path",
                                              profile->path, "description", profile->description));
    }

    str_auto char *text = json_dumps(list, JSON_INDENT(2));
    if (!text)
        abort();
    out_document(text);
    return out_finish(0, CLI_FAILED);
}

static void print_row(const struct hutch_profile *profile)
{
    char name[64], description[512];

    printf("%-10s %s", str_printable(profile->name, name, sizeof name),
           str_printable(profile->description, description, sizeof description));
    if (profile->path) {
        char path[512];

        printf(" (%s)", str_printable(profile->path, path, sizeof path));
    }
    putchar('\n');
}

static int list_profiles(const struct cli_command *self, char **args)
{
    bool json = args[0] && str_eq(args[0], "--json");
    struct hutch_profile *profiles;
    struct hutch_error err;
    size_t count;

    if (args[0] && (!json || args[1]))
        return wrong_usage(self);
    if (hutch_profile_list(&profiles, &count, &err) < 0)
        return out_error(&err);

    int status;
    if (json) {
        status = print_json(profiles, count);
    } else {
        for (size_t i = 0; i < count; i++)
            print_row(&profiles[i]);
        status = out_finish(0, CLI_FAILED);
    }
    free(profiles);
    return status;
}

static int show_profile(const struct cli_command *self, char **args)
{
    struct hutch_error err;
    str_auto char *text = NULL;

    if (!args[0] || args[1])
        return wrong_usage(self);
    if (hutch_profile_text(args[0], &text, &err) < 0)
        return out_error(&err);
    out_document(text);
    return out_finish(0, CLI_FAILED);
}

int cmd_profile(const struct cli_command *self, char **args)
{
    if (!args[0])
        return wrong_usage(self);
    if (str_eq(args[0], "list"))
        return list_profiles(self, args + 1);
    if (str_eq(args[0], "show"))
        return show_profile(self, args + 1);
    if (str_eq(args[0], "--help") || str_eq(args[0], "-h")) {
        help_command(self);
        return out_finish(0, CLI_FAILED);
    }
    return wrong_usage(self);
}
