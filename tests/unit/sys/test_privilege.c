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
#include <sys/syscall.h>

#include "../scratch.h"
#include "sys/clone.h"
#include "sys/ids.h"
#include "sys/process.h"

/* The sets of capabilities that are not empty, as /proc shows them: "inh prm eff bnd amb ". */
static const char *capabilities(void)
{
    static char sets[64];
    char line[128];
    size_t len = 0;
    FILE *file = fopen("/proc/self/status", "re");

    sets[0] = '\0';
    while (file && fgets(line, sizeof(line), file))
        if (str_starts(line, "Cap") && !strstr(line, ":\t0000000000000000\n"))
            len += (size_t)snprintf(sets + len, sizeof(sets) - len, "%.3s ", line + 3);
    if (file)
        fclose(file);
    return file ? sets : "unknown";
}

static int drop_all(void)
{
    if (!str_eq(capabilities(), "Prm Eff Bnd "))
        return 77;
    int r = sys_drop_bounding();
    if (r < 0)
        return 100 - r;
    /* What it has it keeps, and so can do what is left to do. */
    if (!str_eq(capabilities(), "Prm Eff "))
        return 1;
    r = sys_drop_capabilities();
    if (r < 0)
        return 100 - r;
    if (!str_eq(capabilities(), ""))
        return 2;
    /* There is no way back, and no way to do the first step late. */
    return sys_drop_bounding() == -EPERM && sys_drop_capabilities() == 0 ? 0 : 3;
}

static int drop_only_the_rest(void)
{
    if (!str_eq(capabilities(), "Prm Eff Bnd "))
        return 77;
    if (sys_drop_capabilities() < 0)
        return 1;
    return str_eq(capabilities(), "Bnd ") ? 0 : 2;
}

/*
 * The exit status of fn in a new user namespace, where everybody has all capabilities and is who he
 * was; negative when this host gives none.
 */
static int in_user_namespace(int (*fn)(void))
{
    const struct sys_idmap map = {.uid_inside = geteuid(),
                                  .uid_outside = geteuid(),
                                  .gid_inside = getegid(),
                                  .gid_outside = getegid()};
    struct sys_exit ended = {.code = -1};
    fd_auto int pidfd = -1;
    int go[2];
    char byte;

    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    int pid = sys_clone_namespaces(CLONE_NEWUSER, &pidfd);
    if (pid == 0) {
        close(go[1]);
        _exit(read(go[0], &byte, 1) == 1 ? fn() : 99);
    }
    close(go[0]);
    int r = pid < 0 ? pid : sys_ids_map(pid, &map, true);
    if (r == 0)
        assert_int_equal(write(go[1], "x", 1), 1);
    close(go[1]);
    if (pid > 0)
        assert_int_equal(sys_pidfd_wait(pidfd, true, &ended), 0);
    return r < 0 ? r : ended.code;
}

static void capabilities_are_dropped(void **state)
{
    static int (*const cases[])(void) = {drop_all, drop_only_the_rest};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int r = in_user_namespace(cases[i]);

        if (r < 0)
            SKIP("this host gives no user namespaces (%s)", strerror(-r));
        if (r == 77)
            SKIP("no capabilities in a new user namespace");
        assert_int_equal(r, 0);
    }
}

#define SESSION_KEYRING (-3)

static long keyring(void)
{
    return syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, SESSION_KEYRING, 0);
}

static bool has_key(void)
{
    return syscall(SYS_keyctl, 10 /* KEYCTL_SEARCH */, SESSION_KEYRING, "user", "hutch-unit", 0) >
           0;
}

static int leave_keyring(void)
{
    /* Out of the one that this test was started with, which nothing is put into. */
    if (sys_keyring_leave() != 0)
        return 1;
    long first = keyring();
    if (first < 0)
        return errno == ENOSYS ? 77 : 2;
    if (syscall(SYS_add_key, "user", "hutch-unit", "secret", 6, SESSION_KEYRING) < 0)
        return errno == ENOSYS || errno == EDQUOT ? 77 : 3;
    if (!has_key())
        return 4;
    if (sys_keyring_leave() != 0)
        return 5;
    if (keyring() < 0 || keyring() == first)
        return 6;
    return has_key() || (errno != ENOKEY && errno != EKEYREVOKED) ? 7 : 0;
}

static void the_keyring_is_left(void **state)
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(leave_keyring());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        SKIP("this kernel has no keyrings");
    assert_int_equal(WEXITSTATUS(status), 0);
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
        cmocka_unit_test(the_keyring_is_left),
        cmocka_unit_test(flags_of_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
