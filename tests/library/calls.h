/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of calls on files share: a call as one word or text, next to a command that does the same. */
#pragma once

#include <string.h>

#include <hutch.h>

#include "open.h"

/* Run a line in the shell of the sandbox; what it printed. */
static inline const char *sh(struct hutch_sandbox *sandbox, const char *line)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;

    command.argv = LIST("sh", "-c", line);
    OK(hutch_sandbox_exec(sandbox, &command, &result, &err));
    const char *out = box_text("%s%s", result->stdout_data, result->stderr_data);
    hutch_result_free(result);
    return out;
}

/* The whole file, or the word for why not, in angle brackets. */
static inline const char *call_read(struct hutch_sandbox *sandbox, const char *path)
{
    struct hutch_file_content *content = NULL;

    if (hutch_file_read(sandbox, path, NULL, &content, &err) < 0)
        return box_text("<%s>", hutch_error_word(&err));
    const char *text = box_text("%s", content->data);
    hutch_file_free(content);
    return text;
}

/* "ok", or the word for why not. */
static inline const char *call_write(struct hutch_sandbox *sandbox, const char *path,
                                     const char *text)
{
    int r = hutch_file_write(sandbox, path, text, strlen(text), NULL, NULL, &err);

    return r < 0 ? hutch_error_word(&err) : "ok";
}

static inline const char *call_delete(struct hutch_sandbox *sandbox, const char *path)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;

    options.recursive = true;
    return hutch_file_delete(sandbox, path, &options, &err) < 0 ? hutch_error_word(&err) : "ok";
}

/* What a command can do with a path, and what a call can: "rw", "r-", "-w" or "--". */
static inline void compare_rights(struct hutch_sandbox *sandbox, const char *path)
{
    bool readable = call_read(sandbox, path)[0] != '<'; /* before anybody makes it */
    const char *by_command = sh(sandbox,
                                box_text("cat '%s' >/dev/null 2>&1 && printf r || printf -; "
                                         "{ printf x >>'%s'; } 2>/dev/null && printf w || printf -",
                                         path, path));
    bool writable = strcmp(call_write(sandbox, path, "text\n"), "ok") == 0;
    const char *by_call = box_text("%c%c", readable ? 'r' : '-', writable ? 'w' : '-');

    box_check(strcmp(by_command, by_call) == 0, __FILE__, __LINE__,
              "'%s': %s for a command, %s for a call", path, by_command, by_call);
}
