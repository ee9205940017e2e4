/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <hutch.h>

#include "base/str.h"
#include "base/suggest.h"
#include "cli/help.h"
#include "cli/out.h"

const struct cli_command cli_commands[] = {
    {"doctor", cmd_doctor, "doctor [--json]",
     "say what this host can enforce, what is missing, how to get it",
     "It runs 'true' in a sandbox to find out. Exit status 1: no sandbox can be run.\n"
     "With --json the answer is one JSON object.",
     false},
    {"explain", cmd_explain, "explain [OPTIONS] [--] COMMAND [ARG...]",
     "print what a run would be, and run nothing", "With --json the plan is one JSON object.",
     true},
    {"help", cmd_help, "help [COMMAND]", "say how to use hutch or one of its commands",
     "With --format FORMAT it prints the same for other programs instead: man, keys\n"
     "and methods (scdoc), rpc (Markdown), flags (one a line), bash, zsh and fish\n"
     "(completions).",
     false},
    {"profile", cmd_profile,
     "profile list [--json] | show NAME | suggest [--json] [--] COMMAND [ARG...]",
     "list the named policies, print one, or suggest limits for a command",
     "A policy document may start from a profile with \"extends\": \"NAME\".\n"
     "'suggest' runs nothing; with --json it prints a document for --policy.",
     false},
    {"rpc", cmd_rpc, "rpc", "serve one client: JSON-RPC 2.0 on stdin and stdout",
     "One message a line. Sandboxes live until they are closed, or stdin is. The\n"
     "methods are in hutch-rpc(1), their names also in the answer of 'server.info'.",
     false},
    {"run", cmd_run, "run [OPTIONS] [--] COMMAND [ARG...]", "run one command in a sandbox", NULL,
     true},
    {"schema", cmd_schema, "schema", "print the JSON Schema of a policy document", NULL, false},
    {"shell", cmd_shell, "shell [OPTIONS] [[--] COMMAND [ARG...]]",
     "a shell in a sandbox, on this terminal",
     "Without a COMMAND it is that of SHELL, else bash, else sh. There is no limit on\n"
     "time but for what --timeout and --cpu-time say.",
     true, true},
    {0},
};

const struct cli_command *cli_find(const char *name)
{
    for (const struct cli_command *row = cli_commands; row->name; row++) {
        if (str_eq(row->name, name))
            return row;
    }
    return NULL;
}

/*
 * A program started with 0, 1 or 2 closed would get one of them for the next file it opens, and
 * then read input from or write messages into that file.
 */
static int open_missing_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        if (open("/dev/null", O_RDWR) != fd)
            return -1;
        if (fd == STDOUT_FILENO)
            out_closed();
    }
    return 0;
}

static int unknown_command(const char *name)
{
    struct suggest suggest;

    suggest_init(&suggest, name);
    for (const struct cli_command *row = cli_commands; row->name; row++)
        suggest_offer(&suggest, row->name);

    const char *nearest = suggest_best(&suggest);
    if (nearest)
        out_line("unknown command '%s' (did you mean '%s'?); see 'hutch help'", name, nearest);
    else
        out_line("unknown command '%s'; see 'hutch help'", name);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    if (open_missing_streams() < 0)
        return CLI_RUN_FAILED;
    if (argc < 2) {
        help_overview(stderr);
        return CLI_USAGE;
    }

    const char *name = argv[1];
    if (str_eq(name, "--version")) {
        printf("hutch %s\n", hutch_version());
        return out_finish(0, CLI_FAILED);
    }
    if (str_eq(name, "--help") || str_eq(name, "-h"))
        name = "help";

    const struct cli_command *command = cli_find(name);
    return command ? command->run(command, argv + 2) : unknown_command(name);
}
