/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel would send the memory of commands that crash to a service of the host, nothing is run. What the
 * kernel does is left alone: hutch sees another file in the place of its setting, and each time once one that is
 * harmless.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "drive.h"
#include "place.h"

#define PATTERN "/proc/sys/kernel/core_pattern"
#define SYSCTL "sysctl kernel.core_pattern=core"

/* Not to be left in the workspace. */
#define RUN LIST("run", "--", "./payload", "create", "made")

/* ---- Places ---- */

/*
 * Put a file system of this `type`, or NULL and a file, over `where`. The kernel gives a sandbox its /proc only where
 * a whole one can be seen, so there is another.
 */
static void put_over(const char *where, const char *source, const char *type)
{
    place_mount_namespace();
    if (mount("/proc", box_text("%s/whole", box.dir), NULL, MS_BIND | MS_REC, NULL) < 0 ||
        mount(source, where, type, type ? 0 : MS_BIND, NULL) < 0)
        _exit(NO_PLACE);
}

/* The setting is the text of this file. */
static void set_pattern(void *arg)
{
    put_over(PATTERN, arg, NULL);
}

static void hide_all_settings(void *arg)
{
    (void)arg;
    put_over("/proc/sys", "none", "tmpfs");
}

static char *pattern(const char *text)
{
    static int count;
    char *name = box_text("out/pattern%d", count++);

    box_file(name, text);
    return box_text("%s/%s", box.dir, name);
}

static struct drive_end in_place(const char *const *args, void (*before)(void *arg), void *arg)
{
    struct drive_child child = drive_start(args, before, arg);
    struct drive_end end = drive_finish(&child, NULL, 0);

    if (end.status == NO_PLACE)
        box_skip("nothing can be mounted over files of /proc");
    return end;
}

static void prepare(void)
{
    box_dir("whole");
}

/* ---- What is done there ---- */

static void nothing_is_run(void)
{
    static const char *const sockets[] = {"@/run/dumps.sock\n", "@@/run/dumps.sock\n", "@\n"};

    prepare();
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++) {
        struct drive_end end = in_place(RUN, set_pattern, pattern(sockets[i]));
        CHECK_INT(125, end.status);
        CHECK_TEXT("", end.out);
        CHECK_HAS(end.err, "kernel.core_pattern begins with '@'");
        CHECK_HAS(end.err, "sent to the service that listens there");
        CHECK_HAS(end.err, SYSCTL);
    }
}

static void other_settings_are_harmless(void)
{
    static const char *const others[] = {"core\n", "\n", "|/usr/lib/handler @\n", "/var/@/core\n"};

    prepare();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct drive_end end = in_place(LIST("run", "--", "./payload", "exit", "7"), set_pattern,
                                        pattern(others[i]));
        CHECK_TEXT("", end.err);
        CHECK_INT(7, end.status);
    }
}

static int open_there(char *text)
{
    struct hutch_policy *policy = drive_policy(NULL);
    struct hutch_sandbox *sandbox;
    struct hutch_error err;

    set_pattern(text);
    int r = hutch_sandbox_open(policy, NULL, NULL, &sandbox, &err);
    hutch_policy_free(policy);
    if (r == 0)
        hutch_sandbox_close(sandbox);
    else if (strcmp(err.where, "nodump") != 0 || !strstr(err.msg, SYSCTL))
        return 1;
    return -r;
}

static int open_in_child(const char *text)
{
    char *file = pattern(text);

    fflush(stdout);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        _exit(open_there(file));
    int status = drive_wait(pid, NULL);
    if (status == NO_PLACE)
        box_skip("nothing can be mounted over files of /proc");
    return -status;
}

static void a_sandbox_that_lasts_is_not_opened(void)
{
    prepare();
    CHECK_INT(HUTCH_EUNSUPPORTED, open_in_child("@/run/dumps.sock\n"));
    CHECK_INT(0, open_in_child("core\n"));
}

static void check_fact(const char *text, bool there)
{
    json_t *report = json_loads(text, 0, NULL);
    json_t *row = json_object_get(json_object_get(report, "facts"), "nodump");
    const char *state = json_string_value(json_object_get(row, "state"));
    const char *help = json_string_value(json_object_get(row, "help"));

    REQUIRE(state);
    CHECK_TEXT(there ? "ok" : "missing", state);
    CHECK_INT(there, json_is_true(json_object_get(row, "value")));
    CHECK_TEXT(there ? "" : SYSCTL, help ? help : "");
    json_decref(report);
}

static void the_doctor_says_so(void)
{
    prepare();
    char *socket = pattern("@/run/dumps.sock\n");
    struct drive_end end = in_place(LIST("doctor"), set_pattern, socket);

    CHECK_INT(1, end.status);
    CHECK_HAS(end.out, "No sandbox can be run here.");
    CHECK_HAS(end.out, "missing nodump     no         kernel.core_pattern begins with '@'");
    CHECK_HAS(end.out, "help: " SYSCTL);
    end = in_place(LIST("doctor", "--json"), set_pattern, socket);
    CHECK_INT(1, end.status);
    check_fact(end.out, false);
    end = in_place(LIST("doctor", "--json"), set_pattern, pattern("core\n"));
    CHECK_INT(0, end.status);
    check_fact(end.out, true);
}

/* ---- Where hutch is not shown the setting ---- */

static bool has_sockets(void)
{
    struct utsname kernel;
    char *end;

    REQUIRE(uname(&kernel) == 0);
    unsigned long major = strtoul(kernel.release, &end, 10);
    unsigned long minor = strtoul(end + 1, NULL, 10);
    return major > 6 || (major == 6 && minor >= 16);
}

static void check_hidden(void (*before)(void *arg), void *arg)
{
    struct drive_end end = in_place(LIST("run", "--", "./payload", "exit", "7"), before, arg);

    CHECK_INT(has_sockets() ? 125 : 7, end.status);
    if (has_sockets()) {
        CHECK_HAS(end.err, "cannot tell whether");
        CHECK_HAS(end.err, PATTERN " can be read");
    }
}

static void a_setting_that_is_hidden_may_be_any(void)
{
    char null[] = "/dev/null";

    prepare();
    check_hidden(hide_all_settings, NULL);
    check_hidden(set_pattern, null);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"nothing is run", nothing_is_run},
        {"other settings are harmless", other_settings_are_harmless},
        {"a sandbox that lasts is not opened", a_sandbox_that_lasts_is_not_opened},
        {"the doctor says so", the_doctor_says_so},
        {"a setting that is hidden may be any", a_setting_that_is_hidden_may_be_any},
        {NULL, NULL},
    };

    return box_main(tests);
}
