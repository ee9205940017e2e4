/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/plan.h"

/* The run outlives the call that started it, so it needs its own copy. */
static const char *const *copy_argv(struct arena *arena, const char *const *argv)
{
    size_t count = 0;

    while (argv[count])
        count++;
    const char **copy = arena_alloc(arena, (count + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = arena_strdup(arena, argv[i]);
    return copy;
}

int plan_command_build(struct plan *plan, const struct hutch_command *command,
                       struct plan_command *ret, struct hutch_error *err)
{
    if (!command->argv || !command->argv[0])
        return err_set(err, HUTCH_EINVALID, "command", "no command was given");
    if (!command->argv[0][0])
        return err_set(err, HUTCH_EINVALID, "command", "the command's name is empty");

    struct plan_command built = {
        .argv = copy_argv(&plan->arena, command->argv),
        .cwd = plan->workspace,
        .tty = command->tty,
        .rows = command->rows ? command->rows : 24,
        .cols = command->cols ? command->cols : 80,
    };
    if (command->cwd) {
        char shown[256];
        built.cwd = path_normalize(&plan->arena, plan->workspace, command->cwd);
        if (!built.cwd && !arena_failed(&plan->arena))
            return err_set(err, HUTCH_EINVALID, "--cwd", "'%s' has '..' in it: write it without",
                           str_printable(command->cwd, shown, sizeof shown));
    }
    if (arena_failed(&plan->arena))
        return err_oom(err);
    *ret = built;
    return 0;
}
