/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <hutch.h>

#include "base/str.h"
#include "cli/docgen.h"
#include "cli/help.h"
#include "cli/out.h"

static int print_format(const char *format)
{
    struct hutch_error err;

    if (!format) {
        out_line("'--format' needs a value; see 'hutch help help'");
        return CLI_USAGE;
    }
    if (docgen_print(format, &err) < 0)
        return out_error(&err);
    return out_finish(0, CLI_FAILED);
}

int cmd_help(const struct cli_command *self, char **args)
{
    if (!args[0]) {
        help_overview(stdout);
        return out_finish(0, CLI_FAILED);
    }
    if (str_starts(args[0], "--format="))
        return print_format(args[0] + strlen("--format="));
    if (str_eq(args[0], "--format"))
        return print_format(args[1]);

    bool own = str_eq(args[0], "--help") || str_eq(args[0], "-h");
    const struct cli_command *command = own ? self : cli_find(args[0]);
    if (!command) {
        out_line("no help about '%s'; see 'hutch help'", args[0]);
        return CLI_USAGE;
    }
    help_command(command);
    return out_finish(0, CLI_FAILED);
}
