/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/native/describe.h"

#include <errno.h>

#include "base/str.h"

static const int errors[] = {EPERM,  EACCES, ENOENT, ENOMEM, EINVAL, ENOSPC,  EUSERS,
                             ENOSYS, EBUSY,  ESTALE, ELOOP,  EROFS,  EIO,     ENOTDIR,
                             EEXIST, EPROTO, EMFILE, ENFILE, E2BIG,  ENOEXEC, 0};

/* One of every kind, with names that somebody else chose. */
static struct plan_mount mounts[] = {
    {.kind = MOUNT_BIND, .target = "/t\033[2J", .source = "/s\n"},
    {.kind = MOUNT_TMPFS, .target = "/tmpfs"},
    {.kind = MOUNT_PROC, .target = "/proc"},
    {.kind = MOUNT_DEVPTS, .target = "/dev/pts"},
    {.kind = MOUNT_MASK, .target = "/hidden", .source = "/hidden"},
    {.kind = MOUNT_DIR, .target = "/dir"},
    {.kind = MOUNT_FILE, .target = "/file"},
    {.kind = MOUNT_LINK, .target = "/link", .source = "text"},
    {.kind = MOUNT_SEAL, .target = "/sealed"},
    {.kind = MOUNT_DIR, .target = "/on-host", .on_host = true},
};

static const struct plan plan = {.mounts = mounts, .mount_count = ARRAY_LEN(mounts)};

/* One line, no full stop, nothing that acts on a terminal, and a place. */
static void check(const struct hutch_error *err, int r, int error)
{
    char copy[sizeof(err->msg)];
    size_t len = strlen(err->msg);

    assert_true(r < 0);
    assert_int_equal(r, err->code);
    assert_true(len > 0 && err->where[0]);
    assert_string_equal(str_printable(err->msg, copy, sizeof(copy)), err->msg);
    assert_int_not_equal(err->msg[len - 1], '.');
    if (error == ENOMEM)
        assert_int_equal(r, HUTCH_ENOMEM);
    assert_true(err->sys_errno == error || err->sys_errno == 0);
}

static void every_step_and_errno_is_a_sentence(void **state)
{
    for (unsigned step = 0; step <= STEP_COUNT; step++) {
        for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
            for (uint32_t index = 0; index <= ARRAY_LEN(mounts) + 1; index++) {
                struct hutch_error err = {0};
                int r = native_describe_setup(&plan, step, index, errors[i], &err);

                check(&err, r, errors[i]);
                if (step < STEP_COUNT)
                    assert_string_equal(err.where, native_step_name(step));
                if (step == STEP_MOUNTS && index < ARRAY_LEN(mounts))
                    assert_non_null(strstr(err.msg, index == 0 ? "/s" : mounts[index].target));
            }
            assert_true(native_describe_setup(&plan, step, 0, errors[i], NULL) < 0);
        }
    }
    struct hutch_error err = {0};
    check(&err, native_describe_setup(&plan, STEP_MOUNTS, UINT32_MAX, EPERM, &err), EPERM);
}

static void every_way_a_command_does_not_start(void **state)
{
    static const char *const argv[] = {"na\033me", NULL};
    static const struct plan_command command = {.argv = argv, .cwd = "/c\nwd"};

    for (unsigned step = 0; step <= EXEC_STEP_COUNT; step++) {
        if (step == EXEC_STEP_ROOM)
            continue; /* not the kernel's answer: its errors have words of their own */
        for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
            struct hutch_error err = {0};
            int r = native_describe_exec(&command, step, errors[i], &err);

            check(&err, r, errors[i]);
            assert_non_null(strstr(err.msg, step == EXEC_STEP_CWD ? "/c\\x0awd" : "na\\x1bme"));
        }
    }
}

static void no_room_for_a_command(void **state)
{
    static const char *const argv[] = {"na\033me", NULL};
    static const struct plan_command command = {.argv = argv, .cwd = "/"};
    struct hutch_error err = {0};

    assert_int_equal(native_describe_exec(&command, EXEC_STEP_ROOM, EBUSY, &err), HUTCH_EBUSY);
    assert_non_null(strstr(err.msg, "na\\x1bme"));
    assert_non_null(strstr(err.msg, "64 commands run"));
    assert_int_equal(native_describe_exec(&command, EXEC_STEP_ROOM, EMFILE, &err), HUTCH_EBUSY);
    assert_non_null(strstr(err.msg, "256 earlier commands"));
}

static void hints(void **state)
{
    static const struct {
        unsigned step;
        uint32_t index;
        int error;
        const char *hint;
    } cases[] = {
        {STEP_CLONE, 0, EPERM, "kernel.unprivileged_userns_clone"},
        {STEP_CLONE, 0, EACCES, "apparmor_restrict_unprivileged_userns"},
        {STEP_CLONE, 0, ENOSPC, "user.max_user_namespaces"},
        {STEP_CLONE, 0, EUSERS, "user.max_user_namespaces"},
        {STEP_CLONE, 0, EINVAL, "this kernel lacks"},
        {STEP_IDS, 0, EPERM, "apparmor_restrict_unprivileged_userns"},
        {STEP_MOUNTS, 0, ESTALE, "was replaced"},
        {STEP_MOUNTS, 2, EPERM, "unmasked /proc"},
        {STEP_MOUNTS, 9, EEXIST, "in the workspace"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};

        native_describe_setup(&plan, cases[i].step, cases[i].index, cases[i].error, &err);
        if (!strstr(err.msg, cases[i].hint))
            fail_msg("row %zu: %s", i, err.msg);
    }

    struct plan privileged = plan;
    struct hutch_error err = {0};
    privileged.identity.privileged = true;
    native_describe_setup(&privileged, STEP_MOUNTS, 0, EACCES, &err);
    assert_non_null(strstr(err.msg, "ordinary user's rights"));
}

static void what_cannot_be_found_and_what_cannot_be_executed(void **state)
{
    static const char *const argv[] = {"name", NULL};
    static const struct plan_command command = {.argv = argv, .cwd = "/"};
    struct hutch_error err = {0};

    assert_int_equal(native_describe_exec(&command, EXEC_STEP_EXEC, ENOENT, &err), HUTCH_ENOTFOUND);
    assert_non_null(strstr(err.msg, "not found"));
    assert_int_equal(native_describe_exec(&command, EXEC_STEP_EXEC, EACCES, &err), HUTCH_ESYSTEM);
    assert_int_equal(err.sys_errno, EACCES);
    assert_int_equal(native_describe_exec(&command, EXEC_STEP_CWD, ENOENT, &err), HUTCH_ESYSTEM);
    assert_string_equal(err.where, "cwd");
}

static void every_step_has_its_own_name(void **state)
{
    for (unsigned i = 0; i < STEP_COUNT; i++) {
        assert_true(native_step_name(i)[0]);
        assert_string_not_equal(native_step_name(i), "unknown");
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(native_step_name(i), native_step_name(k));
    }
    assert_string_equal(native_step_name(STEP_COUNT), "unknown");
}

/* Every fact that is blamed is one of `enforced`, as it is called there. */
static void what_a_host_does_not_give(void **state)
{
    static const struct {
        struct hutch_error error;
        const char *fact;
    } cases[] = {
        {{HUTCH_ESYSTEM, EPERM, "clone", ""}, "userns"},
        {{HUTCH_ESYSTEM, ENOSPC, "clone", ""}, "userns"},
        {{HUTCH_EUNSUPPORTED, 0, "ids", ""}, "userns"},
        {{HUTCH_ESYSTEM, EPERM, "mounts", ""}, "mountns"},
        {{HUTCH_ESYSTEM, EPERM, "network", ""}, "netns"},
        {{HUTCH_ESYSTEM, EINVAL, "landlock", ""}, "landlock"},
        {{HUTCH_ESYSTEM, EINVAL, "filter", ""}, "seccomp"},
        {{HUTCH_ESYSTEM, EINVAL, "seccomp", ""}, "seccomp"},
        {{HUTCH_ESYSTEM, EACCES, "cgroup", ""}, "cgroup"},
        {{HUTCH_EUNSUPPORTED, 0, "nodump", ""}, "nodump"},
        {{HUTCH_ESYSTEM, ENOENT, "nodump", ""}, "nodump"},
        {{HUTCH_ESYSTEM, EMFILE, "nodump", ""}, NULL},
        {{HUTCH_ESYSTEM, EPERM, "descriptors", ""}, NULL},
        {{HUTCH_ESYSTEM, EPERM, "unknown", ""}, NULL},
        {{HUTCH_ESYSTEM, EPERM, "", ""}, NULL},
        /* There is not enough of something now; it was not the kernel; nothing went wrong. */
        {{HUTCH_ESYSTEM, EMFILE, "clone", ""}, NULL},
        {{HUTCH_ESYSTEM, EAGAIN, "clone", ""}, NULL},
        {{HUTCH_ENOMEM, ENOMEM, "mounts", ""}, NULL},
        {{HUTCH_ESTATE, 0, "mounts", ""}, NULL},
        {{0, 0, "", ""}, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *fact = backend_blamed_fact(&cases[i].error);
        if (!fact || !cases[i].fact ? fact != cases[i].fact : !str_eq(fact, cases[i].fact))
            fail_msg("row %zu: %s", i, fact ? fact : "none");
    }

    struct plan any = plan;
    struct arena arena;
    arena_init(&arena);
    any.filter_name = "default";
    const struct hutch_fact *enforced = backend_native.enforced(&any, &arena);
    for (unsigned step = 0; step < STEP_COUNT; step++) {
        struct hutch_error error = {.code = HUTCH_ESYSTEM, .sys_errno = EPERM};
        snprintf(error.where, sizeof(error.where), "%s", native_step_name(step));
        const char *fact = backend_blamed_fact(&error);
        size_t i = 0;
        while (fact && enforced[i].name && !str_eq(enforced[i].name, fact))
            i++;
        assert_true(!fact || enforced[i].name);
    }
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_and_errno_is_a_sentence),
        cmocka_unit_test(every_way_a_command_does_not_start),
        cmocka_unit_test(no_room_for_a_command),
        cmocka_unit_test(hints),
        cmocka_unit_test(what_cannot_be_found_and_what_cannot_be_executed),
        cmocka_unit_test(every_step_has_its_own_name),
        cmocka_unit_test(what_a_host_does_not_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
