/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../scratch.h"

/* Two runtime directories, one of them with all that can be wrong. */
static int setup(void **state)
{
    static const char *const tree[] = {
        "run/",
        "run/systemd/",
        "busonly/",
        "empty/",
        "odd/",
        "odd/bus",
        "odd/systemd/",
        "linked/",
        "linked/systemd/",
        "loose/",
        "loose/systemd/",
        "way -> run",
        "linked/bus -> @/busonly/bus",
        "linked/systemd/private -> @/run/systemd/private",
        NULL,
    };
    static const char *const sockets[] = {
        "@/run/systemd/private",   "@/run/bus",   "@/busonly/bus",
        "@/loose/systemd/private", "@/loose/bus",
    };

    scratch_make(tree);
    for (size_t i = 0; i < ARRAY_LEN(sockets); i++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        fd_auto int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", at(sockets[i]));
        if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
            return -1;
    }
    if (chmod(at("@/loose"), 0770) < 0 || chmod(at("@/loose/systemd"), 0707) < 0)
        return -1;
    return 0;
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, at(value), 1);
    else
        unsetenv(name);
}

static bool is_at(int fd, const char *path)
{
    struct stat one;
    struct stat other;

    return fstat(fd, &one) == 0 && stat(at(path), &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static void sockets_are_found(void **state)
{
    static const struct {
        const char *runtime;
        const char *address;
        const char *want; /* NULL: none */
        bool bus;
    } cases[] = {
        {"@/run", NULL, "@/run/systemd/private", false},
        {"@/run", "unix:path=@/busonly/bus", "@/run/systemd/private", false},
        {"@/run/", NULL, "@/run/systemd/private", false},
        {"@/way", NULL, "@/run/systemd/private",
         false}, /* a link on the way is its owner's doing */
        {"@/busonly", NULL, "@/busonly/bus", true},
        {"@/empty", NULL, NULL, false},
        {"@/empty", "unix:path=@/busonly/bus", "@/busonly/bus", true},
        {NULL, "unix:path=@/busonly/bus", "@/busonly/bus", true},
        {NULL, "unix:path=@/busonly/bus,guid=12", "@/busonly/bus", true},
        {NULL, "unix:path=@/busonly/bus;tcp:host=a", "@/busonly/bus", true},
        {"@/busonly", "unix:abstract=/tmp/x", "@/busonly/bus", true},
        {"@/busonly", "unix:path=@/empty/bus", "@/busonly/bus", true},
        {NULL, NULL, NULL, false},
        {"", "", NULL, false},
        {"run", "unix:path=bus", NULL, false},
        {NULL, "unix:path=", NULL, false},
        {NULL, "unix:path=/bus", NULL, false},
        {NULL, "unix:path=@/busonly", NULL, false},
        {NULL, "unix:path=@/busonly/", NULL, false},
        {NULL, "unix:path=@/busonly/%62us", NULL, false},
        {NULL, "tcp:host=a;unix:path=@/busonly/bus", NULL, false},
        /* Files, directories, links, and where others could put something. */
        {"@/odd", NULL, NULL, false},
        {"@/linked", NULL, NULL, false},
        {"@/loose", NULL, NULL, false},
        {NULL, "unix:path=@/loose/bus", NULL, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool bus = false;
        int before = open_fds();

        set("XDG_RUNTIME_DIR", cases[i].runtime);
        set("DBUS_SESSION_BUS_ADDRESS", cases[i].address);
        int fd = plan_find_manager(&bus);
        if (!cases[i].want && fd != -ENOENT)
            fail_msg("case %zu: something was found", i);
        if (cases[i].want && (fd < 0 || !is_at(fd, cases[i].want) || bus != cases[i].bus))
            fail_msg("case %zu: not found, or not that", i);
        fd_close(&fd);
        assert_int_equal(open_fds(), before);
    }
}

static void long_names_are_nothing(void **state)
{
    static char text[3 * PATH_MAX];
    bool bus = false;

    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "unix:path=/", 11);
    setenv("DBUS_SESSION_BUS_ADDRESS", text, 1);
    setenv("XDG_RUNTIME_DIR", text + 10, 1);
    assert_int_equal(plan_find_manager(&bus), -ENOENT);
}

static int find_of_others(void)
{
    bool bus = false;

    return plan_find_manager(&bus) == -ENOENT ? 0 : 1;
}

/* As after sudo or su, which leave the variables. */
static void what_is_another_users_is_not_used(void **state)
{
    if (geteuid() != 0)
        SKIP("only root can be two users");
    set("XDG_RUNTIME_DIR", "@/run");
    set("DBUS_SESSION_BUS_ADDRESS", "unix:path=@/busonly/bus");
    assert_int_equal(as_nobody(find_of_others), 0);
    /* The socket is ours, and the directory is not; then the other way round. */
    assert_int_equal(chown(at("@/run/systemd"), 23456, 23456), 0);
    set("DBUS_SESSION_BUS_ADDRESS", NULL);
    set("XDG_RUNTIME_DIR", "@/run");
    bool bus = false;
    fd_auto int fd = plan_find_manager(&bus);
    assert_true(fd >= 0 && bus && is_at(fd, "@/run/bus"));
    assert_int_equal(as_nobody(find_of_others), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_are_found),
        cmocka_unit_test(long_names_are_nothing),
        cmocka_unit_test(what_is_another_users_is_not_used),
    };

    return cmocka_run_group_tests(tests, setup, scratch_remove);
}
