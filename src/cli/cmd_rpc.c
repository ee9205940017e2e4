/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <hutch.h>

#include "base/str.h"
#include "cli/help.h"
#include "cli/out.h"
#include "cli/rpc/server.h"

/* An open sandbox takes a dozen descriptors. What commands may open is their own limit. */
static void allow_many_sandboxes(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

int cmd_rpc(const struct cli_command *self, char **args)
{
    struct hutch_error err;

    if (args[0] && (str_eq(args[0], "--help") || str_eq(args[0], "-h"))) {
        help_command(self);
        return out_finish(0, CLI_FAILED);
    }
    if (args[0]) {
        out_line("'hutch rpc' takes no arguments, got '%s'", args[0]);
        return CLI_USAGE;
    }
    allow_many_sandboxes();
    signal(SIGPIPE, SIG_IGN); /* a client that is gone is the usual end */
    return server_run(STDIN_FILENO, STDOUT_FILENO, &err) < 0 ? out_error(&err) : 0;
}
