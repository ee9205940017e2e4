/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/privilege.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>

#include "../scratch.h"
#include "sys/clone.h"
#include "sys/process.h"

/* The five sets, as /proc shows them, must all be empty. */
static bool no_capabilities(void)
{
    char line[128];
    int sets = 0;
    FILE *file = fopen("/proc/self/status", "re");

    while (file && fgets(line, sizeof(line), file))
        if (str_starts(line, "Cap") && strstr(line, ":\t0000000000000000\n"))
            sets++;
    if (file)
        fclose(file);
    return sets == 5;
}

static void capabilities_are_dropped(void **state)
{
    struct sys_exit ended;
    fd_auto int pidfd = -1;

    /* A new user namespace gives everybody all of them. */
    int pid = sys_clone_namespaces(CLONE_NEWUSER, &pidfd);
    if (pid == 0) {
        if (no_capabilities())
            _exit(1);
        int r = sys_drop_capabilities();
        _exit(r < 0 ? 100 - r : no_capabilities() ? 0 : 2);
    }
    if (pid < 0) {
        SKIP("this host gives no user namespaces (%s)", strerror(-pid));
    }
    assert_int_equal(sys_pidfd_wait(pidfd, true, &ended), 0);
    if (ended.code == 1 || ended.code == 100 + EPERM) {
        SKIP("no capabilities in a new user namespace");
    }
    assert_int_equal(ended.code, 0);
}

static void flags_of_the_process(void **state)
{
    struct sys_exit ended;
    fd_auto int pidfd = -1;
    int pid = sys_clone_namespaces(0, &pidfd);

    if (pid == 0) {
        if (prctl(PR_GET_DUMPABLE) != 1 || sys_undumpable() < 0 || prctl(PR_GET_DUMPABLE) != 0)
            _exit(1);
        if (sys_no_new_privs() < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
            _exit(2);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(sys_pidfd_wait(pidfd, true, &ended), 0);
    assert_int_equal(ended.code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capabilities_are_dropped),
        cmocka_unit_test(flags_of_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
