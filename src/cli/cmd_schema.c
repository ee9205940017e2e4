/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <hutch.h>

#include "base/str.h"
#include "cli/help.h"
#include "cli/out.h"

int cmd_schema(const struct cli_command *self, char **args)
{
    struct hutch_error err;
    str_auto char *schema = NULL;

    if (args[0] && (str_eq(args[0], "--help") || str_eq(args[0], "-h"))) {
        help_command(self);
        return out_finish(0, CLI_FAILED);
    }
    if (args[0]) {
        out_line("'hutch schema' takes no arguments, got '%s'", args[0]);
        return CLI_USAGE;
    }
    if (hutch_schema(&schema, &err) < 0)
        return out_error(&err);
    out_document(schema);
    return out_finish(0, CLI_FAILED);
}
