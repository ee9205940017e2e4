/* SPDX-License-Identifier: Apache-2.0 */
/* Python and Node in the workspaces of sandboxes: made, used, kept apart, and hostile. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "language.h"

/* ---- Python ---- */

static void python_in_every_layout(void)
{
    need("python3");
    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct hutch_sandbox *sandbox = open_in_memory(layouts[i]);
        struct hutch_language *language = NULL;

        CHECK_TEXT("0 False\n",
                   python(sandbox, "import sys\nprint(sys.prefix != sys.base_prefix)"));
        CHECK(init_python(sandbox));
        CHECK_TEXT(box_text("0 %s\n", inside(sandbox, ".venv")),
                   python(sandbox, "import sys\nprint(sys.prefix)"));
        put(sandbox, ".venv/kept", "x");
        CHECK(!init_python(sandbox));
        CHECK_TEXT("0 x", sh(sandbox, NULL, "cat .venv/kept"));
        OK(hutch_python_init(sandbox, NULL, &language, &err));
        CHECK(!language->created);
        CHECK_TEXT(inside(sandbox, ".venv/bin/python"), language->program);
        if (!has_program("uv"))
            CHECK(!language->manager);
        free(language);
        hutch_sandbox_close(sandbox);
    }
}

/* Where Python can, pip is put in, without a network. */
static void python_with_pip(void)
{
    need("python3");
    if (drive_shell("python3 -c 'import ensurepip' 2>/dev/null") != 0)
        box_skip("this Python has no ensurepip");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    struct hutch_language *language = NULL;
    OK(hutch_python_init(sandbox, NULL, &language, &err));
    CHECK(language->created);
    if (!has_program("uv"))
        CHECK_TEXT("/workspace/.venv/bin/pip", language->manager);
    free(language);
    hutch_sandbox_close(sandbox);
}

static void python_code_as_it_is(void)
{
    struct hutch_code_options options = HUTCH_CODE_INIT;
    struct hutch_result *result = NULL;

    need("python3");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    CHECK_TEXT("0 '\"$HOME `id` \\n\n", python(sandbox, "print('\\'\"$HOME `id` \\\\n')"));
    CHECK_TEXT("0 ", python(sandbox, ""));
    CHECK_TEXT("7 ", python(sandbox, "import sys\nsys.exit(7)"));
    const char *failed = python(sandbox, "print('before')\nraise ValueError('reason')");
    CHECK_HAS(failed, "1 before\n");
    CHECK_HAS(failed, "ValueError: reason");
    CHECK_HAS(python(sandbox, "this is no Python"), "SyntaxError");
    CHECK_TEXT("0 ''\n", python(sandbox, "import sys\nprint(repr(sys.stdin.read()))"));
    put(sandbox, "own.py", "name = 'of the workspace'\n");
    CHECK_TEXT("0 of the workspace\n", python(sandbox, "import own\nprint(own.name)"));

    static const char code[] = "import os, sys\nprint(sys.argv[1:], os.environ['X'], os.getcwd())";
    options.args = LIST("a b", "$c");
    options.env = LIST("X=1");
    options.cwd = "/tmp";
    OK(hutch_python_exec(sandbox, code, strlen(code), &options, &result, &err));
    CHECK_TEXT("0 ['a b', '$c'] 1 /tmp\n", told(result));
    hutch_sandbox_close(sandbox);
}

/* More than fits into a pipe or an argument. */
static void python_code_that_is_long(void)
{
    const size_t lines = 40000;
    char *code = box_keep(malloc(lines * sizeof "x = 12345\n" + 32)), *at = code;

    need("python3");
    for (size_t i = 0; i < lines; i++)
        at = stpcpy(at, "x = 12345\n");
    stpcpy(at, "print(x)\n");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    CHECK_TEXT("0 12345\n", python(sandbox, code));
    hutch_sandbox_close(sandbox);
}

static void on_output(void *seen, const struct hutch_event *event)
{
    if (event->type == HUTCH_EVENT_RUN_OUTPUT)
        *(bool *)seen = true;
}

/* What it has printed by now is not in a buffer. */
static void python_that_does_not_end(void)
{
    static const char code[] = "print('begun\\n', end='')\nwhile True: pass";
    struct hutch_result *result = NULL;
    struct hutch_run *run = NULL;
    bool seen = false;
    int r = 0;

    need("python3");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    OK(hutch_python_start(sandbox, code, strlen(code), NULL, on_output, &seen, &run, &err));
    while (r == 0 && !seen)
        r = hutch_run_step(run, -1, &err);
    CHECK_INT(0, r);
    OK(hutch_run_cancel(run, &err));
    OK(hutch_run_finish(run, &result, &err));
    CHECK_INT(HUTCH_CANCELLED, result->reason);
    CHECK_TEXT("begun\n", result->stdout_data);
    hutch_result_free(result);
    hutch_run_free(run);
    hutch_sandbox_close(sandbox);
}

/* Two at once, stepped by hand. */
static void python_with_a_loop(void)
{
    static const char *const codes[] = {"print('one')", "print('two')"};
    struct hutch_run *runs[COUNT(codes)] = {NULL};
    struct hutch_result *result = NULL;

    need("python3");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    for (size_t i = 0; i < COUNT(codes); i++)
        OK(hutch_python_start(sandbox, codes[i], strlen(codes[i]), NULL, NULL, NULL, &runs[i],
                              &err));
    for (size_t i = 0; i < COUNT(codes); i++) {
        OK(hutch_run_finish(runs[i], &result, &err));
        CHECK_TEXT(i == 0 ? "0 one\n" : "0 two\n", told(result));
        hutch_run_free(runs[i]);
    }
    hutch_sandbox_close(sandbox);
}

/* The same package in two versions, each where its workspace is, on the host's disk. */
static void workspaces_never_meet(void)
{
    static const char *const versions[] = {"1.0", "2.0"};
    struct hutch_sandbox *boxes[COUNT(versions)];

    need("python3");
    for (size_t i = 0; i < COUNT(versions); i++) {
        box_dir(box_text("out/%s", versions[i]));
        box_expect_any(box_text("out/%s", versions[i]));
        boxes[i] = drive_open(
            LIST("--layout", "root", "-w", box_text("%s/%s", box.out, versions[i])));
        CHECK(init_python(boxes[i]));
        CHECK_TEXT("0 ", python(boxes[i], box_text("import sysconfig\n"
                                                   "dir = sysconfig.get_path('purelib')\n"
                                                   "with open(dir + '/thing.py', 'w') as file:\n"
                                                   "    file.write('version = \"%s\"')\n",
                                                   versions[i])));
        CHECK_TEXT("0 ", python(boxes[i], box_text("import sysconfig\n"
                                                   "dir = sysconfig.get_path('purelib')\n"
                                                   "open(dir + '/only%zu.py', 'w').close()",
                                                   i)));
    }
    for (size_t i = 0; i < COUNT(versions); i++) {
        CHECK_TEXT(box_text("0 %s\n", versions[i]),
                   python(boxes[i], "import thing\nprint(thing.version)"));
        CHECK_HAS(python(boxes[i], box_text("import only%zu", 1 - i)), "ModuleNotFoundError");
        hutch_sandbox_close(boxes[i]);
    }
    /* Another sandbox, later: the workspace is as it was. */
    struct hutch_sandbox *again = drive_open(
        LIST("--layout", "root", "-w", box_text("%s/1.0", box.out)));
    CHECK(!init_python(again));
    CHECK_TEXT("0 1.0\n", python(again, "import thing\nprint(thing.version)"));
    hutch_sandbox_close(again);
}

static void variables_for_plain_commands(void)
{
    const char **env = NULL;

    need("python3");
    struct hutch_sandbox *sandbox = open_in_memory("root");
    CHECK(init_python(sandbox));
    OK(hutch_python_env(sandbox, &env, &err));
    CHECK_TEXT("0 /.venv/bin/python\n", sh(sandbox, env, "command -v python"));
    CHECK_TEXT("0 /.venv\n", sh(sandbox, env, "python -c 'import sys; print(sys.prefix)'"));
    CHECK_TEXT("0 /.cache/uv /.cache/pip 1\n",
               sh(sandbox, env,
                  "mkdir -p $UV_CACHE_DIR && "
                  "echo $UV_CACHE_DIR $PIP_CACHE_DIR $PYTHONNOUSERSITE"));
    free(env);
    OK(hutch_node_env(sandbox, &env, &err));
    hutch_sandbox_close(sandbox);
    size_t count = 0;
    while (env[count])
        count++;
    CHECK_INT(7, count);
    CHECK_TEXT("PATH=/node_modules/.bin:/.venv/bin:" USUAL_PATH, env[0]);
    CHECK_TEXT("NODE_PATH=/node_modules", env[1]);
    CHECK_TEXT("npm_config_prefix=/", env[2]);
    free(env);
}

/* ---- Workspaces that mean harm, or are broken ---- */

static void venv_that_is_something_else(void)
{
    static const struct {
        const char *make, *part;
    } cases[] = {
        {"ln -s /tmp .venv", "is a symlink"},  {"ln -s nowhere .venv", "is a symlink"},
        {"ln -s .venv .venv", "is a symlink"}, {"echo x >.venv", "is a file"},
        {"mkfifo .venv", "is a special file"},
    };
    struct hutch_result *result = NULL;

    need("python3");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    for (size_t i = 0; i < COUNT(cases); i++) {
        CHECK_TEXT("0 ", sh(sandbox, NULL, box_text("rm -rf .venv; %s", cases[i].make)));
        REFUSED(hutch_python_init(sandbox, NULL, NULL, &err), "not_directory", cases[i].part);
        CHECK_TEXT(".venv", err.where);
        REFUSED(hutch_python_exec(sandbox, "1", 1, NULL, &result, &err), "not_directory",
                cases[i].part);
    }
    CHECK_TEXT("0 ", sh(sandbox, NULL, "ls -A /tmp"));
    hutch_sandbox_close(sandbox);
}

/* A python that leads nowhere, or is a FIFO: neither taken for one nor waited for. */
static void venv_whose_python_is_none(void)
{
    static const char *const cases[] = {"ln -s nowhere .venv/bin/python", "mkfifo .venv/bin/python",
                                        "mkdir .venv/bin/python"};

    need("python3");
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hutch_python_options options = HUTCH_PYTHON_INIT;
        struct hutch_sandbox *sandbox = open_in_memory("minimal");

        options.without_pip = true;
        CHECK_TEXT(
            "0 ", sh(sandbox, NULL,
                     box_text("mkdir -p .venv/bin; >.venv/pyvenv.cfg; >.venv/kept; %s", cases[i])));
        int r = hutch_python_init(sandbox, &options, NULL, &err);
        if (r < 0)
            CHECK_HAS(err.msg, ".venv");
        CHECK_TEXT("0 ", sh(sandbox, NULL, "cat .venv/kept"));
        CHECK_TEXT("0 1\n", python(sandbox, "print(1)"));
        hutch_sandbox_close(sandbox);
    }
}

/* Modules and programs of the workspace that are named like those which make an environment. */
static void workspace_that_stands_in(void)
{
    need("python3");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    put(sandbox, "venv.py", "raise SystemExit('not this one')\n");
    put(sandbox, "os.py", "raise SystemExit('not this one')\n");
    CHECK_TEXT("0 ", sh(sandbox, NULL,
                        "mkdir -p node_modules/.bin; printf '#!/bin/sh\\nexit 9\\n' "
                        ">node_modules/.bin/python3; chmod +x node_modules/.bin/python3"));
    CHECK(init_python(sandbox));
    hutch_sandbox_close(sandbox);
}

/* As distributions split it: venv is there, what puts pip in is not. */
static void python_without_ensurepip(void)
{
    struct hutch_python_options options = HUTCH_PYTHON_INIT;
    struct hutch_language *language = NULL;

    need("python3");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    put(sandbox, "python",
        "#!/bin/sh\n"
        "case $* in *without-pip*) exec python3 \"$@\" ;; esac\n"
        "mkdir -p .venv; echo ensurepip is not available; exit 1\n");
    CHECK_TEXT("0 ", sh(sandbox, NULL, "chmod +x python"));
    options.python = "./python";
    OK(hutch_python_init(sandbox, &options, &language, &err));
    CHECK(language->created);
    if (!has_program("uv"))
        CHECK(!language->manager);
    free(language);
    CHECK_TEXT("0 /workspace/.venv\n", python(sandbox, "import sys\nprint(sys.prefix)"));
    hutch_sandbox_close(sandbox);
}

/* What is left when it cannot be made: nothing. */
static void failure_leaves_nothing(void)
{
    struct hutch_python_options options = HUTCH_PYTHON_INIT;

    need("python3");
    box_dir("work/bin");
    box_file("work/bin/broken", "#!/bin/sh\nmkdir -p .venv/bin\necho the reason >&2\nexit 3\n");
    REQUIRE(chmod("bin/broken", 0755) == 0);
    struct hutch_sandbox *sandbox = drive_open(NULL);
    options.python = "bin/broken";
    if (!has_program("uv"))
        REFUSED(hutch_python_init(sandbox, &options, NULL, &err), "system",
                "broken exited with 3: the reason");
    CHECK(access(".venv", F_OK) < 0);
    options.python = "python3.99";
    REFUSED(hutch_python_init(sandbox, &options, NULL, &err), "not_found", "no python3.99 in");
    options.python = "bin/none";
    REFUSED(hutch_python_init(sandbox, &options, NULL, &err), "not_found", "'bin/none'");
    hutch_sandbox_close(sandbox);

    sandbox = drive_open(LIST("--env", "PATH=/nowhere"));
    REFUSED(hutch_python_init(sandbox, NULL, NULL, &err), "not_found", "(/nowhere)");
    REFUSED(hutch_node_init(sandbox, NULL, NULL, &err), "not_found", "no node and no bun");
    hutch_sandbox_close(sandbox);
}

/* uv comes first, with the arguments it knows; where it cannot, Python does it. */
static void uv_where_there_is_one(void)
{
    struct hutch_language *language = NULL;

    need("python3");
    box_dir("out/bin");
    box_file("out/bin/uv", "#!/bin/sh\necho \"$@\" >>/tmp/uv\n"
                           "test -e can || exit 2\npython3 -m venv --without-pip \"$4\"\n");
    REQUIRE(chmod(box_text("%s/bin/uv", box.out), 0755) == 0);
    const char *path = box_text("PATH=%s/bin:" USUAL_PATH, box.out);
    for (int can = 0; can < 2; can++) {
        struct hutch_sandbox *sandbox = drive_open(LIST("-w", "tmpfs", "--env", path));
        struct hutch_python_options options = HUTCH_PYTHON_INIT;

        options.without_pip = true;
        if (can)
            put(sandbox, "can", "");
        OK(hutch_python_init(sandbox, &options, &language, &err));
        CHECK(language->created);
        CHECK_TEXT(box_text("%s/bin/uv", box.out), language->manager);
        CHECK_TEXT(box_text("0 venv --offline --allow-existing %s\n", inside(sandbox, ".venv")),
                   sh(sandbox, NULL, "cat /tmp/uv"));
        free(language);
        hutch_sandbox_close(sandbox);
    }
}

/* ---- Node ---- */

static void node_in_every_layout(void)
{
    need("node");
    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct hutch_sandbox *sandbox = open_in_memory(layouts[i]);
        struct hutch_language *language = NULL;

        OK(hutch_node_init(sandbox, NULL, &language, &err));
        CHECK(language->created);
        CHECK_HAS(language->program, "/node");
        free(language);
        CHECK_TEXT("0 workspace\n", node(sandbox, "console.log(require('./package.json').name)"));
        put(sandbox, "package.json", "{\"name\": \"kept\"}");
        OK(hutch_node_init(sandbox, NULL, NULL, &err));
        CHECK_TEXT("0 kept\n", node(sandbox, "console.log(require('./package.json').name)"));

        put(sandbox, "node_modules/thing/index.js", "module.exports = 'of the workspace'\n");
        CHECK_TEXT("0 of the workspace\n", node(sandbox, "console.log(require('thing'))"));
        const char *failed = node(sandbox, "console.log('before'); throw new Error('reason')");
        CHECK_HAS(failed, "1 before\n");
        CHECK_HAS(failed, "Error: reason");
        CHECK_TEXT("3 ", node(sandbox, "process.exit(3)"));
        hutch_sandbox_close(sandbox);
    }
}

static void project_that_is_something_else(void)
{
    need("node");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    CHECK_TEXT("0 ", sh(sandbox, NULL, "mkfifo package.json"));
    REFUSED(hutch_node_init(sandbox, NULL, NULL, &err), "invalid", "special file");
    CHECK_TEXT("0 ", sh(sandbox, NULL, "rm package.json; ln -s /tmp/x package.json"));
    REFUSED(hutch_node_init(sandbox, NULL, NULL, &err), "invalid", "symlink");
    CHECK_TEXT("0 ", sh(sandbox, NULL, "ls -A /tmp"));
    hutch_sandbox_close(sandbox);
}

int main(void)
{
    static const struct box_test all[] = {
        {"python in every layout", python_in_every_layout},
        {"python with pip", python_with_pip},
        {"python code as it is", python_code_as_it_is},
        {"python code that is long", python_code_that_is_long},
        {"python that does not end", python_that_does_not_end},
        {"python with a loop", python_with_a_loop},
        {"workspaces never meet", workspaces_never_meet},
        {"variables for plain commands", variables_for_plain_commands},
        {"a .venv that is something else", venv_that_is_something_else},
        {"a .venv whose python is none", venv_whose_python_is_none},
        {"a workspace that stands in", workspace_that_stands_in},
        {"python without ensurepip", python_without_ensurepip},
        {"failure leaves nothing", failure_leaves_nothing},
        {"uv where there is one", uv_where_there_is_one},
        {"node in every layout", node_in_every_layout},
        {"a package.json that is something else", project_that_is_something_else},
        {NULL, NULL},
    };

    setenv("PATH", USUAL_PATH, 1);
    return box_main(all);
}
