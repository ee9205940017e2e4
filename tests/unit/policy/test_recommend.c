/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/recommend.h"

#include "base/str.h"
#include "policy/recommend_data.h"

enum { WORDS_MAX = 12 };

/* "kind: command", or "unknown". */
static const char *recognize(const char *const *argv, char *out, size_t size)
{
    struct recommendation found = recommend_find(argv);

    assert_non_null(found.kind);
    snprintf(out, size, "%s%s%s", found.kind->kind, found.command ? ": " : "",
             found.command ? found.command : "");
    return out;
}

static void commands_are_recognized(void **state)
{
    static const struct {
        const char *argv[WORDS_MAX];
        const char *want;
    } cases[] = {
        /* Names, with directories and versions. */
        {{"ls", "-l"}, "file tool: ls"},
        {{"/usr/bin/ls"}, "file tool: ls"},
        {{"./configure"}, "build: configure"},
        {{"python3"}, "interpreter: python"},
        {{"python3.12", "x.py"}, "interpreter: python"},
        {{"/opt/py/bin/python3.12"}, "interpreter: python"},
        {{"pip3", "install", "x"}, "package manager: pip install"},
        {{"gcc-13", "-c", "a.c"}, "compiler: gcc"},
        {{"clang++-15"}, "compiler: clang++"},
        {{"clang-tidy-15.0.7"}, "linter: clang-tidy"},
        {{"x86_64-linux-gnu-gcc-12"}, "compiler: *-gcc"},
        {{"arm-none-eabi-g++"}, "compiler: *-g++"},
        {{"sqlite3", "db"}, "database client: sqlite3"},
        {{"bzip2", "-d", "x"}, "archiver: bzip2"},
        {{"7z", "x"}, "archiver: 7z"},
        /* What only looks like one. */
        {{"nope"}, "unknown"},
        {{""}, "unknown"},
        {{"/"}, "unknown"},
        {{"7"}, "unknown"},
        {{"3.12"}, "unknown"},
        {{"-13"}, "unknown"},
        {{"gcc-"}, "unknown"},
        {{"-gcc"}, "unknown"},
        {{"gcc-x13"}, "unknown"},
        {{"gcc."}, "unknown"},
        {{"MAKE"}, "unknown"},
        {{"maker"}, "unknown"},
        {{"mak"}, "unknown"},
        {{"make/"}, "unknown"},
        {{"npm install"}, "unknown"},
        {{"\xff\xfe", "install"}, "unknown"},
        /* Sub-commands, with options before them. */
        {{"npm"}, "package manager: npm"},
        {{"npm", "install"}, "package manager: npm install"},
        {{"npm", "test"}, "test runner: npm test"},
        {{"npm", "--silent", "test"}, "test runner: npm test"},
        {{"npm", "--prefix", "web", "test"}, "test runner: npm test"},
        {{"npm", "run", "build"}, "build: npm run build"},
        {{"npm", "run", "-s", "lint"}, "linter: npm run lint"},
        {{"npm", "run", "odd"}, "interpreter: npm run"},
        {{"npm", "run"}, "interpreter: npm run"},
        {{"cargo", "+nightly", "build", "--release"}, "build: cargo build"},
        {{"cargo", "test"}, "test runner: cargo test"},
        {{"cargo", "odd"}, "unknown"},
        {{"go", "test", "./..."}, "test runner: go test"},
        {{"go", "build"}, "build: go build"},
        {{"make"}, "build: make"},
        {{"make", "-j8", "all"}, "build: make"},
        {{"make", "-j", "8", "test"}, "test runner: make test"},
        {{"make", "CC=gcc", "check"}, "test runner: make check"},
        {{"make", "-C", "sub", "check"}, "test runner: make check"},
        {{"make", "-C"}, "build: make"},
        {{"git", "status"}, "version control: git"},
        {{"git", "-C", "dir", "-c", "a=b", "clone", "url"}, "repository transfer: git clone"},
        {{"git", "log", "clone"}, "version control: git"},
        {{"node", "--test"}, "test runner: node --test"},
        {{"node", "x.js", "--test"}, "interpreter: node"},
        {{"tsc", "-p", ".", "--noEmit"}, "linter: tsc --noEmit"},
        {{"python", "manage.py", "test"}, "test runner: python manage.py test"},
        /* Programs that run others. */
        {{"python", "-m", "pytest", "-x"}, "test runner: pytest"},
        {{"python3", "-W", "ignore", "-m", "pip", "install"}, "package manager: pip install"},
        {{"python", "-m", "build"}, "build: python -m build"},
        {{"python", "-m", "odd"}, "interpreter: python"},
        {{"python", "-m"}, "interpreter: python"},
        {{"python", "x.py", "-m", "pytest"}, "interpreter: python"},
        {{"env"}, "unknown"},
        {{"env", "FOO=1"}, "unknown"},
        {{"env", "-i", "-u", "X", "FOO=1", "make"}, "build: make"},
        {{"timeout", "5", "ls"}, "file tool: ls"},
        {{"timeout", "-k", "3", "-s", "KILL", "5s", "make"}, "build: make"},
        {{"timeout", "5"}, "unknown"},
        {{"sudo", "-u", "me", "--", "nice", "-n", "5", "env", "A=1", "pytest"},
         "test runner: pytest"},
        {{"npx", "-y", "jest"}, "test runner: jest"},
        {{"npx", "odd"}, "package manager: npx"},
        {{"uv", "run", "--with", "x", "pytest"}, "test runner: pytest"},
        {{"uv", "run", "x.py"}, "interpreter: uv run"},
        {{"bundle", "exec", "rspec"}, "test runner: rspec"},
        {{"xargs", "-n", "1", "grep", "x"}, "file tool: grep"},
        /* Scripts. */
        {{"sh", "-c", "make -j4"}, "build: make"},
        {{"bash", "-lc", "cd x && A=1 npm test"}, "test runner: npm test"},
        {{"bash", "-euo", "pipefail", "-c", "make test"}, "test runner: make test"},
        {{"/bin/sh", "-c", "sh -c 'sh -c ls'"}, "file tool: ls"},
        {{"env", "A=1", "sh", "-c", "exec make"}, "build: make"},
        {{"sh", "-c", "make | tail"}, "shell: sh"},
        {{"sh", "-c", "nope"}, "shell: sh"},
        {{"sh", "-c", ""}, "shell: sh"},
        {{"sh", "-c", "A=1"}, "shell: sh"},
        {{"sh", "-c"}, "shell: sh"},
        {{"sh", "-e", "make"}, "shell: sh"},
        {{"bash", "--norc", "make"}, "shell: bash"},
        {{"sh", "-o"}, "shell: sh"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[100];

        if (!str_eq(recognize(cases[i].argv, got, sizeof(got)), cases[i].want))
            fail_msg("row %zu, '%s': %s, wanted %s", i, cases[i].argv[0], got, cases[i].want);
    }
}

/* Every command of the data is found by its own words: none hides another. */
static void every_row_is_reached(void **state)
{
    size_t rows = 0;

    for (size_t i = 1; i < recommend_kind_count; i++) {
        const struct recommend_kind *kind = &recommend_kinds[i];

        for (const char *row = kind->commands; *row; row += strlen(row) + 1) {
            const char *argv[WORDS_MAX] = {0};
            size_t count = 0;
            char *at = NULL;
            str_auto char *text = strdup(row[0] == '*' ? row + 1 : row);
            char name[64];

            for (char *word = strtok_r(text, " ", &at); word; word = strtok_r(NULL, " ", &at))
                argv[count++] = word;
            if (row[0] == '*') {
                snprintf(name, sizeof(name), "any%s", argv[0]);
                argv[0] = name;
            }
            struct recommendation found = recommend_find(argv);
            if (!found.command || !str_eq(found.kind->kind, kind->kind))
                fail_msg("'%s' is %s", row, found.kind->kind);
            rows++;
        }
    }
    assert_true(rows > 500);
}

static void every_limit_can_be_set(void **state)
{
    static const enum policy_id all[] = {
        POLICY_TIMEOUT,   POLICY_CPU_TIME,   POLICY_CPUS,      POLICY_MEMORY, POLICY_DISK,
        POLICY_PROCESSES, POLICY_OPEN_FILES, POLICY_FILE_SIZE, POLICY_OUTPUT,
    };

    for (size_t i = 1; i < recommend_kind_count; i++) {
        struct policy policy;
        struct hutch_error err = {0};
        const struct policy_value *v = policy.values;

        policy_init(&policy);
        if (recommend_apply(&policy, (struct recommendation){&recommend_kinds[i], "x"}, &err) < 0)
            fail_msg("%s: %s", recommend_kinds[i].kind, err.msg);
        for (size_t n = 0; n < ARRAY_LEN(all); n++)
            assert_true(v[all[n]].set && v[all[n]].number != NUM_NO_LIMIT);
        /* Limits that could never be met before another would say less than they seem to. */
        assert_true(v[POLICY_FILE_SIZE].number <= v[POLICY_DISK].number);
        assert_true(v[POLICY_CPU_TIME].number * 1000 <=
                    v[POLICY_TIMEOUT].number * v[POLICY_CPUS].number);
        policy_clear(&policy);
    }
}

static void unknown_commands_get_the_default_profile(void **state)
{
    struct policy policy;
    struct hutch_error err = {0};
    struct hutch_suggestion *packed = recommend_pack(recommend_find((const char *const[]){"x", 0}));

    policy_init(&policy);
    assert_int_equal(policy_merge_profile(&policy, "default", &err), 0);
    assert_string_equal(packed->kind, "unknown");
    assert_null(packed->command);
    assert_string_equal(packed->limits[0].name, "timeout");
    for (const struct hutch_suggested_limit *limit = packed->limits; limit->name; limit++) {
        struct policy other;
        str_auto char *before = NULL;
        str_auto char *after = NULL;
        char json[100];

        policy_init(&other);
        assert_int_equal(policy_merge_profile(&other, "default", &err), 0);
        snprintf(json, sizeof(json), "{\"limits\":{\"%s\":\"%s\"}}", limit->name, limit->value);
        assert_int_equal(policy_merge_json(&other, json, strlen(json), "x", &err), 0);
        assert_int_equal(policy_to_json(&policy, &before, &err), 0);
        assert_int_equal(policy_to_json(&other, &after, &err), 0);
        assert_string_equal(before, after);
        policy_clear(&other);
    }
    free(packed);
    policy_clear(&policy);
}

static void long_commands_are_read(void **state)
{
    enum { COUNT = 10000 };
    static const struct {
        const char *first;
        const char *filler;
        const char *last;
        const char *want;
    } cases[] = {
        {"make", "-k", "test", "test runner: make test"},
        {"ls", "x", "x", "file tool: ls"},
        {"env", "A=1", "make", "build: make"},
        {"env", "env", "make", "unknown"}, /* deeper than anybody goes */
        {"python", "-X", "pytest", "interpreter: python"},
        {"sh", "-o", "make", "shell: sh"},
        {"A=1", "A=1", "make", "build: make"},
    };
    const char **argv = calloc(COUNT + 1, sizeof(*argv));

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[100];

        argv[0] = cases[i].first;
        for (size_t n = 1; n < COUNT - 1; n++)
            argv[n] = cases[i].filler;
        argv[COUNT - 1] = cases[i].last;
        assert_string_equal(recognize(argv, got, sizeof(got)), cases[i].want);
    }
    free(argv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_recognized),
        cmocka_unit_test(every_row_is_reached),
        cmocka_unit_test(every_limit_can_be_set),
        cmocka_unit_test(unknown_commands_get_the_default_profile),
        cmocka_unit_test(long_commands_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
