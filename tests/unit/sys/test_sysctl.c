/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/sysctl.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

static void says_what_the_kernel_says(void **state)
{
    struct utsname kernel;
    char text[128];
    char cut[4];

    assert_int_equal(uname(&kernel), 0);
    assert_int_equal(sys_sysctl_read("kernel/osrelease", text, sizeof(text)), 0);
    assert_string_equal(text, kernel.release);
    assert_int_equal(sys_sysctl_read("kernel/osrelease", cut, sizeof(cut)), 0);
    assert_int_equal(strlen(cut), 3);
    assert_memory_equal(cut, kernel.release, 3);
}

static void what_cannot_be_read(void **state)
{
    char longest[256];
    char text[8] = "kept";

    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(sys_sysctl_read("kernel/none_such", text, sizeof(text)), -ENOENT);
    assert_int_equal(sys_sysctl_read("kernel", text, sizeof(text)), -EISDIR);
    assert_int_equal(sys_sysctl_read(longest, text, sizeof(text)), -ENAMETOOLONG);
    assert_string_equal(text, "kept");
    /* What containers put over a file that they hide. */
    assert_int_equal(sys_sysctl_read("../../dev/null", text, sizeof(text)), -ENODATA);
    assert_string_equal(text, "kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_the_kernel_says),
        cmocka_unit_test(what_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
