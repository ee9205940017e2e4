/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/check.h"

#include <regex.h>

#include "base/str.h"

typedef const char *check_fn(const char *text);

/* Each list ends with NULL. */
struct check_case {
    const char *name;
    check_fn *check;
    const char *pattern; /* what the schema says; it may take more than the check, never less */
    const char *good[16];
    const char *bad[32];
};

#define LABEL_63 "a23456789012345678901234567890123456789012345678901234567890123"

static const struct check_case cases[] = {
    {
        .name = "host",
        .check = check_host,
        .pattern = PATTERN_HOST,
        .good = {"example.org", "registry.example:443", "*.example.org", "*.example.org:8443", "a",
                 "localhost:65535", "10.0.0.1", "10.0.0.1:80", "[::1]:443", "[2001:db8::1]",
                 "x-1.example", "3com.example", (LABEL_63 ".example"), "[::ffff:1.2.3.4]:1"},
        .bad = {"",
                ".",
                "a..b",
                ".example.org",
                "example.org.",
                "-a.example",
                "a-.example",
                "exa mple",
                "exa_mple",
                "*",
                "*.",
                "a.*.b",
                "*example.org",
                "**.example.org",
                "host:0",
                "host:65536",
                "host:",
                "host:x",
                "host:080",
                "host:1:2",
                "::1",
                "[::1",
                "[::1]x",
                "[fe80::1%eth0]",
                "[]",
                "256.1.1.1",
                "127.1",
                "0x7f000001",
                "*.1.2.3.4",
                (LABEL_63 "x.example"),
                "http://example.org"},
    },
    {
        .name = "hostname",
        .check = check_hostname,
        .pattern = PATTERN_HOSTNAME,
        .good = {"hutch", "a-b", "a.b", "1a", LABEL_63},
        .bad = {"", "-a", "a-", "a b", "a_b", "a.", (LABEL_63 "4"), "h\033[1m"},
    },
    {
        .name = "require",
        .check = check_require,
        .pattern = PATTERN_REQUIRE,
        .good = {"userns", "landlock>=4", "cgroup", "cpu_time", "a1", "landlock>=123456789"},
        .bad = {"", "Userns", "landlock>4", "landlock>=", "landlock>=0", "landlock>=x", "a b",
                "landlock>=4x", ">=4", "1a", "a,b", "landlock>=1234567890", "_a"},
    },
    {
        .name = "variable",
        .check = check_variable,
        .pattern = PATTERN_VARIABLE,
        .good = {"PATH", "a b", "_", "1"},
        .bad = {"", "A=B", "=", "LC_*", "*"},
    },
    {
        .name = "inherit",
        .check = check_inherit,
        .pattern = PATTERN_INHERIT,
        .good = {"PATH", "LC_*", "*"},
        .bad = {"", "A=B", "A*B", "**", "*A", "A=*"},
    },
    {
        .name = "path",
        .check = check_path,
        .good = {"/", "a", ".", "~/.ssh", "a/**/b", "\xff"},
        .bad = {""},
    },
    {.name = "text", .check = check_text, .good = {"x", " "}, .bad = {""}},
};

static void texts_are_taken_or_refused(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct check_case *c = &cases[i];

        for (size_t j = 0; c->good[j]; j++) {
            if (c->check(c->good[j]))
                fail_msg("%s: '%s' %s", c->name, c->good[j], c->check(c->good[j]));
        }
        for (size_t j = 0; c->bad[j]; j++) {
            if (!c->check(c->bad[j]))
                fail_msg("%s: '%s' is taken", c->name, c->bad[j]);
        }
    }
}

/* The patterns keep to what JSON Schema and POSIX read alike. */
static void patterns_take_all_that_checks_take(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct check_case *c = &cases[i];
        regex_t regex;

        if (!c->pattern)
            continue;
        assert_int_equal(regcomp(&regex, c->pattern, REG_EXTENDED | REG_NOSUB), 0);
        for (size_t j = 0; c->good[j]; j++) {
            if (regexec(&regex, c->good[j], 0, NULL, 0) != 0)
                fail_msg("%s: the pattern refuses '%s'", c->name, c->good[j]);
        }
        assert_int_not_equal(regexec(&regex, "", 0, NULL, 0), 0);
        regfree(&regex);
    }
}

static void long_texts_are_refused(void **state)
{
    static char text[5000];

    memset(text, 'a', sizeof(text) - 1);
    assert_non_null(check_path(text));
    assert_non_null(check_host(text));
    assert_non_null(check_hostname(text));
    text[4095] = '\0';
    assert_null(check_path(text));
    /* 254 bytes in labels of 63 */
    text[254] = '\0';
    text[63] = text[127] = text[191] = '.';
    assert_non_null(check_host(text));
    text[253] = '\0';
    assert_null(check_host(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_taken_or_refused),
        cmocka_unit_test(patterns_take_all_that_checks_take),
        cmocka_unit_test(long_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
