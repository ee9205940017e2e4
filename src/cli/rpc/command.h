/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters that say what is to run: argv or command, cwd, env, timeout, tty, cols, rows. */
#pragma once

#include <hutch.h>
#include <jansson.h>

struct command {
    struct hutch_command command;
    char **argv;
    char **env;
    const char *shell[4]; /* the argv of `command` */
};

/* Borrows from `params`. Clear *ret in any case. Returns 0 or RPC_PARAMS. */
int command_from_params(const json_t *params, struct command *ret, struct hutch_error *err);
void command_clear(struct command *command);

#define command_auto __attribute__((cleanup(command_clear)))
