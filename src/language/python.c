/* SPDX-License-Identifier: Apache-2.0 */
/* A workspace's own Python: .venv in it. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/options.h"
#include "base/path.h"
#include "base/str.h"
#include "language/language.h"

static const char *in_venv(struct place *place, const char *name)
{
    return path_join(&place->arena, place->workspace,
                     arena_concat(&place->arena, PYTHON_VENV "/", name));
}

/* Whether there is a .venv: 1, or 0. A link may lead to another workspace's, so it is none. */
static int venv_exists(struct place *place, struct hutch_error *err)
{
    enum hutch_file_type type;
    int r = place_stat(place, PYTHON_VENV, false, &type, err);

    if (r <= 0 || type == HUTCH_FILE_DIRECTORY)
        return r;
    err_sys(err, -ENOTDIR, PYTHON_VENV,
            "'%s' in the workspace is a %s and not a directory: remove it, or give it another name",
            PYTHON_VENV, type == HUTCH_FILE_OTHER ? "special file" : hutch_file_type_name(type));
    if (err)
        err->code = HUTCH_EINVALID;
    return HUTCH_EINVALID;
}

int python_is_ready(struct place *place, struct hutch_error *err)
{
    int r = venv_exists(place, err);

    if (r > 0)
        r = place_stat(place, PYTHON_VENV "/pyvenv.cfg", true, NULL, err);
    if (r > 0)
        r = place_is_program(place, PYTHON_VENV "/bin/python", err);
    return r;
}

int python_program(struct place *place, const char **ret, struct hutch_error *err)
{
    int r = python_is_ready(place, err);

    if (r < 0)
        return r;
    if (r == 0)
        return place_need(place, ARGV("python3"), ret, err);
    *ret = in_venv(place, "bin/python");
    return *ret ? 0 : err_oom(err);
}

/* ---- Making one ---- */

/* The last line of what a program wrote, which is where programs say why. */
static const char *last_line(const struct hutch_result *result, char *out, size_t size)
{
    const char *text = result->stderr_len ? result->stderr_data : result->stdout_data;
    size_t len = strlen(text);
    char line[256];

    while (len > 0 && text[len - 1] == '\n')
        len--;
    size_t start = len;
    while (start > 0 && text[start - 1] != '\n')
        start--;
    len -= start;
    if (len >= sizeof line)
        len = sizeof line - 1;
    memcpy(line, text + start, len);
    line[len] = '\0';
    return str_printable(line, out, size);
}

/* 1 when the command did it, 0 when it failed and another may do better; then *err says why. */
static int try_making(struct place *place, const char *const *argv,
                      const struct hutch_code_options *options, struct hutch_error *err)
{
    static const struct place_events events = {NULL, NULL};
    struct hutch_result *result = NULL;
    struct hutch_run *run = NULL;
    char line[200];

    int r = place_start(place, argv, LANGUAGE_PYTHON, options, NULL, 0, &events, &run, err);
    if (r == 0)
        r = place_finish(run, &result, err);
    if (r < 0 || !result)
        return r;
    if (result->reason == HUTCH_EXITED && result->exit_code == 0)
        r = 1;
    else if (result->reason == HUTCH_EXITED)
        err_set(err, HUTCH_ESYSTEM, PYTHON_VENV, "cannot make '%s': %s exited with %d: %s",
                PYTHON_VENV, place_basename(argv[0]), result->exit_code,
                last_line(result, line, sizeof line));
    else
        r = err_set(err, HUTCH_ESTATE, PYTHON_VENV, "cannot make '%s': %s was ended (%s)",
                    PYTHON_VENV, place_basename(argv[0]), hutch_reason_name(result->reason));
    hutch_result_free(result);
    return r;
}

/* With uv: 0 where there is none, or it cannot. */
static int make_with_uv(struct place *place, const char *dir, const char *python,
                        const struct hutch_code_options *run, struct hutch_error *err)
{
    const char *const *choice = python ? ARGV("--python", python) : NULL;
    const char *uv = NULL;
    int r = place_find(place, "uv", &uv, err);

    if (r < 0 || !uv)
        return r;
    const char *const *argv = place_concat(
        place, ARGV(uv, "venv", "--offline", "--allow-existing", dir), choice);
    return argv ? try_making(place, argv, run, err) : err_oom(err);
}

/* With Python's own means; without pip, too, where ensurepip is missing. */
static int make_with_python(struct place *place, const char *dir,
                            const struct hutch_python_options *options,
                            const struct hutch_code_options *run, struct hutch_error *err)
{
    const char *program = NULL;
    int r = place_need(place, ARGV(options->python ? options->python : "python3"), &program, err);

    /* -I: or modules of the workspace would stand in for those of Python. */
    if (r == 0 && !options->without_pip)
        r = try_making(place, ARGV(program, "-I", "-m", "venv", dir), run, err);
    if (r == 0)
        r = try_making(place, ARGV(program, "-I", "-m", "venv", "--without-pip", dir), run, err);
    return r;
}

static int make(struct place *place, const struct hutch_python_options *options,
                struct hutch_error *err)
{
    struct hutch_code_options run = HUTCH_CODE_INIT;
    struct hutch_error why = {0};
    const char *dir = path_join(&place->arena, place->workspace, PYTHON_VENV);

    if (!dir)
        return err_oom(err);
    run.timeout_ms = options->timeout_ms;
    int r = make_with_uv(place, dir, options->python, &run, &why);
    if (r == 0)
        r = make_with_python(place, dir, options, &run, &why);
    if (r == 0)
        r = why.code;
    if (r < 0 && err)
        *err = why;
    return r;
}

/* A half-made one would pass for whole: what was not there before goes away again. */
static void unmake(struct place *place)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;

    options.recursive = true;
    hutch_file_delete(place->sandbox, PYTHON_VENV, &options, NULL);
}

static int ensure(struct place *place, const struct hutch_python_options *options, bool *created,
                  struct hutch_error *err)
{
    const int existed = venv_exists(place, err);
    int r = existed < 0 ? existed : python_is_ready(place, err);

    if (r != 0)
        return r;
    r = make(place, options, err);
    if (r > 0)
        r = python_is_ready(place, err);
    if (r == 0)
        r = err_set(err, HUTCH_ESTATE, PYTHON_VENV,
                    "'%s' in the workspace has no python that works: delete it and try again",
                    PYTHON_VENV);
    *created = r > 0;
    if (r < 0 && existed == 0)
        unmake(place);
    return r;
}

/* What installs packages into it. */
static int find_manager(struct place *place, const char **ret, struct hutch_error *err)
{
    int r = place_find(place, "uv", ret, err);

    if (r < 0 || *ret)
        return r;
    const char *pip = in_venv(place, "bin/pip");
    r = pip ? place_is_program(place, pip, err) : err_oom(err);
    *ret = r > 0 ? pip : NULL;
    return r < 0 ? r : 0;
}

int hutch_python_init(struct hutch_sandbox *sandbox, const struct hutch_python_options *options,
                      struct hutch_language **ret, struct hutch_error *err)
{
    struct hutch_python_options known = HUTCH_PYTHON_INIT;
    struct hutch_language language = {0};
    place_auto struct place place;

    int r = place_begin(&place, sandbox, err);
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0 && known.python && !known.python[0])
        r = err_set(err, HUTCH_EINVALID, "python", "its name is empty");
    if (r == 0)
        r = ensure(&place, &known, &language.created, err);
    if (r >= 0)
        r = python_program(&place, &language.program, err);
    if (r >= 0)
        r = find_manager(&place, &language.manager, err);
    return r < 0 ? r : place_give(&language, ret, err);
}
