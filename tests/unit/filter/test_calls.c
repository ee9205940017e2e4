/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "filter/calls.h"

#include <linux/audit.h>
#include <sys/syscall.h>

#include "base/str.h"

static void names_have_numbers(void **state)
{
    static const struct {
        const char *name;
        int x86_64, arm64;
    } cases[] = {
        {"read", 0, 63},
        {"mount", 165, 40},
        {"open", 2, -1},
        {"arch_prctl", 158, -1},
        {"clone3", 435, 435},
        {"fchmodat2", 452, 452},
        {"listns", 470, 470},
        {"uretprobe", 335, -1},
        {"socketcall", -1, -1}, /* of 32-bit architectures */
        {"s390_runtime_instr", -1, -1},
        {"no_such_call", -1, -1},
        {"", -1, -1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(filter_call_number(AUDIT_ARCH_X86_64, cases[i].name), cases[i].x86_64);
        assert_int_equal(filter_call_number(AUDIT_ARCH_AARCH64, cases[i].name), cases[i].arm64);
    }
    assert_int_equal(filter_call_number(FILTER_ARCH, "execve"), SYS_execve);
    assert_int_equal(filter_call_number(FILTER_ARCH, "clone3"), SYS_clone3);
}

static void numbers_have_names_and_back(void **state)
{
    static const uint32_t arches[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};
    char name[FILTER_NAME_MAX];

    for (size_t i = 0; i < ARRAY_LEN(arches); i++) {
        int known = 0;

        for (int nr = -3; nr < 1000; nr++) {
            if (!filter_call_name(arches[i], nr, name))
                continue;
            assert_int_equal(filter_call_number(arches[i], name), nr);
            known++;
        }
        assert_in_range(known, 300, 400);
        assert_true(filter_call_name(arches[i], FILTER_CALL_LAST, name));
        assert_false(filter_call_name(arches[i], FILTER_CALL_LAST + 1, name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_numbers),
        cmocka_unit_test(numbers_have_names_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
