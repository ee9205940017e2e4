/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of a lasting shell, each a run of its own. */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "session/saved.h"
#include "session/shell.h"

/* The kernel takes arguments of 128 KiB: a longer command comes in parts. */
#define PART_BYTES (96u << 10)
#define COMMAND_MAX (1u << 20)
#define PARTS_MAX (COMMAND_MAX / PART_BYTES + 1)

/* Where the arguments of a run begin that are its command. */
enum { FIRST_PART = 4 };

static int check_idle(const struct hutch_shell *shell, struct hutch_error *err)
{
    if (!shell)
        return err_set(err, HUTCH_EINVALID, "shell", "NULL was given");
    if (shell->run && shell->interactive)
        return err_set(err, HUTCH_EBUSY, "shell",
                       "an interactive shell has the terminal: type 'exit', or open another shell");
    if (shell->run)
        return err_set(err, HUTCH_EBUSY, "shell", "its last command is not finished");
    return 0;
}

/* Cut `text` into arguments after the first `at` ones; returns how many. */
static unsigned cut(struct arena *arena, const char *text, size_t len, const char **argv, size_t at)
{
    unsigned parts = 0;

    do {
        size_t piece = len < PART_BYTES ? len : PART_BYTES;
        argv[at + parts++] = arena_strndup(arena, text, piece);
        text += piece;
        len -= piece;
    } while (len);
    argv[at + parts] = NULL;
    return parts;
}

/* What runs is a program that restores, evaluates and saves; what is told is the command. */
static void on_event(void *arg, const struct hutch_event *event)
{
    struct hutch_shell *shell = arg;
    const char *argv[] = {shell->program, "-c", "", NULL};
    buf_auto struct buf command;

    buf_init(&command, COMMAND_MAX + 1);
    if (event->type == HUTCH_EVENT_RUN_STARTED) {
        for (const char *const *part = event->argv + FIRST_PART; *part; part++)
            buf_puts(&command, *part);
        argv[2] = command.failed ? event->argv[FIRST_PART] : command.data;
    }
    shell_pass_on(shell, event, argv);
}

static int start(struct hutch_shell *shell, const char *text, bool terminal, uint64_t timeout_ms,
                 struct hutch_error *err)
{
    const char *argv[FIRST_PART + PARTS_MAX + 1] = {shell->program, "-c", NULL, shell->program};
    buf_auto struct buf script;
    struct arena arena;
    size_t len = strlen(text);

    buf_init(&script, PRELUDE_MAX);
    if (len > COMMAND_MAX)
        return err_set(err, HUTCH_EINVALID, "command", "it is longer than 1 MiB: put it in a file");
    arena_init(&arena);
    unsigned parts = cut(&arena, text, len, argv, FIRST_PART);
    prelude_command(&script, shell->dialect, shell->dir, shell->generation + 1, parts);
    argv[2] = script.data;
    shell->interactive = false;
    int r = script.failed || arena_failed(&arena)
                ? err_oom(err)
                : shell_start_run(shell, argv, terminal, timeout_ms,
                                  shell->on_event || terminal ? on_event : NULL, err);
    arena_clear(&arena);
    return r;
}

int hutch_shell_start(struct hutch_shell *shell, const char *command, uint64_t timeout_ms,
                      struct hutch_error *err)
{
    int r = check_idle(shell, err);
    if (r < 0)
        return r;
    bool terminal = shell->mode == HUTCH_SHELL_PTY;
    if (!command && terminal)
        return shell_start_interactive(shell, timeout_ms, err);
    if (!command)
        return err_set(err, HUTCH_EINVALID, "command",
                       "NULL was given: an interactive shell needs a terminal");
    r = start(shell, command, terminal, timeout_ms, err);
    if (r < 0)
        return r;
    shell->count++;
    history_add(&shell->history, command);
    return 0;
}

struct hutch_run *hutch_shell_run(const struct hutch_shell *shell)
{
    return shell ? shell->run : NULL;
}

/* There is no more to expect of the run: the shell is free again. */
static void drop_run(struct hutch_shell *shell)
{
    hutch_run_free(shell->run);
    shell->run = NULL;
    shell->ended = shell->generation;
}

/* `stepped` is what the last step of the run returned, and not 0: it has a result, or has failed. */
static int take_result(struct hutch_shell *shell, int stepped, struct hutch_result **ret,
                       struct hutch_error *err)
{
    int r = stepped < 0 ? stepped : hutch_run_result(shell->run, ret, err);

    drop_run(shell);
    if (r == 0 && (*ret)->reason == HUTCH_EXITED)
        shell_drop_unfit(shell, shell->ended);
    return r;
}

int hutch_shell_finish(struct hutch_shell *shell, struct hutch_result **ret,
                       struct hutch_error *err)
{
    if (!shell || !ret)
        return err_set(err, HUTCH_EINVALID, shell ? "ret" : "shell", "NULL was given");
    if (!shell->run)
        return err_set(err, HUTCH_ESTATE, "shell", "nothing runs in it");
    int stepped = hutch_run_step(shell->run, 0, err); /* once more: it says how the last one went */
    if (stepped == 0)
        return err_set(err, HUTCH_ESTATE, "shell", "what runs in it has not ended");
    return take_result(shell, stepped, ret, err);
}

static int finish(struct hutch_shell *shell, struct hutch_result **ret, struct hutch_error *err)
{
    int r = hutch_run_finish(shell->run, NULL, err);

    return take_result(shell, r < 0 ? r : 1, ret, err);
}

int hutch_shell_exec(struct hutch_shell *shell, const char *command, uint64_t timeout_ms,
                     struct hutch_result **ret, struct hutch_error *err)
{
    if (!ret)
        return err_set(err, HUTCH_EINVALID, "ret", "NULL was given");
    int r = hutch_shell_start(shell, command, timeout_ms, err);
    return r < 0 ? r : finish(shell, ret, err);
}

int shell_exec(struct hutch_shell *shell, const char *command, uint64_t timeout_ms,
               struct hutch_result **ret, struct hutch_error *err)
{
    int r = start(shell, command, false, timeout_ms, err);
    return r < 0 ? r : finish(shell, ret, err);
}

/* As one word of the shell's language. */
static void add_quoted(struct buf *out, const char *text)
{
    buf_puts(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            buf_puts(out, "'\\''");
        else
            buf_add(out, text, 1);
    }
    buf_puts(out, "'");
}

/* Run a command of ours in the shell; `code` is for when the shell says no. */
static int do_in_shell(struct hutch_shell *shell, struct buf *command, int code, const char *where,
                       struct hutch_error *err)
{
    struct hutch_result *result;
    char text[256];

    if (command->failed)
        return err_set(err, HUTCH_EINVALID, where, "it is too long");
    int r = shell_exec(shell, command->data, SHELL_OWN_MS, &result, err);
    if (r < 0)
        return r;
    if (result->status != 0)
        r = err_set(err, code, where, "%s", shell_complaint(result, text, sizeof text));
    hutch_result_free(result);
    return r;
}

int shell_cd(struct hutch_shell *shell, const char *dir, struct hutch_error *err)
{
    buf_auto struct buf command;

    buf_init(&command, PRELUDE_MAX);
    buf_puts(&command, "cd -- ");
    add_quoted(&command, dir);
    return do_in_shell(shell, &command, HUTCH_ENOTFOUND, "cwd", err);
}

int hutch_shell_cd(struct hutch_shell *shell, const char *dir, struct hutch_error *err)
{
    int r = check_idle(shell, err);

    if (r == 0 && !dir)
        r = err_set(err, HUTCH_EINVALID, "dir", "NULL was given");
    return r < 0 ? r : shell_cd(shell, dir, err);
}

int hutch_shell_setenv(struct hutch_shell *shell, const char *name, const char *value,
                       struct hutch_error *err)
{
    buf_auto struct buf command;
    char shown[64];

    buf_init(&command, COMMAND_MAX);
    int r = check_idle(shell, err);
    if (r < 0)
        return r;
    if (!name || !saved_is_name(name, strlen(name)))
        return err_set(err, HUTCH_EINVALID, "name", "'%s' is not a name for a variable",
                       name ? str_printable(name, shown, sizeof shown) : "");
    buf_printf(&command, value ? "export %s=" : "unset %s", name);
    if (value)
        add_quoted(&command, value);
    return do_in_shell(shell, &command, HUTCH_EDENIED, name, err);
}
