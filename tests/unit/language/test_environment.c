/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/str.h"
#include "language/language.h"

/* The variables as one text, a line each. */
static const char *lines(const char *workspace, const char *path, unsigned languages,
                         const char *const *more)
{
    static char out[4096];
    struct place place = {.workspace = workspace, .path = path};
    char *at = out;

    arena_init(&place.arena);
    const char *const *env = place_env(&place, languages, more);
    assert_non_null(env);
    for (; *env; env++)
        at += snprintf(at, sizeof out - (size_t)(at - out), "%s\n", *env);
    place_end(&place);
    return out;
}

static void where_the_workspace_is_the_root(void **state)
{
    assert_string_equal(lines("/", "/usr/bin:/bin", LANGUAGE_PYTHON, NULL),
                        "PATH=/node_modules/.bin:/.venv/bin:/usr/bin:/bin\n"
                        "VIRTUAL_ENV=/.venv\n"
                        "PYTHONHOME=\n"
                        "PYTHONUSERBASE=/.venv\n"
                        "PYTHONNOUSERSITE=1\n"
                        "UV_CACHE_DIR=/.cache/uv\n"
                        "PIP_CACHE_DIR=/.cache/pip\n"
                        "PIP_DISABLE_PIP_VERSION_CHECK=1\n");
    assert_string_equal(lines("/", "/usr/bin:/bin", LANGUAGE_NODE, NULL),
                        "PATH=/node_modules/.bin:/.venv/bin:/usr/bin:/bin\n"
                        "NODE_PATH=/node_modules\n"
                        "npm_config_prefix=/\n"
                        "npm_config_cache=/.cache/npm\n"
                        "npm_config_update_notifier=false\n"
                        "BUN_INSTALL=/\n"
                        "BUN_INSTALL_CACHE_DIR=/.cache/bun\n");
}

/* Caches are not in a project that is somebody's directory. */
static void where_it_is_a_directory(void **state)
{
    const char *text = lines("/home/me/a {path}", "", LANGUAGE_PYTHON | LANGUAGE_NODE, NULL);

    assert_non_null(strstr(text, "VIRTUAL_ENV=/home/me/a {path}/.venv\n"));
    assert_non_null(strstr(text, "npm_config_prefix=/home/me/a {path}\n"));
    assert_non_null(strstr(text, "UV_CACHE_DIR=/tmp/.cache/uv\n"));
    assert_non_null(strstr(text, "npm_config_cache=/tmp/.cache/npm\n"));
}

static void own_variables_come_last(void **state)
{
    static const char *const more[] = {"PATH=/own", "X={cache}", NULL};
    const char *text = lines("/w", "/bin", LANGUAGE_NODE, more);
    const char *end = "BUN_INSTALL_CACHE_DIR=/tmp/.cache/bun\nPATH=/own\nX={cache}\n";

    assert_true(strlen(text) > strlen(end));
    assert_string_equal(text + strlen(text) - strlen(end), end);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_the_workspace_is_the_root),
        cmocka_unit_test(where_it_is_a_directory),
        cmocka_unit_test(own_variables_come_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
