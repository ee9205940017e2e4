/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Round trips beside a bare process: a command of a shell that lasts, which does nothing but what the shell
 * itself does to go on where it was; and a command asked for by another process, with a line to `hutch rpc`
 * and a line back. From the request to the result, with both outputs captured. They take turns, each time
 * in another order. What bash alone takes to start and do nothing is a row, too.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { BARE, RPC, BARE_SHELL, SHELL, CASES };

static const char *const command[] = {"/bin/true", NULL};
static const char *const shell_command[] = {"bash", "-c", ":", NULL};
static struct turn turns[CASES] = {
    {"bare, output captured", "bare"},
    {"sandbox.exec over rpc", "rpc"},
    {"bare bash -c :", "bare_shell"},
    {": in a lasting shell", "shell"},
};

static struct hutch_shell *shell;
static char *request;

static size_t rounds;

static void close_shell(void)
{
    hutch_shell_close(shell);
    shell = NULL;
}

static void open_shell(struct hutch_sandbox *sandbox)
{
    struct hutch_shell_options options = HUTCH_SHELL_OPTIONS_INIT;
    struct hutch_error err;

    options.program = shell_command[0];
    atexit(close_shell); /* before the sandbox is closed */
    if (hutch_shell_open(sandbox, &options, NULL, NULL, &shell, &err) < 0)
        die("cannot open a shell: %s", err.msg);
}

static void exec_in_shell(void)
{
    struct hutch_result *result;
    struct hutch_error err;

    if (hutch_shell_exec(shell, ":", 0, &result, &err) < 0)
        die("cannot run a command in a shell: %s", err.msg);
    if (result->exit_code != 0)
        die("a command failed in a shell: %s, status %d", hutch_reason_name(result->reason),
            result->status);
    hutch_result_free(result);
}

static void run_case(const struct bench *bench, int which)
{
    if (which == BARE)
        run_captured(command, bench->empty);
    else if (which == RPC)
        rpc_call(request, "\"success\":true");
    else if (which == BARE_SHELL)
        run_captured(shell_command, bench->empty);
    else
        exec_in_shell();
}

static void measure(const struct bench *bench)
{
    rounds = bench->iterations;
    open_shell(open_sandbox(bench->empty));
    rpc_open(bench, bench->empty);
    request = rpc_line("sandbox.exec", "{s:[s]}", "argv", command[0]);
    take_turns(bench, turns, CASES, run_case);
    free(request);
    rpc_close();
    close_shell();
    close_sandbox();
}

static void print_text(void)
{
    print_turns("round trips", turns, CASES, rounds);
}

static void print_json(void)
{
    print_turns_json("trips", turns, CASES);
}

const struct subject subject_trips = {"trips", measure, print_text, NULL, print_json};
