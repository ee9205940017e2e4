/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hutch shell: a person on a terminal, inside. It is a run with a terminal of its own, of a shell that is
 * there, after one line that says where one is.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <hutch.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/explain.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/out.h"
#include "cli/run.h"

/* The first of its arguments that there is: what the caller uses may not be in every layout. */
static const char choose_shell[] =
    "for shell; do command -v \"$shell\" >/dev/null 2>&1 && exec \"$shell\"; done; exec sh";

static int check(const struct options *options, struct hutch_error *err)
{
    const char *flag = options->json ? "--json" : options->stdin_path ? "--stdin" : NULL;

    if (flag)
        return err_set(err, HUTCH_EINVALID, flag, "a shell on a terminal does not have this");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, HUTCH_EINVALID, NULL,
                       "standard input and output must be a terminal; without one use 'hutch run'");
    return 0;
}

/* Where one is: what can be changed there, and whom one can talk to. */
static int say_hello(const struct options *options, struct hutch_error *err)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    json_auto_ref json_t *plan = NULL;
    str_auto char *text = NULL;
    const char *workspace, *network, *layout;

    command.argv = options->argv;
    command.cwd = options->cwd;
    command.tty = true;
    int r = hutch_explain(options->policy, &command, HUTCH_JSON, &text, err);
    if (r < 0)
        return r;
    plan = json_loads(text, 0, NULL);
    if (!plan || json_unpack(plan, "{s:s, s:s, s:s}", "workspace", &workspace, "network", &network,
                             "layout", &layout) < 0)
        return err_set(err, HUTCH_EINTERNAL, "plan", "it lacks what a shell should know");
    out_line("a shell in a sandbox: workspace %s, layout %s, network %s; 'exit' leaves it",
             workspace, layout, network);
    return 0;
}

int cmd_shell(const struct cli_command *self, char **args)
{
    options_auto struct options options;
    struct hutch_error err;
    const char *usual = getenv("SHELL");
    const char *const shells[] = {
        "sh", "-c", choose_shell, "sh", usual && *usual ? usual : "bash", "bash", NULL};

    signal(SIGPIPE, SIG_IGN); /* as in cmd_run() */
    int r = options_parse(self, args, &options, &err);
    if (r < 0)
        return run_failed(&options, &err);
    if (options.help) {
        help_command(self);
        return out_finish(0, CLI_RUN_FAILED);
    }
    if (!*options.argv)
        options.argv = shells;
    options.tty = true;
    if (options.dry_run) {
        r = explain_print(&options, &err);
        return r < 0 ? run_failed(&options, &err) : out_finish(0, CLI_RUN_FAILED);
    }

    r = check(&options, &err);
    if (r == 0)
        r = say_hello(&options, &err);
    if (r == 0)
        r = run_options(&options, &err);
    if (r < 0)
        return run_failed(&options, &err);
    exit(r);
}
