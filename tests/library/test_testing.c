/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a workspace: which are found, and what runs them. */
#include <stdlib.h>

#include <sys/stat.h>

#include "language.h"

#define PASSING "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n"
#define FAILING                                                                                    \
    "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.fail('no')\n"

/* What `tests` begins with. */
static long status_of(const char *text)
{
    return strtol(text, NULL, 10);
}

static void python_tests(void)
{
    struct hutch_result *result = NULL;

    need("python3");
    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct hutch_sandbox *sandbox = open_in_memory(layouts[i]);

        if (i > 0)
            CHECK(init_python(sandbox));
        REFUSED(hutch_run_tests(sandbox, NULL, NULL, &result, &err), "not_found", "no tests in");
        REFUSED(hutch_run_tests(sandbox, "gone", NULL, &result, &err), "not_found", "'gone'");
        put(sandbox, "good/test_good.py", "import app\n" PASSING);
        put(sandbox, "app.py", "");
        put(sandbox, "bad/test_bad.py", FAILING);
        CHECK_INT(0, status_of(tests(sandbox, "good")));
        const char *bad = tests(sandbox, "bad");
        CHECK_INT(1, status_of(bad));
        CHECK_HAS(bad, "test_bad.py");
        CHECK_INT(0, status_of(tests(sandbox, "good/test_good.py")));
        CHECK_INT(1, status_of(tests(sandbox, inside(sandbox, "bad/test_bad.py"))));
        put(sandbox, "none/test_none.py", "x = 1\n");
        CHECK_INT(5, status_of(tests(sandbox, "none")));
        hutch_sandbox_close(sandbox);
    }
}

/* pytest of the environment comes before the sandbox's. */
static void python_tests_with_pytest(void)
{
    need("python3");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    CHECK(init_python(sandbox));
    CHECK_TEXT("0 ",
               python(sandbox,
                      "import sysconfig\n"
                      "with open(sysconfig.get_path('purelib') + '/pytest.py', 'w') as file:\n"
                      "    file.write('import sys; print(sys.argv[1:]); sys.exit(4)')\n"));
    CHECK_TEXT("0 ", sh(sandbox, NULL, "cp /bin/true .venv/bin/pytest"));
    put(sandbox, "test_it.py", PASSING);
    CHECK_TEXT("4 []\n", tests(sandbox, NULL));
    CHECK_TEXT("4 ['/workspace']\n", tests(sandbox, "."));
    CHECK_TEXT("4 ['/workspace/test_it.py']\n", tests(sandbox, "test_it.py"));
    hutch_sandbox_close(sandbox);
}

/* Where the workspace is the root, what the system brings is not tested. */
static void tests_next_to_the_system(void)
{
    static const char path[] = "PATH=/tools:" USUAL_PATH;

    need("python3");
    struct hutch_sandbox *sandbox = drive_open(
        LIST("--layout", "root", "-w", "tmpfs", "--env", path));
    put(sandbox, "tools/pytest", "#!/bin/sh\necho \"$@\"\n");
    CHECK_TEXT("0 ", sh(sandbox, NULL, "chmod +x tools/pytest"));
    put(sandbox, "test_b.py", PASSING);
    put(sandbox, "sub/a_test.py", PASSING);
    put(sandbox, "node_modules/gyp/test_gyp.py", PASSING);
    put(sandbox, ".hidden/test_hidden.py", PASSING);
    CHECK_TEXT("0 /test_b.py /sub/a_test.py\n", tests(sandbox, NULL));
    CHECK_TEXT("0 /sub\n", tests(sandbox, "sub"));
    hutch_sandbox_close(sandbox);
}

/* The sandbox's pytest, next to an environment without: it sees what the environment has. */
static void python_tests_with_the_sandboxs_pytest(void)
{
    need("python3");
    box_dir("out/bin");
    box_file("out/bin/pytest", "#!/usr/bin/env python3\nimport sys\nimport app, thing\n"
                               "print('pytest', sys.argv[1:])\n");
    REQUIRE(chmod(box_text("%s/bin/pytest", box.out), 0755) == 0);
    struct hutch_sandbox *sandbox = drive_open(
        LIST("-w", "tmpfs", "--env", box_text("PATH=%s/bin:" USUAL_PATH, box.out)));
    CHECK(init_python(sandbox));
    CHECK_TEXT("0 ",
               python(sandbox, "import sysconfig\n"
                               "open(sysconfig.get_path('purelib') + '/thing.py', 'w').close()"));
    put(sandbox, "app.py", "");
    put(sandbox, "tests/test_it.py", PASSING);
    CHECK_TEXT(box_text("0 pytest ['%s']\n", inside(sandbox, "tests")), tests(sandbox, "tests"));
    hutch_sandbox_close(sandbox);
}

static void node_tests(void)
{
    need("node");
    struct hutch_sandbox *sandbox = open_in_memory("root");
    put(sandbox, "good/a.test.js", "require('node:test')('good', () => {})\n");
    put(sandbox, "bad/b.test.js", "require('node:test')('bad', () => { throw new Error('no') })\n");
    CHECK_INT(0, status_of(tests(sandbox, "good")));
    CHECK_INT(1, status_of(tests(sandbox, "bad")));
    CHECK_INT(0, status_of(tests(sandbox, "good/a.test.js")));
    CHECK_INT(1, status_of(tests(sandbox, "bad/b.test.js")));
    const char *both = tests(sandbox, NULL);
    CHECK_HAS(both, " pass 1\n");
    CHECK_HAS(both, " fail 1\n");
    hutch_sandbox_close(sandbox);
}

static void node_tests_of_a_project(void)
{
    need("npm");
    struct hutch_sandbox *sandbox = open_in_memory("minimal");
    put(sandbox, "package.json", "{\"scripts\": {\"test\": \"echo by script; exit 6\"}}");
    CHECK_HAS(tests(sandbox, NULL), "by script");
    CHECK_INT(6, status_of(tests(sandbox, NULL)));
    hutch_sandbox_close(sandbox);
}

int main(void)
{
    static const struct box_test all[] = {
        {"python tests", python_tests},
        {"python tests with pytest", python_tests_with_pytest},
        {"python tests with the sandbox's pytest", python_tests_with_the_sandboxs_pytest},
        {"tests next to the system", tests_next_to_the_system},
        {"node tests", node_tests},
        {"node tests of a project", node_tests_of_a_project},
        {NULL, NULL},
    };

    setenv("PATH", USUAL_PATH, 1);
    return box_main(all);
}
