/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Arguments, and looking for programs, with rows in place of a sandbox. */
#include "base/str.h"
#include "language/language.h"

/* Never looked into: the functions below do not. */
static struct hutch_sandbox *const box = (void *)&(int){0};
static bool gone;
static struct hutch_error err;

/* What there is, with links followed. */
static const struct {
    const char *path;
    enum hutch_file_type type;
    uint32_t mode;
} rows[] = {
    {"/a/plain", HUTCH_FILE_REGULAR, 0644},   {"/b/plain", HUTCH_FILE_REGULAR, 0755},
    {"/a/dir", HUTCH_FILE_DIRECTORY, 0755},   {"/b/fifo", HUTCH_FILE_OTHER, 0777},
    {"/a/first", HUTCH_FILE_REGULAR, 0755},   {"/b/first", HUTCH_FILE_REGULAR, 0755},
    {"/w/rel/own", HUTCH_FILE_REGULAR, 0755}, {"/w/below", HUTCH_FILE_REGULAR, 0755},
};

int __wrap_hutch_sandbox_info(const struct hutch_sandbox *sandbox, struct hutch_sandbox_info *ret,
                              struct hutch_error *error);
int __wrap_hutch_file_stat(struct hutch_sandbox *sandbox, const char *path,
                           const struct hutch_file_stat_options *options,
                           struct hutch_file_entry **ret, struct hutch_error *error);
void __wrap_hutch_file_free(void *result);

int __wrap_hutch_sandbox_info(const struct hutch_sandbox *sandbox, struct hutch_sandbox_info *ret,
                              struct hutch_error *error)
{
    static const char *const env[] = {"MANPATH=/m", "PATH=rel::/a:/none/:/b:", NULL};

    assert_ptr_equal(sandbox, box);
    *ret = (struct hutch_sandbox_info){.size = ret->size, .cwd = "/w", .env = env, .gone = gone};
    return 0;
}

int __wrap_hutch_file_stat(struct hutch_sandbox *sandbox, const char *path,
                           const struct hutch_file_stat_options *options,
                           struct hutch_file_entry **ret, struct hutch_error *error)
{
    static struct hutch_file_entry entry;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_eq(rows[i].path, path)) {
            entry = (struct hutch_file_entry){.type = rows[i].type, .mode = rows[i].mode};
            *ret = &entry;
            return 0;
        }
    *error = (struct hutch_error){.code = HUTCH_ENOTFOUND};
    return HUTCH_ENOTFOUND;
}

void __wrap_hutch_file_free(void *result)
{
}

static int setup(void **state)
{
    gone = false;
    err = (struct hutch_error){0};
    return 0;
}

static void programs_of_path(void **state)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"first", "/a/first"}, /* the first of two */
        {"plain", "/b/plain"}, /* the first may not be executed */
        {"dir", NULL},         {"fifo", NULL},          {"none", NULL},
        {"own", NULL}, /* PATH has "rel", which is not absolute */
        {"below", NULL},       {"./below", "/w/below"}, {"/b/first", "/b/first"},
        {"/a/plain", NULL},    {"../w/below", NULL},
    };
    struct place place;

    assert_int_equal(place_begin(&place, box, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = "untouched";

        assert_int_equal(place_find(&place, cases[i].name, &got, &err), 0);
        if (!!got != !!cases[i].want || (got && !str_eq(got, cases[i].want)))
            fail_msg("'%s': %s", cases[i].name, got ? got : "none");
    }
    place_end(&place);
}

static void what_is_missing_is_named(void **state)
{
    static const char *const two[] = {"none", "nil", NULL}, *const path[] = {"/a/none", NULL};
    static const char *const second[] = {"none", "first", NULL};
    const char *got = NULL;
    struct place place;

    assert_int_equal(place_begin(&place, box, &err), 0);
    assert_int_equal(place_need(&place, second, &got, &err), 0);
    assert_string_equal(got, "/a/first");
    assert_int_equal(place_need(&place, two, &got, &err), HUTCH_ENOTFOUND);
    assert_non_null(
        strstr(err.msg, "no none and no nil in the sandbox's PATH (rel::/a:/none/:/b:)"));
    assert_string_equal(err.where, "none");
    assert_int_equal(place_need(&place, path, &got, &err), HUTCH_ENOTFOUND);
    assert_non_null(strstr(err.msg, "'/a/none'"));
    assert_int_equal(place_need(&place, path, &got, NULL), HUTCH_ENOTFOUND);
    place_end(&place);
}

/* Every function, with one argument that is wrong. */
static void bad_arguments(void **state)
{
    struct hutch_code_options code_options = {0}, elsewhere = HUTCH_CODE_INIT;
    struct hutch_python_options python_options = {0}, no_name = HUTCH_PYTHON_INIT;
    struct hutch_node_options node_options = {0}, bad_name = HUTCH_NODE_INIT;
    struct hutch_result *result = NULL;
    struct hutch_run *run = NULL;
    const char **env = NULL;

    elsewhere.cwd = "/";
    no_name.python = "";
    bad_name.name = "a\"b";
    const struct {
        int r;
    } cases[] = {
        {hutch_python_init(NULL, NULL, NULL, &err)},
        {hutch_python_init(box, &python_options, NULL, &err)},
        {hutch_python_init(box, &no_name, NULL, &err)},
        {hutch_node_init(NULL, NULL, NULL, &err)},
        {hutch_node_init(box, &node_options, NULL, &err)},
        {hutch_node_init(box, &bad_name, NULL, &err)},
        {hutch_python_env(NULL, &env, &err)},
        {hutch_python_env(box, NULL, &err)},
        {hutch_node_env(NULL, &env, &err)},
        {hutch_node_env(box, NULL, NULL)},
        {hutch_python_exec(NULL, "", 0, NULL, &result, &err)},
        {hutch_python_exec(box, NULL, 0, NULL, &result, &err)},
        {hutch_python_exec(box, "", 0, &code_options, &result, &err)},
        {hutch_python_exec(box, "", 0, NULL, NULL, &err)},
        {hutch_python_start(box, "", 0, NULL, NULL, NULL, NULL, &err)},
        {hutch_python_start(box, NULL, 0, NULL, NULL, NULL, &run, NULL)},
        {hutch_node_exec(NULL, "", 0, NULL, &result, &err)},
        {hutch_node_exec(box, NULL, 0, NULL, &result, &err)},
        {hutch_node_exec(box, "", 0, &code_options, &result, &err)},
        {hutch_node_exec(box, "", 0, NULL, NULL, &err)},
        {hutch_node_start(box, "", 0, NULL, NULL, NULL, NULL, &err)},
        {hutch_run_tests(NULL, NULL, NULL, &result, &err)},
        {hutch_run_tests(box, NULL, NULL, NULL, &err)},
        {hutch_run_tests(box, NULL, &code_options, &result, &err)},
        {hutch_run_tests(box, NULL, &elsewhere, &result, &err)},
        {hutch_run_tests(box, "../x", NULL, &result, &err)},
        {hutch_run_tests_start(box, NULL, NULL, NULL, NULL, NULL, &err)},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (cases[i].r != HUTCH_EINVALID)
            fail_msg("row %zu: %d", i, cases[i].r);
    assert_true(!result && !run && !env);
}

static void a_sandbox_that_is_gone(void **state)
{
    struct hutch_result *result = NULL;
    const char **env = NULL;

    gone = true;
    assert_int_equal(hutch_python_init(box, NULL, NULL, &err), HUTCH_ESTATE);
    assert_int_equal(hutch_node_init(box, NULL, NULL, &err), HUTCH_ESTATE);
    assert_int_equal(hutch_python_env(box, &env, &err), HUTCH_ESTATE);
    assert_int_equal(hutch_python_exec(box, "", 0, NULL, &result, &err), HUTCH_ESTATE);
    assert_int_equal(hutch_node_exec(box, "", 0, NULL, &result, &err), HUTCH_ESTATE);
    assert_int_equal(hutch_run_tests(box, NULL, NULL, &result, &err), HUTCH_ESTATE);
    assert_string_equal(hutch_error_word(&err), "state");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(programs_of_path, setup),
        cmocka_unit_test_setup(what_is_missing_is_named, setup),
        cmocka_unit_test_setup(bad_arguments, setup),
        cmocka_unit_test_setup(a_sandbox_that_is_gone, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
