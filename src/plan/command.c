/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/plan.h"

static size_t count_strings(const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    return count;
}

/* The run outlives the call that started it, so it needs its own copy. */
static const char *const *copy_argv(struct arena *arena, const char *const *argv)
{
    size_t count = count_strings(argv);
    const char **copy = arena_alloc(arena, (count + 1) * sizeof *copy);

    for (size_t i = 0; copy && i < count; i++)
        copy[i] = arena_strdup(arena, argv[i]);
    return copy;
}

/* Whether two of "NAME=value" set the same. */
static bool is_same_variable(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");

    return strncmp(a, b, len) == 0 && b[len] == '=';
}

static bool is_overridden(const char *variable, const char *const *by)
{
    for (; *by; by++)
        if (is_same_variable(*by, variable))
            return true;
    return false;
}

/* The plan's variables that the command does not set itself, then its own; of two the last counts. */
static const char *const *merge_env(const struct plan *plan, const char *const *own,
                                    struct arena *arena)
{
    size_t count = 0;

    if (!own || !own[0])
        return plan->env;
    const char **merged = arena_alloc(arena, (count_strings(plan->env) + count_strings(own) + 1) *
                                                 sizeof *merged);
    for (const char *const *var = plan->env; merged && *var; var++)
        if (!is_overridden(*var, own))
            merged[count++] = *var;
    for (; merged && *own; own++)
        if (!is_overridden(*own, own + 1))
            merged[count++] = arena_strdup(arena, *own);
    return merged;
}

static int check_env(const char *const *env, struct hutch_error *err)
{
    char shown[128];

    for (; env && *env; env++)
        if (!strchr(*env, '=') || **env == '=')
            return err_set(err, HUTCH_EINVALID, "env", "'%s' is not NAME=value",
                           str_printable(*env, shown, sizeof shown));
    return 0;
}

int plan_command_build(const struct plan *plan, const struct hutch_command *command,
                       struct arena *arena, struct plan_command *ret, struct hutch_error *err)
{
    if (!command->argv || !command->argv[0])
        return err_set(err, HUTCH_EINVALID, "command", "no command was given");
    if (!command->argv[0][0])
        return err_set(err, HUTCH_EINVALID, "command", "the command's name is empty");
    if (command->stdin_open && command->stdin_fd >= 0)
        return err_set(err, HUTCH_EINVALID, "stdin_open", "there is a stdin_fd too");
    int r = check_env(command->env, err);
    if (r < 0)
        return r;

    struct plan_command built = {
        .argv = copy_argv(arena, command->argv),
        .cwd = plan->workspace,
        .env = merge_env(plan, command->env, arena),
        .timeout_ms = command->timeout_ms ? command->timeout_ms : plan->limits.timeout_ms,
        .tty = command->tty,
        .rows = command->rows ? command->rows : 24,
        .cols = command->cols ? command->cols : 80,
    };
    if (command->cwd) {
        char shown[256];
        built.cwd = path_normalize(arena, plan->workspace, command->cwd);
        if (!built.cwd && !arena_failed(arena))
            return err_set(err, HUTCH_EINVALID, "--cwd", "'%s' has '..' in it: write it without",
                           str_printable(command->cwd, shown, sizeof shown));
    }
    if (arena_failed(arena))
        return err_oom(err);
    *ret = built;
    return 0;
}
