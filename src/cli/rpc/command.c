/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/command.h"

#include "base/err.h"
#include "cli/rpc/message.h"
#include "cli/rpc/params.h"

static int refuse(struct hutch_error *err, const char *why)
{
    err_set(err, HUTCH_EINVALID, "/argv", "%s", why);
    return RPC_PARAMS;
}

int command_from_params(const json_t *params, struct command *ret, struct hutch_error *err)
{
    const char *line = params_string(params, "command");
    struct hutch_command *command = &ret->command;

    *ret = (struct command){
        .command = HUTCH_COMMAND_INIT,
        .argv = params_list(params, "argv"),
        .env = params_list(params, "env"),
        .shell = {"sh", "-c", line, NULL},
    };
    if (!ret->argv == !line)
        return refuse(err, "one of 'argv' and 'command' is needed, and not both");
    if (ret->argv && !ret->argv[0])
        return refuse(err, "must not be empty");
    command->argv = line ? ret->shell : (const char *const *)ret->argv;
    command->env = (const char *const *)ret->env;
    command->cwd = params_string(params, "cwd");
    command->timeout_ms = params_duration_ms(params, "timeout", 0);
    command->tty = params_bool(params, "tty");
    command->rows = (uint16_t)params_count(params, "rows", 0);
    command->cols = (uint16_t)params_count(params, "cols", 0);
    return 0;
}

void command_clear(struct command *command)
{
    params_free_list(&command->argv);
    params_free_list(&command->env);
}
