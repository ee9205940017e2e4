/* SPDX-License-Identifier: Apache-2.0 */
/* What a shell shows on its terminals, and the interactive one. */
#include <limits.h>
#include <time.h>

#include "base/err.h"
#include "session/shell.h"

static void on_event(void *arg, const struct hutch_event *event)
{
    struct hutch_shell *shell = arg;

    shell_pass_on(shell, event, (const char *const[]){shell->program, "-i", NULL});
}

int shell_start_interactive(struct hutch_shell *shell, uint64_t timeout_ms, struct hutch_error *err)
{
    buf_auto struct buf script;

    buf_init(&script, PRELUDE_MAX);
    prelude_interactive(&script, shell->dialect, shell->dir, shell->generation + 1);
    if (script.failed)
        return err_oom(err);
    const char *const argv[] = {shell->program, "-c",           script.data,
                                shell->program, shell->program, NULL};
    shell->interactive = true;
    return shell_start_run(shell, argv, true, timeout_ms, on_event, err);
}

static int check_terminal(const struct hutch_shell *shell, struct hutch_error *err)
{
    if (!shell)
        return err_set(err, HUTCH_EINVALID, "shell", "NULL was given");
    if (shell->mode != HUTCH_SHELL_PTY)
        return err_set(err, HUTCH_ESTATE, "shell", "it has no terminal");
    return 0;
}

int hutch_shell_resize(struct hutch_shell *shell, uint16_t rows, uint16_t cols,
                       struct hutch_error *err)
{
    int r = check_terminal(shell, err);
    if (r < 0)
        return r;
    shell->rows = rows;
    shell->cols = cols;
    return shell->run ? hutch_run_resize(shell->run, rows, cols, err) : 0;
}

int hutch_shell_read(struct hutch_shell *shell, uint64_t cursor, void *data, size_t size,
                     uint64_t *next, struct hutch_error *err)
{
    int r = check_terminal(shell, err);
    if (r < 0)
        return r;
    if ((!data && size) || !next)
        return err_set(err, HUTCH_EINVALID, next ? "data" : "next", "NULL was given");
    if (cursor > shell->output.end)
        return err_set(err, HUTCH_EINVALID, "cursor", "so much has not been printed");
    size_t len = ring_read(&shell->output, &cursor, data, size < INT_MAX ? size : INT_MAX);
    *next = cursor;
    return (int)len;
}

static uint64_t now_ms(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int hutch_shell_wait(struct hutch_shell *shell, uint32_t quiet_ms, uint32_t timeout_ms,
                     struct hutch_error *err)
{
    int r = check_terminal(shell, err);
    if (r < 0)
        return r;

    const uint64_t deadline = now_ms() + timeout_ms;
    uint64_t seen = shell->output.end;
    uint64_t quiet_at = now_ms() + quiet_ms;
    for (;;) {
        if (!shell->run || shell->run_over)
            return 2;
        uint64_t now = now_ms();
        uint64_t until = quiet_at < deadline ? quiet_at : deadline;
        uint64_t left = until > now ? until - now : 0;
        r = hutch_run_step(shell->run, left < INT_MAX ? (int)left : INT_MAX, err);
        if (r != 0) {
            shell->run_over = true;
            return r < 0 ? r : 2; /* a failure is said once, then it is the end */
        }
        now = now_ms();
        if (seen != shell->output.end) {
            seen = shell->output.end;
            quiet_at = now + quiet_ms;
        } else if (now >= quiet_at) {
            return 1;
        }
        if (now >= deadline)
            return 0;
    }
}
