/* SPDX-License-Identifier: Apache-2.0 */
/* Which tests there are, and what runs them. Only names are looked at, and one line of package.json. */
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/options.h"
#include "base/path.h"
#include "base/str.h"
#include "language/search.h"

#define MOST_PROJECT ((size_t)1 << 20)

/* What is to be tested. */
struct target {
    const char *path; /* absolute inside */
    bool is_file;
    bool is_whole;       /* no path was given: a runner that has its own settings may go by those */
    struct search files; /* what was found in a directory; of its language */
};

/* What was decided: the command, and what goes with it. */
struct runner {
    const char *const *argv;
    const char *cwd;
    const char *const *env; /* beside the language's; NULL: none */
    unsigned language;
};

static const char python_glob[] = "{test_*,*_test}.py";
static const char node_glob[] = "*.{test,spec}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}";
static const char *const node_suffixes[] = {".js", ".cjs", ".mjs", ".jsx",
                                            ".ts", ".cts", ".mts", ".tsx"};

/*
 * unittest, but that no tests are a failure, with pytest's status for it: before 3.12 they are a success,
 * and tests written for pytest would all pass.
 */
static const char unittest[] =
    "import sys, unittest\n"
    "main = unittest.main(module=None, argv=['unittest'] + sys.argv[1:], exit=False)\n"
    "if main.result.testsRun == 0:\n"
    "    print('no tests found: unittest knows classes of unittest.TestCase only; '\n"
    "          'pytest is not installed', file=sys.stderr)\n"
    "    sys.exit(5)\n"
    "sys.exit(not main.result.wasSuccessful())\n";

/* ---- Python ---- */

/* PYTHONPATH for a pytest that is not the environment's: what `python -m pytest` in it would see. */
static const char *const *path_for_foreign(struct place *place)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;
    struct hutch_file_entries *found = NULL;
    const char *packages = "";

    options.directories = true;
    options.anchored = true;
    options.limit = 1;
    if (python_is_ready(place, NULL) > 0 &&
        hutch_file_glob(place->sandbox, PYTHON_VENV "/lib", "python3*/site-packages", &options,
                        &found, NULL) == 0 &&
        found->count > 0)
        packages = arena_printf(&place->arena, ":%s", found->items[0].path);
    hutch_file_free(found);
    const char *variable = packages ? arena_printf(&place->arena, "PYTHONPATH=%s%s",
                                                   place->workspace, packages)
                                    : NULL;
    return variable ? place_concat(place, ARGV(variable), NULL) : NULL;
}

/*
 * What to name to a runner that looks for tests itself. In "/" it would find those of the system, too, so
 * there it gets the files by name.
 */
static int name_target(struct place *place, const struct target *target, bool from_cwd,
                       const char *const **ret, struct hutch_error *err)
{
    const bool is_root = str_eq(target->path, "/");

    if (is_root && target->files.more)
        return err_set(err, HUTCH_EINVALID, "path",
                       "there are too many tests in '/': put them into a directory, and name that");
    if (is_root)
        *ret = target->files.paths;
    else
        *ret = place_concat(place, from_cwd ? NULL : ARGV(target->path), NULL);
    return *ret ? 0 : err_oom(err);
}

/* 1 when it is a pytest, of the environment or else of the sandbox; 0 when there is none. */
static int choose_pytest(struct place *place, const struct target *target, struct runner *runner,
                         struct hutch_error *err)
{
    const char *const *names = NULL;
    const char *program = NULL;
    int r = python_is_ready(place, err);
    const bool own = r > 0 && (r = place_is_program(place, PYTHON_VENV "/bin/pytest", err)) > 0;

    if (r >= 0)
        r = own ? python_program(place, &program, err) : place_find(place, "pytest", &program, err);
    if (r == 0 && program)
        r = name_target(place, target, target->is_whole, &names, err);
    if (r < 0 || !program)
        return r;
    runner->argv = place_concat(place, own ? ARGV(program, "-m", "pytest") : ARGV(program), names);
    runner->env = own ? NULL : path_for_foreign(place);
    return own || runner->env ? 1 : err_oom(err);
}

static int choose_python(struct place *place, const struct target *target, struct runner *runner,
                         struct hutch_error *err)
{
    const char *path = target->path, *python = NULL;
    int r = choose_pytest(place, target, runner, err);

    runner->language = LANGUAGE_PYTHON;
    runner->cwd = place->workspace;
    if (r != 0)
        return r;
    r = python_program(place, &python, err);
    if (r < 0)
        return r;
    /* It enters packages only, so that "/" is no trouble. */
    runner->argv = place_concat(
        place, ARGV(python, "-c", unittest, "discover", "-s"),
        target->is_file ? ARGV(path_parent(&place->arena, path), "-p", place_basename(path))
                        : ARGV(path));
    return 0;
}

/* ---- Node ---- */

/*
 * Whether the project in `dir` says how it is tested. What cannot be read as JSON is left to the manager,
 * which says what is wrong with it.
 */
static bool has_script(struct place *place, const char *dir)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    struct hutch_file_content *content = NULL;
    json_auto_ref json_t *project = NULL;
    const char *path = path_join(&place->arena, dir, NODE_PROJECT);

    options.bytes = true;
    options.limit = options.max_bytes = MOST_PROJECT;
    if (!path || hutch_file_read(place->sandbox, path, &options, &content, NULL) < 0)
        return false;
    int r = json_parse_object(content->data, content->len, MOST_PROJECT, NODE_PROJECT, &project,
                              NULL);
    hutch_file_free(content);
    if (r < 0)
        return true;
    const char *script = json_string_value(
        json_object_get(json_object_get(project, "scripts"), "test"));
    /* What `npm init` puts there is none. */
    return script && !strstr(script, "no test specified");
}

static int choose_script(struct place *place, struct runner *runner, struct hutch_error *err)
{
    const char *program = NULL;
    int r = place_need(place, ARGV("npm", "bun"), &program, err);

    if (r < 0)
        return r;
    runner->argv = str_eq(place_basename(program), "bun")
                       ? place_concat(place, ARGV(program, "run", "test"), NULL)
                       : place_concat(place, ARGV(program, "test", "--"), NULL);
    return 0;
}

static int choose_node(struct place *place, const struct target *target, struct runner *runner,
                       struct hutch_error *err)
{
    const char *const *names = NULL;
    const char *program = NULL;

    runner->language = LANGUAGE_NODE;
    runner->cwd = target->is_file ? place->workspace : target->path;
    if (!target->is_file && has_script(place, target->path))
        return choose_script(place, runner, err);
    int r = node_program(place, &program, err);
    if (r == 0) /* of a directory not its name: versions of node differ in what that means */
        r = name_target(place, target, !target->is_file, &names, err);
    if (r < 0)
        return r;
    bool is_bun = str_eq(place_basename(program), "bun");
    runner->argv = place_concat(place, ARGV(program, is_bun ? "test" : "--test"), names);
    return 0;
}

/* ---- Which of them ---- */

static bool ends_in(const char *text, const char *suffix)
{
    const size_t len = strlen(text), tail = strlen(suffix);

    return len > tail && str_eq(text + len - tail, suffix);
}

/* The language of a file by its name; 0 when there is none. */
static int language_of_file(const char *path)
{
    if (ends_in(path, ".py"))
        return LANGUAGE_PYTHON;
    for (size_t i = 0; i < ARRAY_LEN(node_suffixes); i++)
        if (ends_in(path, node_suffixes[i]))
            return LANGUAGE_NODE;
    return 0;
}

/* The language of a directory by what is in it; 0 when there are no tests. */
static int language_of_directory(struct place *place, struct target *target,
                                 struct hutch_error *err)
{
    const char *project = path_join(&place->arena, target->path, NODE_PROJECT);
    int r = project ? search_files(place, target->path, python_glob, &target->files, err)
                    : err_oom(err);

    if (r < 0 || target->files.count > 0)
        return r < 0 ? r : LANGUAGE_PYTHON;
    r = search_files(place, target->path, node_glob, &target->files, err);
    if (r < 0 || target->files.count > 0)
        return r < 0 ? r : LANGUAGE_NODE;
    r = place_stat(place, project, true, NULL, err);
    return r <= 0 ? r : LANGUAGE_NODE;
}

/* Fill in `target`; its language, or 0 when it has none. */
static int look_at(struct place *place, const char *path, const char *shown, struct target *target,
                   struct hutch_error *err)
{
    enum hutch_file_type type = HUTCH_FILE_OTHER;

    target->is_whole = !path;
    target->path = path_normalize(&place->arena, place->workspace, path ? path : ".");
    if (arena_failed(&place->arena))
        return err_oom(err);
    if (!target->path)
        return err_set(err, HUTCH_EINVALID, shown, "'%s' has '..' in it: write it without", shown);
    int r = place_stat(place, target->path, true, &type, err);
    if (r == 0)
        return err_set(err, HUTCH_ENOTFOUND, shown, "there is no '%s' in the sandbox", shown);
    if (r < 0)
        return r;
    target->is_file = type == HUTCH_FILE_REGULAR;
    if (type == HUTCH_FILE_DIRECTORY)
        return language_of_directory(place, target, err);
    return target->is_file ? language_of_file(target->path) : 0;
}

static int choose(struct place *place, const char *path, struct runner *runner,
                  struct hutch_error *err)
{
    struct target target = {0};
    char shown[256];

    str_printable(path ? path : place->workspace, shown, sizeof shown);
    int r = look_at(place, path, shown, &target, err);
    switch (r) {
    case LANGUAGE_PYTHON: return choose_python(place, &target, runner, err);
    case LANGUAGE_NODE: return choose_node(place, &target, runner, err);
    case 0:
        return err_set(err, HUTCH_ENOTFOUND, shown,
                       "no tests in '%s': %s and %s are looked for, and a %s", shown, python_glob,
                       node_glob, NODE_PROJECT);
    default: return r;
    }
}

int hutch_run_tests_start(struct hutch_sandbox *sandbox, const char *path,
                          const struct hutch_code_options *options, hutch_event_fn *on_event,
                          void *arg, struct hutch_run **ret, struct hutch_error *err)
{
    struct hutch_code_options known = HUTCH_CODE_INIT;
    const struct place_events events = {on_event, arg};
    struct runner runner = {0};
    place_auto struct place place;

    int r = place_begin(&place, sandbox, err);
    if (r == 0 && !ret)
        r = err_set(err, HUTCH_EINVALID, "ret", "NULL was given");
    if (r == 0)
        r = options_read(options, &known, sizeof known, err);
    if (r == 0 && known.cwd)
        r = err_set(err, HUTCH_EINVALID, "cwd", "tests run where their files want it");
    if (r == 0)
        r = choose(&place, path, &runner, err);
    if (r < 0)
        return r;
    known.cwd = runner.cwd;
    known.env = place_concat(&place, runner.env, known.env);
    if (!runner.argv || !known.env)
        return err_oom(err);
    return place_start(&place, runner.argv, runner.language, &known, NULL, 0, &events, ret, err);
}

int hutch_run_tests(struct hutch_sandbox *sandbox, const char *path,
                    const struct hutch_code_options *options, struct hutch_result **ret,
                    struct hutch_error *err)
{
    struct hutch_run *run = NULL;

    if (!ret)
        return err_set(err, HUTCH_EINVALID, "ret", "NULL was given");
    int r = hutch_run_tests_start(sandbox, path, options, NULL, NULL, &run, err);
    return r < 0 ? r : place_finish(run, ret, err);
}
