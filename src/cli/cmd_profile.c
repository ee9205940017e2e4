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

/* The row of help that says what a limit is; NULL for one that has none. */
static const struct hutch_option *limit_option(const char *name)
{
    static const char section[] = "limits.";
    size_t count;
    const struct hutch_option *rows = hutch_options(&count);

    for (size_t i = 0; i < count; i++) {
        if (str_starts(rows[i].key, section) && str_eq(rows[i].key + strlen(section), name))
            return &rows[i];
    }
    return NULL;
}

static void print_suggestion(const struct hutch_suggestion *suggestion)
{
    const char *command = suggestion->command;

    printf("%s%s%s\n%s\n\n", suggestion->kind, command ? ": " : "", command ? command : "",
           suggestion->reason);
    for (const struct hutch_suggested_limit *limit = suggestion->limits; limit->name; limit++) {
        const struct hutch_option *option = limit_option(limit->name);

        printf("  %-13s %-5s %s\n", option ? option->flag : limit->name, limit->value,
               option ? option->help : "");
    }
    if (command)
        puts("\n'hutch run --limits auto' uses them, below what flags and documents say.");
}

/* A document for --policy. Counts are numbers there, as people write them. */
static void print_suggestion_json(const struct hutch_suggestion *suggestion)
{
    json_t *limits = json_object();
    json_auto_ref json_t *document = json_pack(
        "{s:o, s:o}", "description", json_sprintf("%s: %s", suggestion->kind, suggestion->reason),
        "limits", limits);

    for (const struct hutch_suggested_limit *limit = suggestion->limits; limit->name; limit++) {
        bool is_count = limit->value[strspn(limit->value, "0123456789")] == '\0';

        json_object_set_new(limits, limit->name,
                            is_count ? json_integer(strtoll(limit->value, NULL, 10))
                                     : json_string(limit->value));
    }

    str_auto char *text = json_dumps(document, JSON_INDENT(2));
    if (!text)
        abort();
    out_document(text);
}

static int suggest_limits(const struct cli_command *self, char **args)
{
    bool json = args[0] && str_eq(args[0], "--json");
    struct hutch_suggestion *suggestion;
    struct hutch_error err;

    args += json;
    bool dashes = args[0] && str_eq(args[0], "--");
    args += dashes;
    if (!args[0] || (!dashes && args[0][0] == '-'))
        return wrong_usage(self);
    if (hutch_suggest((const char *const *)args, &suggestion, &err) < 0)
        return out_error(&err);
    if (json)
        print_suggestion_json(suggestion);
    else
        print_suggestion(suggestion);
    free(suggestion);
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
    if (str_eq(args[0], "suggest"))
        return suggest_limits(self, args + 1);
    if (str_eq(args[0], "--help") || str_eq(args[0], "-h")) {
        help_command(self);
        return out_finish(0, CLI_FAILED);
    }
    return wrong_usage(self);
}
