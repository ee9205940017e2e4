/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of subcommands. main() looks a command up in it; help, completions and the man pages
 * are made from it. To add a command: one file cmd_NAME.c, one row in main.c.
 */
#pragma once

#include <stdbool.h>

/* Exit status of every command but `run` and `shell`, which have their own (hutch-run(1)). */
enum {
    CLI_FAILED = 1, /* the job could not be done */
    CLI_USAGE = 2,  /* what was asked makes no sense */
};

/* What `run` and `shell` exit with when hutch itself could not do its job. */
#define CLI_RUN_FAILED 125

struct cli_command {
    const char *name;
    /* `args` are the words after the command's name, ending with NULL. Returns the exit status. */
    int (*run)(const struct cli_command *self, char **args);
    const char *usage;   /* "profile list | show NAME" */
    const char *summary; /* one line */
    const char *details; /* more, for `hutch help NAME`; may be NULL */
    bool takes_policy;   /* it takes the options of options.h */
    /* A person sits before it: it has a command of its own, and limits on time only if asked for. */
    bool interactive;
};

/* Sorted by name; ends with a NULL name. */
extern const struct cli_command cli_commands[];

/* The row called `name`, or NULL. */
const struct cli_command *cli_find(const char *name);

int cmd_doctor(const struct cli_command *self, char **args);
int cmd_explain(const struct cli_command *self, char **args);
int cmd_help(const struct cli_command *self, char **args);
int cmd_profile(const struct cli_command *self, char **args);
int cmd_rpc(const struct cli_command *self, char **args);
int cmd_run(const struct cli_command *self, char **args);
int cmd_schema(const struct cli_command *self, char **args);
int cmd_shell(const struct cli_command *self, char **args);
