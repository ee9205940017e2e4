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
    int r;

    do
        r = hutch_run_step(run, -1, err);
    while (r == 0);
    if (r > 0)
        r = hutch_run_result(run, ret, err);
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
