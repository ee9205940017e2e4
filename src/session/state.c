/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a shell: half of it here, half of it in the files that it left inside. */
#include <limits.h>
#include <stdlib.h>

#include "base/err.h"
#include "session/saved.h"
#include "session/shell.h"

/* The struct that is handed out, and what it points to. */
struct state {
    struct hutch_shell_state state; /* first */
    struct arena arena;
};

static const char *const no_strings[] = {NULL};

/* The files of the state that the engine reads. */
enum { A_OK, B_OK, BEGAN, A_ENV, B_ENV, PID, FILE_COUNT };

/* Read the first `count` of them. */
static int read_files(struct hutch_shell *shell, struct arena *arena, size_t count,
                      struct hutch_file_transfers **ret, struct hutch_error *err)
{
    static const char *const names[FILE_COUNT] = {"a.ok", "b.ok", "began", "a.env", "b.env", "pid"};
    struct hutch_file_download_options options = HUTCH_FILE_DOWNLOAD_INIT;
    const char *paths[FILE_COUNT];

    options.max_bytes = SAVED_BYTES_MAX;
    for (size_t i = 0; i < count; i++)
        paths[i] = arena_printf(arena, "%s/%s", shell->dir, names[i]);
    if (arena_failed(arena))
        return err_oom(err);
    return hutch_file_download(shell->sandbox, paths, count, &options, ret, err);
}

/* The number in a file; 0 when there is none. */
static uint64_t number_of(const struct hutch_file_transfer *file)
{
    uint64_t number;

    if (file->error.code || !saved_parse_number(file->data, file->len, UINT64_MAX, &number))
        return 0;
    return number;
}

void shell_drop_unfit(struct hutch_shell *shell, uint64_t number)
{
    struct hutch_file_transfers *files;
    struct arena arena;

    arena_init(&arena);
    if (read_files(shell, &arena, A_ENV, &files, NULL) == 0) {
        uint64_t a = number_of(&files->items[A_OK]);
        uint64_t b = number_of(&files->items[B_OK]);
        if (a != number && b != number && number_of(&files->items[BEGAN]) != number && a != b)
            hutch_file_delete(shell->sandbox, files->items[a > b ? A_OK : B_OK].path, NULL, NULL);
        hutch_file_free(files);
    }
    arena_clear(&arena);
}

/* Take a slot when it is whole and newer than what there is. */
static void take_slot(struct arena *arena, const struct hutch_file_transfer *ok,
                      const struct hutch_file_transfer *env, struct saved *saved)
{
    struct saved found;

    if (env->error.code == 0 && saved_parse(arena, env->data, env->len, &found) &&
        found.generation == number_of(ok) && found.generation > saved->generation)
        *saved = found;
}

static bool is_running(const struct hutch_shell *shell)
{
    return shell->run && !shell->run_over;
}

static int look_inside(struct hutch_shell *shell, struct arena *arena, struct saved *saved,
                       struct hutch_error *err)
{
    struct hutch_file_transfers *files;
    uint64_t pid;

    int r = read_files(shell, arena, FILE_COUNT, &files, err);
    if (r < 0)
        return r;
    take_slot(arena, &files->items[A_OK], &files->items[A_ENV], saved);
    take_slot(arena, &files->items[B_OK], &files->items[B_ENV], saved);
    if (shell->interactive && is_running(shell) && files->items[PID].error.code == 0 &&
        saved_parse_number(files->items[PID].data, files->items[PID].len, INT_MAX, &pid))
        saved->pid = (int)pid;
    hutch_file_free(files);
    return 0;
}

static const char *const *copy_history(struct arena *arena, const struct history *history)
{
    const char **rows = arena_alloc(arena, (history->count + 1) * sizeof *rows);

    for (size_t i = 0; rows && i < history->count; i++)
        rows[i] = arena_strdup(arena, history->rows[i]);
    return rows;
}

static int fill(struct hutch_shell *shell, struct state *state, struct hutch_error *err)
{
    struct hutch_sandbox_info info = HUTCH_SANDBOX_INFO_INIT;
    struct saved saved = {.env = no_strings};

    int r = hutch_sandbox_info(shell->sandbox, &info, err);
    if (r == 0)
        r = look_inside(shell, &state->arena, &saved, err);
    if (r < 0)
        return r;
    if (!saved.cwd)
        saved.cwd = arena_strdup(&state->arena, info.cwd);
    state->state = (struct hutch_shell_state){
        .size = sizeof state->state,
        .id = arena_strdup(&state->arena, shell->id),
        .mode = shell->mode,
        .running = is_running(shell),
        .saved = shell->ended != 0 && saved.generation == shell->ended,
        .pid = saved.pid,
        .cwd = saved.cwd,
        .env = saved.env,
        .history = copy_history(&state->arena, &shell->history),
        .command_count = shell->count,
    };
    return arena_failed(&state->arena) ? err_oom(err) : 0;
}

int hutch_shell_state(struct hutch_shell *shell, struct hutch_shell_state **ret,
                      struct hutch_error *err)
{
    if (!shell || !ret)
        return err_set(err, HUTCH_EINVALID, shell ? "ret" : "shell", "NULL was given");
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return err_oom(err);
    arena_init(&state->arena);
    int r = fill(shell, state, err);
    if (r < 0) {
        hutch_shell_state_free(&state->state);
        return r;
    }
    *ret = &state->state;
    return 0;
}

void hutch_shell_state_free(struct hutch_shell_state *state)
{
    if (!state)
        return;
    arena_clear(&((struct state *)state)->arena);
    free(state);
}
