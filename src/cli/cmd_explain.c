/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "base/str.h"
#include "cli/explain.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/out.h"

/* The plan has the limits; why it has these is known here alone. */
static int print_suggestion(const struct options *options, struct hutch_error *err)
{
    struct hutch_suggestion *suggestion;

    int r = hutch_suggest(options->argv, &suggestion, err);
    if (r < 0)
        return r;
    if (suggestion->command)
        printf("limits auto  %s (%s): %s\n", suggestion->kind, suggestion->command,
               suggestion->reason);
    else
        puts("limits auto  not a known command: those of the profile");
    free(suggestion);
    return 0;
}

int explain_print(const struct options *options, struct hutch_error *err)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    str_auto char *text = NULL;

    command.argv = options->argv;
    command.cwd = options->cwd;
    command.tty = options->tty;

    int r = hutch_explain(options->policy, &command, options->json ? HUTCH_JSON : HUTCH_TEXT, &text,
                          err);
    if (r < 0)
        return r;
    if (options->json) {
        out_document(text);
        return 0;
    }
    if (options_limits_auto(options))
        r = print_suggestion(options, err);
    out_text(text);
    return r;
}

int cmd_explain(const struct cli_command *self, char **args)
{
    options_auto struct options options;
    struct hutch_error err;

    int r = options_parse(self, args, &options, &err);
    if (r == 0 && options.help)
        help_command(self);
    else if (r == 0)
        r = explain_print(&options, &err);
    return r < 0 ? out_error(&err) : out_finish(0, CLI_FAILED);
}
