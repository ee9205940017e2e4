/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running what a language needs to be run. Code goes by standard input: no shell reads it, no name of a
 * file has to be made up, and modules are looked for from the working directory, as they are for a
 * program that lies there.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/options.h"
#include "base/str.h"
#include "language/language.h"

/* A file without a name that holds `code`, to be read from its start. -errno on failure. */
static int code_fd(const char *code, size_t len)
{
    fd_auto int fd = memfd_create("code", MFD_CLOEXEC);

    if (fd < 0)
        return -errno;
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, code + done, len - done, (off_t)done);

        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return fd_take(&fd);
}

int place_start(struct place *place, const char *const *argv, unsigned languages,
                const struct hutch_code_options *options, const char *code, size_t len,
                const struct place_events *events, struct hutch_run **ret, struct hutch_error *err)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    fd_auto int input = code ? code_fd(code, len) : -1;

    if (code && input < 0)
        return err_sys(err, input, "code", "cannot hold the code for the sandbox to read");
    command.argv = place_concat(place, argv, options->args);
    command.env = place_env(place, languages, options->env);
    if (!command.argv || !command.env)
        return err_oom(err);
    command.cwd = options->cwd;
    command.stdin_fd = input;
    command.stdout_fd = options->stdout_fd;
    command.stderr_fd = options->stderr_fd;
    command.timeout_ms = options->timeout_ms;
    return hutch_sandbox_start(place->sandbox, &command, events->fn, events->arg, ret, err);
}

int place_finish(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err)
{
    int r = hutch_run_finish(run, ret, err);

    hutch_run_free(run);
    return r;
}

int place_give(const struct hutch_language *language, struct hutch_language **ret,
               struct hutch_error *err)
{
    const char *program = language->program, *manager = language->manager;
    const size_t program_size = strlen(program) + 1;
    const size_t manager_size = manager ? strlen(manager) + 1 : 0;

    if (!ret)
        return 0;
    struct hutch_language *given = malloc(sizeof *given + program_size + manager_size);
    if (!given)
        return err_oom(err);
    char *text = (char *)(given + 1);
    *given = (struct hutch_language){
        .size = sizeof *given,
        .created = language->created,
        .program = memcpy(text, program, program_size),
        .manager = manager ? memcpy(text + program_size, manager, manager_size) : NULL,
    };
    *ret = given;
    return 0;
}

/* ---- Code in any language ---- */

static int start(enum language language, struct hutch_sandbox *sandbox, const char *code,
                 size_t len, const struct hutch_code_options *options,
                 const struct place_events *events, struct hutch_run **ret, struct hutch_error *err)
{
    struct hutch_code_options known = HUTCH_CODE_INIT;
    const bool is_python = language == LANGUAGE_PYTHON;
    const char *program = NULL;
    place_auto struct place place;

    int r = place_begin(&place, sandbox, err);
    if (r == 0 && (!code || !ret))
        r = err_null(err, !code ? "code" : "ret");
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0)
        r = is_python ? python_program(&place, &program, err) : node_program(&place, &program, err);
    if (r < 0)
        return r;
    /* -u: or what was printed before a time-out is lost in a buffer. */
    const char *const *argv = is_python                                ? ARGV(program, "-u", "-")
                              : str_eq(place_basename(program), "bun") ? ARGV(program, "run", "-")
                                                                       : ARGV(program, "-");
    return place_start(&place, argv, language, &known, code, len, events, ret, err);
}

static int exec(enum language language, struct hutch_sandbox *sandbox, const char *code, size_t len,
                const struct hutch_code_options *options, struct hutch_result **ret,
                struct hutch_error *err)
{
    static const struct place_events events = {NULL, NULL};
    struct hutch_run *run = NULL;

    if (!ret)
        return err_null(err, "ret");
    int r = start(language, sandbox, code, len, options, &events, &run, err);
    return r < 0 ? r : place_finish(run, ret, err);
}

int hutch_python_start(struct hutch_sandbox *sandbox, const char *code, size_t len,
                       const struct hutch_code_options *options, hutch_event_fn *on_event,
                       void *arg, struct hutch_run **ret, struct hutch_error *err)
{
    const struct place_events events = {on_event, arg};

    return start(LANGUAGE_PYTHON, sandbox, code, len, options, &events, ret, err);
}

int hutch_node_start(struct hutch_sandbox *sandbox, const char *code, size_t len,
                     const struct hutch_code_options *options, hutch_event_fn *on_event, void *arg,
                     struct hutch_run **ret, struct hutch_error *err)
{
    const struct place_events events = {on_event, arg};

    return start(LANGUAGE_NODE, sandbox, code, len, options, &events, ret, err);
}

int hutch_python_exec(struct hutch_sandbox *sandbox, const char *code, size_t len,
                      const struct hutch_code_options *options, struct hutch_result **ret,
                      struct hutch_error *err)
{
    return exec(LANGUAGE_PYTHON, sandbox, code, len, options, ret, err);
}

int hutch_node_exec(struct hutch_sandbox *sandbox, const char *code, size_t len,
                    const struct hutch_code_options *options, struct hutch_result **ret,
                    struct hutch_error *err)
{
    return exec(LANGUAGE_NODE, sandbox, code, len, options, ret, err);
}
