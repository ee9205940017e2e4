/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/coredump.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/str.h"
#include "sys/sysctl.h"

/* A host, as it shows itself. */
static struct {
    const char *pattern; /* NULL: `error` instead */
    int error;
    bool others;         /* other settings can be read */
    const char *release; /* NULL: it does not say */
} host;

int __wrap_sys_sysctl_read(const char *name, char *out, size_t size);
int __wrap_uname(struct utsname *ret);

int __wrap_sys_sysctl_read(const char *name, char *out, size_t size)
{
    bool asked = str_eq(name, "kernel/core_pattern");

    if (asked && !host.pattern)
        return -host.error;
    if (!asked && !host.others)
        return -ENOENT;
    snprintf(out, size, "%s", asked ? host.pattern : "Linux");
    return 0;
}

int __wrap_uname(struct utsname *ret)
{
    if (!host.release)
        return -1;
    *ret = (struct utsname){0};
    snprintf(ret->release, sizeof(ret->release), "%s", host.release);
    return 0;
}

static void what_the_setting_says(void **state)
{
    static const struct {
        const char *pattern;
        int want;
    } cases[] = {
        {"@/run/dumps.sock", 1},
        {"@@/run/dumps.sock", 1}, /* the service is asked first what it wants */
        {"@", 1},
        {"core", 0},
        {"", 0},
        {"core@home", 0},
        {" @/run/dumps.sock", 0}, /* a file, to the kernel too */
        {"/var/core/%e", 0},
        {"|/usr/lib/handler %P", 0},
        {"|@/usr/lib/handler", 0},
    };
    static const char *const releases[] = {"6.18.1", "5.10.0", NULL};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t k = 0; k < ARRAY_LEN(releases); k++) {
            host.pattern = cases[i].pattern;
            host.release = releases[k];
            host.others = true;
            if (sys_coredump_to_socket() != cases[i].want)
                fail_msg("%s", cases[i].pattern);
        }
    }
}

static void a_setting_that_is_not_shown(void **state)
{
    static const int errors[] = {ENOENT, EACCES, EPERM, ENODATA};
    static const struct {
        const char *release;
        bool old;
    } cases[] = {
        {"6.15.11-300.fc42.x86_64", true},
        {"6.1.0-37-amd64", true},
        {"5.10.0", true},
        {"2.6.78", true},
        {"6.16.0", false},
        {"6.16-rc1", false},
        {"6.100", false},
        {"7.0.1", false},
        {"10.1", false},
        /* Who does not say which it is may be any. */
        {"", false},
        {"custom", false},
        {NULL, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
            host.pattern = NULL;
            host.error = errors[i];
            host.release = cases[k].release;
            host.others = false;
            if (sys_coredump_to_socket() != (cases[k].old ? 0 : -errors[i]))
                fail_msg("%s, %d", cases[k].release, errors[i]);
        }
    }
}

static void a_kernel_without_core_dumps(void **state)
{
    host.pattern = NULL;
    host.error = ENOENT;
    host.release = "6.18.1";
    host.others = true;
    assert_int_equal(sys_coredump_to_socket(), 0);
    host.error = EACCES; /* it has the setting, and keeps it to itself */
    assert_int_equal(sys_coredump_to_socket(), -EACCES);
}

/* Of any kernel: what is wrong now says nothing about it. */
static void a_failure_to_read(void **state)
{
    static const int errors[] = {EMFILE, ENFILE, ENOMEM, EIO};

    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        host.pattern = NULL;
        host.error = errors[i];
        host.release = "5.10.0";
        host.others = true;
        assert_int_equal(sys_coredump_to_socket(), -errors[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_setting_says),
        cmocka_unit_test(a_setting_that_is_not_shown),
        cmocka_unit_test(a_kernel_without_core_dumps),
        cmocka_unit_test(a_failure_to_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
