/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of languages share: code in a sandbox, what came out as text. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include <hutch.h>

#include "open.h"

/* Where distributions put their programs: all layouts show them. */
#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

/* One that must not: its word, and something that its message says. */
#define REFUSED(call, word, part)                                                                  \
    do {                                                                                           \
        CHECK((call) < 0);                                                                         \
        CHECK_TEXT((word), hutch_error_word(&err));                                                \
        CHECK_HAS(err.msg, (part));                                                                \
    } while (0)

static inline struct hutch_sandbox *open_in_memory(const char *layout)
{
    return drive_open(LIST("--layout", layout, "-w", "tmpfs"));
}

static inline bool has_program(const char *name)
{
    return drive_shell(box_text("command -v %s >/dev/null", name)) == 0;
}

static inline void need(const char *name)
{
    if (!has_program(name))
        box_skip("%s is not in %s", name, USUAL_PATH);
}

/* Status and output of a result, which is freed: "0 text". */
static inline const char *told(struct hutch_result *result)
{
    const char *text = box_text("%d %s%s", result->status, result->stdout_data,
                                result->stderr_data);

    hutch_result_free(result);
    return text;
}

static inline const char *python(struct hutch_sandbox *sandbox, const char *code)
{
    struct hutch_result *result = NULL;

    OK(hutch_python_exec(sandbox, code, strlen(code), NULL, &result, &err));
    return told(result);
}

static inline const char *node(struct hutch_sandbox *sandbox, const char *code)
{
    struct hutch_result *result = NULL;

    OK(hutch_node_exec(sandbox, code, strlen(code), NULL, &result, &err));
    return told(result);
}

static inline const char *tests(struct hutch_sandbox *sandbox, const char *path)
{
    struct hutch_result *result = NULL;

    OK(hutch_run_tests(sandbox, path, NULL, &result, &err));
    return told(result);
}

/* A line in the shell of the sandbox, with the variables `env` (NULL: none). */
static inline const char *sh(struct hutch_sandbox *sandbox, const char *const *env,
                             const char *line)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;

    command.argv = LIST("sh", "-c", line);
    command.env = env;
    OK(hutch_sandbox_exec(sandbox, &command, &result, &err));
    return told(result);
}

static inline void put(struct hutch_sandbox *sandbox, const char *path, const char *text)
{
    OK(hutch_file_write(sandbox, path, text, strlen(text), NULL, NULL, &err));
}

/* An environment without pip, which would take most of the time. Whether it was made now. */
static inline bool init_python(struct hutch_sandbox *sandbox)
{
    struct hutch_python_options options = HUTCH_PYTHON_INIT;
    struct hutch_language *language = NULL;

    options.without_pip = true;
    OK(hutch_python_init(sandbox, &options, &language, &err));
    bool created = language->created;
    free(language);
    return created;
}

/* The path inside of something in the workspace. */
static inline const char *inside(struct hutch_sandbox *sandbox, const char *name)
{
    const char *cwd = cwd_of(sandbox);

    return box_text("%s/%s", cwd[1] ? cwd : "", name);
}
