/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `hutch doctor` says of this host: what a run says, and where something is taken away that it is gone,
 * why, and what would help. Each place where something is missing has a control: the same place with it.
 */
#include <errno.h>
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../unit/pidns.h"
#include "place.h"
#include "refuse.h"

/* ---- Asking ---- */

static json_t *report_of(struct drive_end end, int want_status)
{
    json_t *report = json_loads(end.out, 0, NULL);

    CHECK_INT(want_status, end.status);
    CHECK_TEXT("", end.err);
    if (!json_is_object(report))
        box_fatal(__FILE__, __LINE__, "no JSON object: %s", end.out);
    CHECK_INT(want_status == 0, json_is_true(json_object_get(report, "ok")));
    CHECK_INT(want_status == 0, json_is_null(json_object_get(report, "error")));
    return report;
}

#define DOCTOR LIST("doctor", "--json")

/* In a place of its own. */
static json_t *doctor_after(void (*before)(void *arg), void *arg, int want_status)
{
    struct drive_child child = drive_start(DOCTOR, before, arg);

    return report_of(drive_finish(&child, NULL, 0), want_status);
}

static json_t *doctor(void)
{
    return report_of(drive_cli(DOCTOR), 0);
}

static json_t *fact(json_t *report, const char *name)
{
    json_t *row = json_object_get(json_object_get(report, "facts"), name);

    if (!json_is_object(row))
        box_fatal(__FILE__, __LINE__, "no fact '%s'", name);
    return row;
}

static const char *text_of(json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));

    return text ? text : "";
}

static void check_state(json_t *report, const char *name, const char *want)
{
    const char *state = text_of(fact(report, name), "state");

    box_check(strcmp(state, want) == 0, __FILE__, __LINE__, "%s is %s, not %s", name, state, want);
}

/* It is not there, and is said why, and maybe what would help. */
static void check_missing(json_t *report, const char *name, const char *reason, const char *help)
{
    json_t *row = fact(report, name);

    check_state(report, name, "missing");
    CHECK(json_is_false(json_object_get(row, "value")));
    CHECK_HAS(text_of(row, "reason"), reason);
    if (help)
        CHECK_HAS(text_of(row, "help"), help);
}

/* In columns, for people: none is too long for a screen. */
static void check_lines(const char *text)
{
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        box_check(strcspn(line, "\n") <= 80, __FILE__, __LINE__, "too long: %.100s", line);
    CHECK_LACKS(text, "\033");
}

static const char *const namespaces[] = {"userns", "mountns", "pidns",   "netns",
                                         "ipcns",  "utsns",   "cgroupns"};
#define NAMESPACES (sizeof namespaces / sizeof *namespaces)

/* ---- This host ---- */

/* Facts that are about the policy, and the one that is not about a run. */
static bool is_elsewhere(const char *name)
{
    static const char *const names[] = {"backend", "level", "unix", "protect"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void facts_are_those_of_a_run(void)
{
    struct drive_end end = drive_cli(LIST("run", "--json", "--cpus", "1", "--", "true"));
    json_t *result = json_loads(end.out, 0, NULL);
    json_t *enforced = json_object_get(result, "enforced");
    json_t *report = doctor();
    size_t count = 0;
    const char *name;
    json_t *value;

    CHECK_INT(0, end.status);
    json_object_foreach(enforced, name, value)
    {
        if (is_elsewhere(name))
            continue;
        count++;
        json_t *said = json_object_get(fact(report, name), "value");
        /* One processor of one is all that the host has, half of it is not. */
        if (strcmp(name, "cpus") != 0)
            box_check(json_equal(value, said), __FILE__, __LINE__, "%s is not the same", name);
    }
    CHECK(count > 15);
    CHECK_INT((long long)count + 1, (long long)json_object_size(json_object_get(report, "facts")));
    for (size_t i = 0; i < NAMESPACES; i++)
        check_state(report, namespaces[i], "ok");
    check_state(report, "seccomp", "ok");
    check_state(report, "workspace", "ok");
    CHECK(*text_of(report, "kernel") && *text_of(report, "machine") && *text_of(report, "version"));
    json_decref(report);
    json_decref(result);
}

/* Who requires what is there gets it, and who requires what is missing is refused. */
static void what_is_missing_cannot_be_required(void)
{
    static const char *const words[] = {"userns", "netns", "seccomp", "landlock", "cgroup"};
    json_t *report = doctor();

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *state = text_of(fact(report, words[i]), "state");
        int want = strcmp(state, "missing") == 0 ? 125 : 0;
        if (strcmp(state, "weaker") == 0)
            continue;
        struct drive_end end = drive_cli(LIST("run", "--require", words[i], "--", "true"));
        box_check(end.status == want, __FILE__, __LINE__, "%s, %s: %s", words[i], state, end.err);
    }
    json_decref(report);
}

static void lines_are_for_people(void)
{
    struct drive_end end = drive_cli(LIST("doctor"));

    CHECK_INT(0, end.status);
    CHECK_TEXT("", end.err);
    check_lines(end.out);
    CHECK_LINE(end.out, "ok      userns     yes");
    CHECK_LINE(end.out, "ok      timeout    supervisor");
    CHECK_HAS(end.out, "Sandboxes run here");
    end = drive_cli(LIST("doctor", "--yaml"));
    CHECK_INT(2, end.status);
    CHECK_TEXT("", end.out);
    CHECK_HAS(end.err, "usage: hutch doctor [--json]");
    CHECK_INT(2, drive_cli(LIST("doctor", "--json", "more")).status);
    CHECK_HAS(drive_cli(LIST("doctor", "--help")).out, "hutch doctor [--json]");
}

/* Everything that it may not leave is looked for by the frame: processes, mounts, files, descriptors. */
static void the_library_says_the_same(void)
{
    struct hutch_host *host = NULL;
    struct hutch_error err;
    char *text = NULL;

    REQUIRE(hutch_doctor(&host, &err) == 0);
    CHECK(host->ok && host->error.code == 0 && host->size == sizeof *host);
    REQUIRE(hutch_host_to_json(host, &text, &err) == 0);
    json_t *here = json_loads(text, 0, NULL);
    json_t *there = doctor();
    CHECK(json_equal(here, there));
    json_decref(here);
    json_decref(there);
    free(text);
    hutch_host_free(host);
    hutch_host_free(NULL);
    CHECK_INT(HUTCH_EINVALID, hutch_doctor(NULL, &err));
    CHECK_TEXT("ret", err.where);
}

/* ---- Places where something is missing ---- */

static void user_namespaces_that_are_refused(void)
{
    static const struct refusals refusals = {
        {{K_SYS_clone3, 0, ENOSYS}, {SYS_clone, CLONE_NEWUSER, EPERM}}};
    static const struct refusals control = {{{K_SYS_clone3, 0, ENOSYS}}};
    json_t *report = report_of(refusing_cli(&refusals, DOCTOR), 1);

    check_missing(report, "userns", "refuses user namespaces", NULL);
    CHECK_TEXT("clone", text_of(json_object_get(report, "error"), "where"));
    for (size_t i = 1; i < NAMESPACES; i++) {
        check_state(report, namespaces[i], "unknown");
        CHECK(json_is_null(json_object_get(fact(report, namespaces[i]), "value")));
    }
    check_state(report, "seccomp", "unknown");
    check_state(report, "workspace", "unknown");
    check_state(report, "timeout", "ok");
    json_decref(report);
    struct drive_end end = refusing_cli(&refusals, LIST("doctor"));
    CHECK_INT(1, end.status);
    CHECK_HAS(end.out, "No sandbox can be run here");
    CHECK_HAS(end.out, "missing userns     no");
    CHECK_LINE(end.out, "unknown pidns      ?");
    check_lines(end.out);
    json_decref(report_of(refusing_cli(&control, DOCTOR), 0));
}

/* How many user namespaces one may have in it is its own root's to set. */
static void allow_namespaces(void *arg)
{
    place_user_namespace(0, 0);
    if (!pidns_write("/proc/sys/user/max_user_namespaces", arg))
        _exit(NO_PLACE);
}

static void user_namespaces_that_are_used_up(void)
{
    char none[] = "0", some[] = "100";
    struct drive_child child = drive_start(DOCTOR, allow_namespaces, some);
    struct drive_end end = drive_finish(&child, NULL, 0);

    if (end.status == NO_PLACE)
        box_skip("no user namespace in which that could be set");
    json_decref(report_of(end, 0));
    json_t *report = doctor_after(allow_namespaces, none, 1);
    check_missing(report, "userns", "the limit on them is reached", "user.max_user_namespaces");
    json_decref(report);
}

/* That something is used up for now says nothing about the host. */
static void have_few_descriptors(void *arg)
{
    const struct rlimit few = {.rlim_cur = 8, .rlim_max = 8};

    (void)arg;
    if (setrlimit(RLIMIT_NOFILE, &few) < 0)
        _exit(NO_PLACE);
}

static void shortages_are_not_the_hosts(void)
{
    json_t *report = doctor_after(have_few_descriptors, NULL, 1);

    CHECK_HAS(text_of(json_object_get(report, "error"), "message"), "too many open files");
    for (size_t i = 0; i < NAMESPACES; i++)
        check_state(report, namespaces[i], "unknown");
    json_decref(report);
    struct drive_child child = drive_start(LIST("doctor"), have_few_descriptors, NULL);
    struct drive_end end = drive_finish(&child, NULL, 0);
    CHECK_HAS(end.out, "No sandbox can be run here: ");
    check_lines(end.out);
}

static void landlock_that_is_not_there(void)
{
    static const struct {
        int error;
        const char *reason, *help;
    } cases[] = {
        {ENOSYS, "no Landlock", "5.13"},
        {EOPNOTSUPP, "switched off", "lsm="},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct refusals refusals = {{{K_SYS_landlock_create_ruleset, 0, cases[i].error}}};
        json_t *report = report_of(refusing_cli(&refusals, DOCTOR), 0);
        check_missing(report, "landlock", cases[i].reason, cases[i].help);
        check_state(report, "userns", "ok");
        json_decref(report);
    }
}

/* Where the control groups were there is something else. */
static void hide_groups(void *arg)
{
    (void)arg;
    place_mount_namespace();
    if (mount("none", "/sys/fs/cgroup", "tmpfs", 0, NULL) < 0)
        _exit(NO_PLACE);
}

static void control_groups_that_are_not_there(void)
{
    struct drive_child child = drive_start(DOCTOR, hide_groups, NULL);
    struct drive_end end = drive_finish(&child, NULL, 0);

    if (end.status == NO_PLACE)
        box_skip("nothing can be mounted over /sys/fs/cgroup");
    json_t *report = report_of(end, 0);
    check_missing(report, "cgroup", "no control groups at /sys/fs/cgroup", "mount cgroup2");
    check_state(report, "memory", "weaker");
    CHECK_TEXT("sampled", text_of(fact(report, "memory"), "value"));
    CHECK_HAS(text_of(fact(report, "memory"), "help"), "mount cgroup2");
    json_decref(report);
}

/* As in a container. Linux 5.12. */
static void seal_groups(void *arg)
{
    struct {
        unsigned long long set, clear, propagation, userns;
    } attr = {.set = 1 /* MOUNT_ATTR_RDONLY */};
    const unsigned recursive = 0x8000; /* AT_RECURSIVE */

    (void)arg;
    place_mount_namespace();
    if (syscall(K_SYS_mount_setattr, -1, "/sys/fs/cgroup", recursive, &attr, sizeof attr) < 0)
        _exit(NO_PLACE);
}

static void control_groups_that_are_read_only(void)
{
    json_t *control = doctor();
    bool there = strcmp(text_of(fact(control, "cgroup"), "state"), "ok") == 0;

    json_decref(control);
    if (!box.root || !there)
        box_skip("only root, where it has control groups, can have them read-only");
    struct drive_child child = drive_start(DOCTOR, seal_groups, NULL);
    struct drive_end end = drive_finish(&child, NULL, 0);
    if (end.status == NO_PLACE)
        box_skip("mounts cannot be made read-only at once");
    json_t *report = report_of(end, 0);
    check_missing(report, "cgroup", "mounted read-only", "writable");
    check_state(report, "memory", "weaker");
    json_decref(report);
}

/* As in a container that masks parts of it: the kernel gives no new one then. */
static void cover_proc(void *arg)
{
    (void)arg;
    place_mount_namespace();
    if (mount("none", "/proc/fs", "tmpfs", 0, NULL) < 0)
        _exit(NO_PLACE);
}

static void a_proc_that_is_covered(void)
{
    struct drive_child child = drive_start(DOCTOR, cover_proc, NULL);
    struct drive_end end = drive_finish(&child, NULL, 0);

    if (end.status == NO_PLACE)
        box_skip("nothing can be mounted over /proc/fs");
    json_t *report = report_of(end, 1);
    check_missing(report, "mountns", "unmasked /proc", NULL);
    check_state(report, "userns", "unknown");
    json_decref(report);
}

static void go_to(void *arg)
{
    if (chdir(arg) < 0)
        _exit(NO_PLACE);
}

/* The host is well, the directory is not: root's, and one that every sandbox has of its own. */
static void directories_that_cannot_be_a_workspace(void)
{
    static const char *const dirs[] = {"/", "/proc"};
    json_t *control = doctor();

    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        json_t *report = doctor_after(go_to, box_text("%s", dirs[i]), 0);
        check_missing(report, "workspace", "'.", "-w tmpfs");
        check_state(report, "userns", "ok");
        CHECK_TEXT("tmpfs", text_of(fact(report, "disk"), "value"));
        json_decref(report);
    }
    CHECK_TEXT("sampled", text_of(fact(control, "disk"), "value"));
    json_decref(control);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"facts are those of a run", facts_are_those_of_a_run},
        {"what is missing cannot be required", what_is_missing_cannot_be_required},
        {"lines are for people", lines_are_for_people},
        {"the library says the same", the_library_says_the_same},
        {"user namespaces that are refused", user_namespaces_that_are_refused},
        {"user namespaces that are used up", user_namespaces_that_are_used_up},
        {"shortages are not the host's", shortages_are_not_the_hosts},
        {"Landlock that is not there", landlock_that_is_not_there},
        {"control groups that are not there", control_groups_that_are_not_there},
        {"control groups that are read-only", control_groups_that_are_read_only},
        {"a /proc that is covered", a_proc_that_is_covered},
        {"directories that cannot be a workspace", directories_that_cannot_be_a_workspace},
        {NULL, NULL},
    };

    return box_main(tests);
}
