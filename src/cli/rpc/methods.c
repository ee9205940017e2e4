/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/methods.h"

#include "base/str.h"

#define SANDBOX                                                                                    \
    {                                                                                              \
        "sandbox", PARAM_STRING, "its id, from `sandbox.open`", .required = true                   \
    }
#define RUN                                                                                        \
    {                                                                                              \
        "run", PARAM_COUNT, "its number, from `sandbox.start` or an event",                        \
            .required = true, .min = 1, .max = UINT32_MAX                                          \
    }
#define POLICY                                                                                     \
    {"profile", PARAM_STRING, "the profile to start from; else `HUTCH_PROFILE`, else `default`"},  \
    {                                                                                              \
        "policy", PARAM_OBJECT, "a policy document, merged over it (hutch-policy(5))"              \
    }
#define COMMAND                                                                                    \
    {"argv", PARAM_STRINGS, "the command and its arguments; this or `command`"},                   \
        {"command", PARAM_STRING, "a line for `sh -c`"},                                           \
        {"cwd", PARAM_STRING, "where it starts, inside; else the workspace"},                      \
        {"env", PARAM_MAP, "variables, over those of the policy"},                                 \
    {                                                                                              \
        "timeout", PARAM_DURATION, "in place of the policy's; `500ms`, `30s`, `unlimited`"         \
    }
#define PATH                                                                                       \
    {                                                                                              \
        "path", PARAM_STRING, "inside; absolute, or from where commands start", .required = true   \
    }
#define PATH_OR_CWD                                                                                \
    {                                                                                              \
        "path", PARAM_STRING, "where to look, inside; else where commands start"                   \
    }
#define ENCODING(of)                                                                               \
    {                                                                                              \
        "encoding", PARAM_WORD, "of `" of "`: `utf-8`, the default, or `base64`",                  \
            .values = "utf-8|base64"                                                               \
    }
#define FOLLOW                                                                                     \
    {                                                                                              \
        "follow", PARAM_BOOL, "say of a link what it leads to"                                     \
    }
#define BUDGET(otherwise, when)                                                                    \
    {                                                                                              \
        "budget_ms", PARAM_COUNT, "time it may take, else " otherwise "; then " when,              \
            .min = 1, .max = BUDGET_MAX_MS                                                         \
    }
#define END                                                                                        \
    {                                                                                              \
        .name = ""                                                                                 \
    }

#define LIMIT_MAX 100000     /* of lines, entries, matches that one answer may have */
#define BUDGET_MAX_MS 30000  /* for one call */
#define READ_MAX (64u << 20) /* bytes of a file in one answer */

static const struct param none[] = {END};
static const struct param open_params[] = {POLICY, END};
static const struct param sandbox_params[] = {SANDBOX, END};
static const struct param exec_params[] = {SANDBOX,
                                           COMMAND,
                                           {"stdin", PARAM_STRING, "its input; else it has none"},
                                           ENCODING("stdin"),
                                           END};
static const struct param start_params[] = {
    SANDBOX,
    COMMAND,
    {"stdin", PARAM_STRING, "all of its input; else that comes by `sandbox.write`"},
    ENCODING("stdin"),
    {"tty", PARAM_BOOL, "give it a terminal; all output is `stdout` then"},
    {"cols", PARAM_COUNT, "size of the terminal, else 80", .min = 1, .max = UINT16_MAX},
    {"rows", PARAM_COUNT, "size of the terminal, else 24", .min = 1, .max = UINT16_MAX},
    END,
};
static const struct param poll_params[] = {
    SANDBOX,
    RUN,
    {"cursor", PARAM_COUNT, "where to go on, from the last answer; else the beginning",
     .max = INT64_MAX},
    {"wait_ms", PARAM_COUNT, "wait this long for output or the end; else not at all",
     .max = 24 * 3600 * 1000},
    END,
};
static const struct param write_params[] = {
    SANDBOX,
    RUN,
    {"data", PARAM_STRING, "input for the command"},
    ENCODING("data"),
    {"eof", PARAM_BOOL, "no more comes after it; a terminal gets Ctrl-D"},
    END,
};
static const struct param signal_params[] = {
    SANDBOX,
    RUN,
    {"signal", PARAM_SIGNAL, "a name, such as `TERM`, or a number", .required = true},
    END,
};
static const struct param resize_params[] = {
    SANDBOX,
    RUN,
    {"cols", PARAM_COUNT, "columns", .required = true, .min = 1, .max = UINT16_MAX},
    {"rows", PARAM_COUNT, "lines", .required = true, .min = 1, .max = UINT16_MAX},
    END,
};
static const struct param subscribe_params[] = {
    {"types", PARAM_STRINGS, "types of events; else all. An empty list ends the subscription"},
    {"sandbox", PARAM_STRING, "events of this sandbox only; else of all"},
    END,
};
static const struct param explain_params[] = {POLICY, COMMAND, END};
static const struct param cancel_params[] = {
    {"id", PARAM_ID, "the id of the request", .required = true}, END};

static const struct param read_params[] = {
    SANDBOX,
    PATH,
    {"offset", PARAM_COUNT, "lines to skip, else 0; with `bytes` bytes", .max = INT64_MAX},
    {"limit", PARAM_COUNT, "lines, else 2000; with `bytes` bytes", .max = READ_MAX},
    {"max_bytes", PARAM_COUNT, "most bytes of content, else 512000", .min = 1, .max = READ_MAX},
    {"bytes", PARAM_BOOL, "the file as it is: no lines"},
    END,
};
static const struct param file_write_params[] = {
    SANDBOX,
    PATH,
    {"content", PARAM_STRING, "all of the file", .required = true},
    ENCODING("content"),
    {"mode", PARAM_COUNT, "permissions as a number; else those it has, or 420 (0644)", .max = 0777},
    {"exclusive", PARAM_BOOL, "fail when it exists"},
    END,
};
static const struct param edit_params[] = {
    SANDBOX,
    PATH,
    {"old", PARAM_STRING, "text to find, literally", .required = true},
    {"new", PARAM_STRING, "what to put in its place", .required = true},
    {"all", PARAM_BOOL, "every occurrence; else there must be exactly one"},
    END,
};
static const struct param list_params[] = {
    SANDBOX,
    PATH_OR_CWD,
    {"limit", PARAM_COUNT, "entries, else 10000", .max = LIMIT_MAX},
    FOLLOW,
    BUDGET("5000", "`truncated`"),
    END,
};
static const struct param stat_params[] = {SANDBOX, PATH, FOLLOW, END};
static const struct param delete_params[] = {
    SANDBOX,
    PATH,
    {"recursive", PARAM_BOOL, "also a directory that is not empty"},
    BUDGET("30000", "it fails"),
    END,
};
static const struct param glob_params[] = {
    SANDBOX,
    {"pattern", PARAM_STRING, "`*`, `?`, `[a-z]`, `{a,b}`, and `**` for directories",
     .required = true},
    PATH_OR_CWD,
    {"directories", PARAM_BOOL, "directories match too"},
    {"hidden", PARAM_BOOL, "names that begin with a dot match wildcards"},
    {"anchored", PARAM_BOOL, "a pattern without a slash is for `path` itself, not below it"},
    {"limit", PARAM_COUNT, "matches, else 10000", .max = LIMIT_MAX},
    BUDGET("5000", "`truncated`"),
    END,
};
static const struct param grep_params[] = {
    SANDBOX,
    {"pattern", PARAM_STRING, "what a line must contain", .required = true},
    PATH_OR_CWD,
    {"glob", PARAM_STRING, "only files of these names"},
    {"regex", PARAM_BOOL, "`pattern` is a POSIX extended expression; else it is literal"},
    {"ignore_case", PARAM_BOOL, "upper and lower case are the same"},
    {"context", PARAM_COUNT, "lines before and after each match, else 0", .max = 100},
    {"limit", PARAM_COUNT, "matches, else 1000", .max = LIMIT_MAX},
    BUDGET("10000", "`truncated`"),
    END,
};
static const struct param upload_params[] = {
    SANDBOX,
    {"files", PARAM_OBJECTS, "each with `path`, `content_base64` and maybe `mode`",
     .required = true},
    END,
};
static const struct param download_params[] = {
    SANDBOX, {"paths", PARAM_STRINGS, "files to read, of 64 MiB in all", .required = true}, END};

#define SHELL                                                                                      \
    {                                                                                              \
        "shell", PARAM_STRING, "its id, from `shell.open`", .required = true                       \
    }

static const struct param shell_params[] = {SHELL, END};
static const struct param shell_open_params[] = {
    SANDBOX,
    {"mode", PARAM_WORD, "`exec`, the default, or `pty`", .values = "exec|pty"},
    {"program", PARAM_STRING, "the shell, from the sandbox's PATH; else bash, or sh"},
    {"cwd", PARAM_STRING, "where it starts, inside; else the workspace"},
    {"env", PARAM_MAP, "variables, over those of the policy"},
    {"cols", PARAM_COUNT, "of `pty`: size of the terminal, else 80", .min = 1, .max = UINT16_MAX},
    {"rows", PARAM_COUNT, "of `pty`: size of the terminal, else 24", .min = 1, .max = UINT16_MAX},
    END,
};
static const struct param shell_cd_params[] = {
    SHELL, {"dir", PARAM_STRING, "absolute inside, or from where it is", .required = true}, END};
static const struct param shell_setenv_params[] = {
    SHELL,
    {"name", PARAM_STRING, "of the variable", .required = true},
    {"value", PARAM_STRING, "its value; else it is unset"},
    END,
};
static const struct param shell_exec_params[] = {
    SHELL,
    {"command", PARAM_STRING, "text in the language of the shell", .required = true},
    {"timeout", PARAM_DURATION, "in place of the policy's; `500ms`, `30s`, `unlimited`"},
    END,
};
static const struct param shell_read_params[] = {
    SHELL,
    {"cursor", PARAM_COUNT, "where to go on, from the last answer; else the beginning",
     .max = INT64_MAX},
    {"wait_ms", PARAM_COUNT, "wait this long for output or the end; else not at all",
     .max = 24 * 3600 * 1000},
    END,
};
static const struct param shell_write_params[] = {
    SHELL, {"data", PARAM_STRING, "what is typed", .required = true}, ENCODING("data"), END};
static const struct param shell_resize_params[] = {
    SHELL,
    {"cols", PARAM_COUNT, "columns", .required = true, .min = 1, .max = UINT16_MAX},
    {"rows", PARAM_COUNT, "lines", .required = true, .min = 1, .max = UINT16_MAX},
    END,
};

#define ENTRY "`{name, path, type, size, modified, mode}`"

const struct method methods[] = {
    {"events.subscribe", method_events_subscribe, subscribe_params,
     "From now on send events as notifications `event`, with the object of hutch-run(1) as `params`. "
     "Another call for the same sandbox, or for all, replaces the first.",
     "`{}`"},
    {"file.delete", NULL, delete_params,
     "Remove a file, a link, or a directory. Links are not followed.", "`{}`", file_delete},
    {"file.download", NULL, download_params,
     "Read many whole files. Each has its own `error`, null or `{code, where, errno, message}`.",
     "`{results: [{path, error, content_base64?}]}`, one for each path, in order", file_download},
    {"file.edit", NULL, edit_params, "Replace text in a file.", "`{path, occurrences}`", file_edit},
    {"file.glob", NULL, glob_params, "Find files by their names.",
     "`{matches: [{path, type, size, modified}], truncated}`", file_glob},
    {"file.grep", NULL, grep_params, "Find lines in files.",
     "`{matches: [{path, line, text, before, after}], truncated}`", file_grep},
    {"file.list", NULL, list_params, "What is in a directory.",
     "`{entries, truncated}`, a list of what `file.stat` says", file_list},
    {"file.read", NULL, read_params,
     "Read lines of a file. What is not UTF-8 comes in base64, from its beginning.",
     "`{content, encoding, start_line, end_line, next_offset, total_lines, size, modified, "
     "truncated}`; `next_offset` is null at the end, `total_lines` when they were not counted",
     file_read},
    {"file.stat", method_file_stat, stat_params, "What a path is.",
     ENTRY
     ", `type` one of `file`, `directory`, `symlink`, `other`, `modified` in milliseconds since "
     "1970"},
    {"file.upload", NULL, upload_params,
     "Write many files, each as `file.write` does. Each has its own `error`, as in `file.download`.",
     "`{results: [{path, error}]}`, one for each file, in order", file_upload},
    {"file.write", NULL, file_write_params,
     "Write a whole file, at once; directories on the way are made.", "`{path, size, created}`",
     file_write},
    {"host.doctor", method_host_doctor, none,
     "What this host can enforce, by what means, what is missing and what would help. Runs `true` to find out.",
     "as `hutch doctor --json`"},
    {"policy.explain", method_policy_explain, explain_params,
     "What a run would be on this host. Nothing is run.", "as `hutch explain --json`"},
    {"rpc.cancel", method_cancel, cancel_params,
     "End the wait of a request that has not been answered. The command of `sandbox.exec` or `shell.exec` is ended with "
     "all its processes, and the request is answered with its result, `reason` `cancelled`; "
     "`sandbox.poll` is answered with what there is; a request that has not begun is answered with an error. A call "
     "about files that has begun goes on to its end.",
     "`{}`"},
    {"sandbox.close", method_sandbox_close, sandbox_params,
     "End everything in a sandbox, and it. Requests that wait for its runs are answered first, with "
     "`reason` `cancelled`.",
     "`{}`"},
    {"sandbox.exec", method_sandbox_exec, exec_params, "Run a command and wait for its end.",
     "a result, as `hutch run --json`"},
    {"sandbox.info", method_sandbox_info, sandbox_params, "What a sandbox is and what runs in it.",
     "`{sandbox, cwd, enforced, setup_ms, gone, runs: [{run, state}]}`, `state` `running` or `ended`",
     .any_time = true},
    {"sandbox.list", method_sandbox_list, none, "All sandboxes of this server.",
     "`{sandboxes}`, a list of what `sandbox.info` says"},
    {"sandbox.open", method_sandbox_open, open_params,
     "Open a sandbox. It lasts until it is closed, or the client is gone.",
     "`{sandbox, enforced, cwd}`"},
    {"sandbox.poll", method_sandbox_poll, poll_params,
     "Output of a command that was started, from a place on, and its result once all output was told. "
     "At most 1 MiB of output is kept; `dropped` says how many bytes were lost after `cursor`. "
     "Where output is not UTF-8, `data_base64` has it exactly.",
     "`{output: [{stream, data, data_base64?}], cursor, dropped?, done, result?}`",
     .any_time = true},
    {"sandbox.resize", method_sandbox_resize, resize_params, "Change the size of its terminal.",
     "`{}`"},
    {"sandbox.signal", method_sandbox_signal, signal_params,
     "Send a signal to a command and its process group.", "`{}`"},
    {"sandbox.start", method_sandbox_start, start_params,
     "Start a command. It goes on until it ends or the sandbox is closed. Poll it to its end: of runs that "
     "were not, there can be 256.",
     "`{run}`"},
    {"sandbox.write", method_sandbox_write, write_params,
     "Give a command input. What it has not read waits for it; more than 8 MiB of that are refused.",
     "`{}`"},
    {"server.info", method_server_info, none, "What this server is.", "`{name, version, methods}`"},
    {"shell.cd", method_shell_cd, shell_cd_params,
     "Change the working directory of a shell, and wait for that.", "`{cwd}`"},
    {"shell.close", method_shell_close, shell_params,
     "Close a shell; what runs in it is ended. Requests that wait for it are answered first.",
     "`{}`"},
    {"shell.exec", method_shell_exec, shell_exec_params,
     "Run a command in a shell and wait for its end, which is that of its process: nothing that it prints can pretend "
     "that. It begins where the one before it ended: directory, variables, functions, options. One at a time. In mode "
     "`pty` it has a terminal of its own, and `shell.write` and `shell.read` are for it meanwhile; beside an "
     "interactive shell there is no place for it.",
     "a result, as `hutch run --json`, with `cwd`"},
    {"shell.open", method_shell_open, shell_open_params,
     "Open a shell that lasts. It runs commands one after another, each with a result: mode `exec` without input, `pty` "
     "on a terminal, which is typed to and read from. One of mode `pty` that is typed to or read from before "
     "any `shell.exec` is an interactive shell.",
     "`{shell}`"},
    {"shell.read", method_shell_read, shell_read_params,
     "What the terminal of a shell of mode `pty` has shown, from a place on; `dropped` says how many bytes were lost "
     "after `cursor`, `done` that all is read and nothing runs there any more.",
     "`{data, data_base64?, cursor, dropped?, done, exit_code?, signal?}`; how what ran last has ended comes "
     "with `done`",
     .any_time = true},
    {"shell.resize", method_shell_resize, shell_resize_params,
     "Change the size of the terminal of a shell of mode `pty`, also for what runs there later.",
     "`{}`"},
    {"shell.setenv", method_shell_setenv, shell_setenv_params,
     "Set and export a variable of a shell, or unset it, and wait for that.", "`{}`"},
    {"shell.state", method_shell_state, shell_params,
     "What a shell says about itself. Directory, variables and pid come from inside: good to show, not to "
     "decide by.",
     "`{shell, sandbox, mode, running, saved, pid, cwd, env, history, run, exit_code?, signal?}`; `run` is what runs, "
     "for `sandbox.signal`, or null; the last two say how what ran before has ended"},
    {"shell.write", method_shell_write, shell_write_params,
     "Type to what runs in a shell of mode `pty`.", "`{}`"},
    {0},
};

const struct method *method_find(const char *name)
{
    for (const struct method *row = methods; row->name; row++) {
        if (str_eq(row->name, name))
            return row;
    }
    return NULL;
}
