/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "resolving.h"

#include <errno.h>
#include <pwd.h>

static int setup(void **state)
{
    static const char *const tree[] = {
        "home/",
        "home/.ssh/",
        "home/.ssh/id",
        "ws/",
        "ws/src/",
        "ws/src/main.c",
        "ws/link -> src",
        "ws/abs -> @/ws/src",
        "ws/loop -> loop",
        "ws/ping -> pong",
        "ws/pong -> ping",
        "ws/dangling -> nowhere",
        "ws/up -> ../home",
        "cwd/",
        "cwd/here",
        "cwd/~x",
        "closed/",
        "closed/secret",
        NULL,
    };

    return resolving_begin(tree);
}

static void existing_paths(void **state)
{
    static const struct {
        const char *text, *want;
        int from;
    } cases[] = {
        {"@/ws/src", "@/ws/src", FLAG},
        {"@/ws/src/", "@/ws/src", FLAG},
        {"@//ws/./src//", "@/ws/src", FLAG},
        {"@/ws/src/../src/main.c", "@/ws/src/main.c", FLAG},
        {"/", "/", FLAG},
        {"/../..", "/", FLAG},
        {"~", "@/home", FLAG},
        {"~", "@/home", DOCUMENT},
        {"~/", "@/home", FLAG},
        {"~/.ssh/id", "@/home/.ssh/id", DOCUMENT},
        {"~//.ssh/", "@/home/.ssh", FLAG},
        {"~x", "@/cwd/~x", FLAG},
        {"here", "@/cwd/here", FLAG},
        {"./here", "@/cwd/here", FLAG},
        {".", "@/cwd", FLAG},
        {".", "@/ws", DOCUMENT},
        {"..", "@", FLAG},
        {"../ws/src", "@/ws/src", FLAG},
        {"src", "@/ws/src", DOCUMENT},
        {"@/ws/link", "@/ws/src", FLAG},
        {"@/ws/link/", "@/ws/src", FLAG},
        {"@/ws/link/main.c", "@/ws/src/main.c", FLAG},
        {"@/ws/abs/main.c", "@/ws/src/main.c", FLAG},
        {"@/ws/up/.ssh", "@/home/.ssh", FLAG},
        {"../ws/link/../link/main.c", "@/ws/src/main.c", FLAG},
        {"link", "@/ws/src", DOCUMENT},
        {"./link/main.c", "@/ws/src/main.c", DOCUMENT},
        {"up", "@/home", DOCUMENT},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct policy_item it = item(cases[i].text, cases[i].from);
        struct hutch_error err = {0};
        struct resolved found = {.fd = -1};
        struct stat st;
        int before = open_fds();

        if (resolve_path(&resolver, &it, &found, &err) < 0)
            fail_msg("'%s': %s", cases[i].text, err.msg);
        assert_true(found.exists);
        assert_false(found.denied);
        if (!str_eq(folded(found.path), cases[i].want))
            fail_msg("'%s': got '%s'", cases[i].text, folded(found.path));
        assert_int_equal(stat(found.path, &st), 0);
        assert_true(st.st_ino == found.st.st_ino && st.st_dev == found.st.st_dev);
        assert_int_equal(fcntl(found.fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(open_fds(), before + 1);
        fd_close(&found.fd);
    }
}

static void missing_paths(void **state)
{
    static const struct {
        const char *text;
        int from;
        const char *place; /* where it would be; NULL: refused */
    } cases[] = {
        {"@/ws/none", FLAG, "@/ws/none"},
        {"@/ws/none/", FLAG, "@/ws/none"},
        {"@/ws/none/deeper//still", FLAG, "@/ws/none/deeper/still"},
        {"@/ws/link/none", FLAG, "@/ws/src/none"},
        {"@/ws/src/main.c/", FLAG, "@/ws/src/main.c"},
        {"@/ws/src/main.c/below", FLAG, "@/ws/src/main.c/below"},
        {"@/ws/dangling", FLAG, "@/ws/dangling"},
        {"none", DOCUMENT, "@/ws/none"},
        {"here", DOCUMENT, "@/ws/here"},
        {"none", FLAG, "@/cwd/none"},
        {"../none/x", FLAG, "@/none/x"},
        {"~/.none", DOCUMENT, "@/home/.none"},
        {"~nobody", FLAG, "@/cwd/~nobody"},
        {"@/ws/none/../x", FLAG, NULL},
        {"none/..", FLAG, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct policy_item it = item(cases[i].text, cases[i].from);
        struct hutch_error err = {0};
        struct resolved found = {.fd = -1};
        const char *place = NULL;
        int before = open_fds();

        assert_int_equal(resolve_path(&resolver, &it, &found, &err), 0);
        if (found.exists || found.fd != -1)
            fail_msg("'%s' exists", cases[i].text);
        assert_int_equal(resolve_existing(&resolver, &it, &found, &err), HUTCH_EPOLICY);
        assert_string_equal(err.where, "--x");
        assert_non_null(strstr(err.msg, "does not exist"));

        int r = resolve_missing(&resolver, &it, &place, &err);
        assert_int_equal(r, cases[i].place ? 0 : HUTCH_EPOLICY);
        if (cases[i].place && !str_eq(folded(place), cases[i].place))
            fail_msg("'%s' would be at '%s'", cases[i].text, folded(place));
        if (!cases[i].place)
            assert_non_null(strstr(err.msg, "'..'"));
        assert_int_equal(open_fds(), before);
    }
}

static void refused_paths(void **state)
{
    static const struct {
        const char *text;
        int sys_errno;
    } cases[] = {
        {"@/ws/loop", ELOOP},
        {"@/ws/loop/x", ELOOP},
        {"@/ws/ping", ELOOP},
        {"@/ws/" NAME_100 NAME_100 NAME_100, ENAMETOOLONG},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct policy_item it = item(cases[i].text, FLAG);
        struct hutch_error err = {0};
        struct resolved found = {.fd = -1, .path = "untouched"};
        int before = open_fds();

        assert_int_equal(resolve_path(&resolver, &it, &found, &err), HUTCH_ESYSTEM);
        assert_int_equal(err.sys_errno, cases[i].sys_errno);
        assert_string_equal(err.where, "--x");
        assert_string_equal(found.path, "untouched");
        assert_int_equal(open_fds(), before);
    }
}

static void nowhere_to_start(void **state)
{
    struct resolver lost = resolver;
    struct resolved found;
    struct hutch_error err;
    struct policy_item relative = item("src", DOCUMENT);
    struct policy_item home = item("~/x", FLAG);
    struct policy_item absolute = item("@/ws/src", DOCUMENT);
    const char *place;

    lost.home = NULL;
    lost.workspace.fd = -1;
    assert_int_equal(resolve_path(&lost, &relative, &found, &err), HUTCH_EPOLICY);
    assert_non_null(strstr(err.msg, "in memory"));
    assert_int_equal(resolve_missing(&lost, &relative, &place, &err), HUTCH_EPOLICY);
    setenv("HOME", "relative", 1);
    assert_int_equal(resolve_path(&lost, &home, &found, &err), HUTCH_EPOLICY);
    assert_non_null(strstr(err.msg, "HOME is not absolute"));
    unsetenv("HOME");
    assert_int_equal(resolve_path(&lost, &home, &found, &err), HUTCH_EPOLICY);
    assert_non_null(strstr(err.msg, "HOME is not set"));
    assert_non_null(strstr(err.msg, "set HOME to a directory"));
    assert_int_equal(resolve_path(&lost, &absolute, &found, &err), 0);
    assert_true(found.exists);
    fd_close(&found.fd);
}

static void home_comes_from_the_variable_or_passwd(void **state)
{
    static const char *const bad[] = {"", "relative/home", "."};
    const struct passwd *row = getpwuid(geteuid());

    setenv("HOME", "/some/where", 1);
    assert_string_equal(resolve_home(&arena), "/some/where");
    for (size_t i = 0; i <= ARRAY_LEN(bad); i++) {
        if (i < ARRAY_LEN(bad))
            setenv("HOME", bad[i], 1);
        else
            unsetenv("HOME");
        const char *home = resolve_home(&arena);
        if (row && row->pw_dir[0] == '/')
            assert_string_equal(home, row->pw_dir);
        else
            assert_null(home);
    }
}

static void a_deleted_directory_is_refused(void **state)
{
    struct resolver here;
    struct resolved found;
    struct hutch_error err;
    struct policy_item dot = item(".", FLAG);
    struct policy_item name = item("x", FLAG);

    scratch_add("gone/");
    assert_int_equal(chdir(at("@/gone")), 0);
    assert_int_equal(rmdir(at("@/gone")), 0);
    int before = open_fds();
    if (resolver_init(&here, &arena, &err) == 0) {
        assert_int_equal(resolve_path(&here, &dot, &found, &err), HUTCH_ESYSTEM);
        assert_int_equal(err.sys_errno, ENOENT);
        assert_int_equal(resolve_path(&here, &name, &found, &err), 0);
        assert_false(found.exists);
    } else {
        assert_int_equal(err.sys_errno, ENOENT);
    }
    resolver_clear(&here);
    assert_int_equal(open_fds(), before);
}

static int look_at_closed(void)
{
    struct policy_item it = {.text = at("@/closed/secret"), .origin = "--x", .from_flag = true};
    struct hutch_error err = {0};
    struct resolved found = {.fd = -1};
    const char *place = NULL;

    if (resolve_path(&resolver, &it, &found, &err) < 0)
        return 1;
    if (found.exists || !found.denied)
        return 2;
    if (resolve_existing(&resolver, &it, &found, &err) != HUTCH_ESYSTEM || err.sys_errno != EACCES)
        return 3;
    if (resolve_missing(&resolver, &it, &place, &err) < 0)
        return 4;
    return str_eq(folded(place), "@/closed/secret") ? 0 : 5;
}

static void a_closed_directory_is_denied_not_missing(void **state)
{
    assert_int_equal(chmod(at("@/closed"), 0), 0);
    int r = as_nobody(look_at_closed);
    assert_int_equal(chmod(at("@/closed"), 0755), 0);
    assert_int_equal(r, 0);
}

#define RESOLVE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, resolving_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESOLVE_TEST(existing_paths),
        RESOLVE_TEST(missing_paths),
        RESOLVE_TEST(refused_paths),
        RESOLVE_TEST(nowhere_to_start),
        RESOLVE_TEST(home_comes_from_the_variable_or_passwd),
        RESOLVE_TEST(a_deleted_directory_is_refused),
        RESOLVE_TEST(a_closed_directory_is_denied_not_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
