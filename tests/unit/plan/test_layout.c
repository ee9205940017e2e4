/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>

#include "steps.h"

static int setup(void **state)
{
    static const char *const tree[] = {"home/", "ws/", "repo/", "file", "link -> ws", NULL};

    scratch_make(tree);
    setenv("HOME", at("@/home"), 1);
    return chdir(scratch);
}

/* The layout alone, as an ordinary user or as root. */
static int build(const char *const *flags, bool privileged, struct plan **ret,
                 struct hutch_error *err)
{
    struct policy policy;
    struct plan_entries entries = {0};
    struct resolver resolver;
    struct plan *plan = plan_new();

    assert_non_null(plan);
    plan->identity = (struct plan_identity){.uid = 7, .gid = 8, .privileged = privileged};
    plan->hostname = "box";
    policy_init(&policy);
    for (; *flags; flags += 2)
        if (policy_set_flag(&policy, flags[0], at(flags[1]), NULL, err) < 0)
            fail_msg("%s", err->msg);
    assert_int_equal(resolver_init(&resolver, &plan->arena, err), 0);
    int r = plan_pass_locks(&policy, plan, err); /* which layouts ask about network and filter */
    if (r == 0)
        r = plan_pass_layout(&policy, &resolver, plan, &entries, err);
    resolver_clear(&resolver);
    if (r == 0)
        r = plan_pass_mounts(plan, &entries, err);
    else
        for (size_t i = 0; i < entries.count; i++)
            fd_close(&entries.items[i].mount.source_fd);
    policy_clear(&policy);
    *ret = plan;
    return r;
}

/* In a /dev that is a tmpfs of its own, and in one that is part of the root. */
#define DEVICES(PLACE)                                                                             \
    "link /dev/fd device\n"                                                                        \
    "file /dev/full " PLACE "\nbind+ /dev/full device\n"                                           \
    "file /dev/null " PLACE "\nbind+ /dev/null device\n"                                           \
    "link /dev/ptmx device\n"                                                                      \
    "directory /dev/pts " PLACE "\ndevpts+ /dev/pts device\n"                                      \
    "file /dev/random " PLACE "\nbind+ /dev/random device\n"                                       \
    "directory /dev/shm " PLACE "\ntmpfs+ /dev/shm device\n"                                       \
    "link /dev/stderr device\nlink /dev/stdin device\nlink /dev/stdout device\n"                   \
    "file /dev/tty " PLACE "\nbind+ /dev/tty device\n"                                             \
    "file /dev/urandom " PLACE "\nbind+ /dev/urandom device\n"                                     \
    "file /dev/zero " PLACE "\nbind+ /dev/zero device\n"
#define DEVICES_MOUNTED "tmpfs /dev device\n" DEVICES("device")
#define DEVICES_IN_ROOT "directory /dev device\n" DEVICES("layout")

#define ETC_OWN                                                                                    \
    "file /etc/group layout\nfile /etc/hosts layout\n"                                             \
    "file /etc/nsswitch.conf layout\nfile /etc/passwd layout\n"

/*
 * The steps with what differs between hosts left out: the system's own directories and files, masks
 * and /run. Those have tests of their own.
 */
static const char *common_steps(const struct plan *plan)
{
    static const char *const differ[] = {" /bin ",   " /sbin ", " /lib",    " /usr ",  " /etc/al",
                                         " /etc/ja", " /etc/l", " /etc/os", " masked", " /run "};
    static char out[SCRATCH_TEXT];
    char all[SCRATCH_TEXT];
    size_t len = 0;

    snprintf(all, sizeof(all), "%s", steps(plan, "/", true));
    out[0] = '\0';
    for (char *rest = all, *line; (line = strsep(&rest, "\n")) && *line;) {
        bool left_out = false;
        for (size_t i = 0; i < ARRAY_LEN(differ); i++)
            left_out = left_out || strstr(line, differ[i]);
        if (!left_out)
            len += (size_t)snprintf(out + len, sizeof(out) - len, "%s\n", line);
    }
    return out;
}

static void layouts_have_these_steps(void **state)
{
    static const struct {
        const char *flags[8];
        const char *workspace;
        const char *want;
    } cases[] = {
        {{"--layout", "host", "-w", "@/ws"},
         "@/ws",
         "bind / layout\n" DEVICES_MOUNTED "proc /proc layout\n"
         "tmpfs+ /tmp layout\n"
         "directory @ layout\ndirectory @/ws layout\nbind+ @/ws workspace\n"
         "seal /dev device\n"},
        {{"--layout", "host", "-w", "tmpfs", "--repo", "@/repo"},
         "/tmp/workspace",
         "bind / layout\n" DEVICES_MOUNTED "proc /proc layout\n"
         "tmpfs+ /tmp layout\n"
         "directory @ layout\ndirectory @/repo layout\nbind @/repo repo\n"
         "directory /tmp/workspace layout\ntmpfs+ /tmp/workspace workspace\n"
         "seal /dev device\n"},
        {{"--layout", "minimal", "-w", "@/ws", "--repo", "@/repo"},
         "/workspace",
         "tmpfs / layout\n" DEVICES_IN_ROOT "directory /etc layout\n" ETC_OWN
         "directory /proc layout\nproc /proc layout\n"
         "directory /repo layout\nbind /repo repo\n"
         "directory /tmp layout\ntmpfs+ /tmp layout\n"
         "directory /var layout\nlink /var/tmp layout\n"
         "directory /workspace layout\nbind+ /workspace workspace\n"
         "seal / layout\n"},
        {{"--layout", "minimal", "-w", "tmpfs"},
         "/workspace",
         "tmpfs / layout\n" DEVICES_IN_ROOT "directory /etc layout\n" ETC_OWN
         "directory /proc layout\nproc /proc layout\n"
         "directory /tmp layout\ntmpfs+ /tmp layout\n"
         "directory /var layout\nlink /var/tmp layout\n"
         "directory /workspace layout\ntmpfs+ /workspace workspace\n"
         "seal / layout\n"},
        {{"--layout", "root", "-w", "@/ws"},
         "/",
         "bind+ / workspace\n"
         "directory /.cache layout\ntmpfs+ /.cache layout\n"
         "directory /dev layout\n" DEVICES_MOUNTED
         "directory /etc layout\ntmpfs /etc layout\n" ETC_OWN
         "directory /proc layout\nproc /proc layout\n"
         "directory /tmp layout\ntmpfs+ /tmp layout\n"
         "seal /dev device\nseal /etc layout\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        struct plan *plan = NULL;
        int before = open_fds();

        if (build(cases[i].flags, false, &plan, &err) < 0)
            fail_msg("row %zu: %s", i, err.msg);
        assert_string_equal(folded(plan->workspace), cases[i].workspace);
        if (!str_eq(common_steps(plan), cases[i].want))
            fail_msg("row %zu: wanted\n%sgot\n%s", i, cases[i].want, common_steps(plan));
        plan_free(plan);
        assert_int_equal(open_fds(), before);
    }
}

static const struct plan_mount *step_at(const struct plan *plan, enum mount_kind kind,
                                        const char *target)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].kind == kind && str_eq(plan->mounts[i].target, target))
            return &plan->mounts[i];
    return NULL;
}

/* What is covered of /proc where all of it is there, and of /sys where there is one. */
static void what_tells_about_the_host_is_masked(void **state)
{
    static const char *const proc[] = {"/proc/acpi",        "/proc/asound", "/proc/config.gz",
                                       "/proc/interrupts",  "/proc/keys",   "/proc/latency_stats",
                                       "/proc/sched_debug", "/proc/scsi"};
    static const char *const sys[] = {"/sys/devices/virtual/powercap", "/sys/firmware",
                                      "/sys/kernel/security"};
    static const struct {
        const char *layout, *syscalls;
        bool proc, sys;
    } cases[] = {
        {"host", "default", true, true},     {"minimal", "default", true, false},
        {"root", "default", true, false},    {"host", "strict", false, true},
        {"minimal", "strict", false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const flags[] = {"--layout",   cases[i].layout,   "-w", "@/ws",
                                     "--syscalls", cases[i].syscalls, NULL};
        struct hutch_error err = {0};
        plan_auto struct plan *plan = NULL;
        size_t wanted = 0;
        size_t masks = 0;

        assert_int_equal(build(flags, false, &plan, &err), 0);
        for (size_t k = 0; k < ARRAY_LEN(proc) + ARRAY_LEN(sys); k++) {
            bool in_proc = k < ARRAY_LEN(proc);
            const char *path = in_proc ? proc[k] : sys[k - ARRAY_LEN(proc)];
            const struct plan_mount *mask = step_at(plan, MOUNT_MASK, path);
            struct stat st;
            bool there = lstat(path, &st) == 0 && (st.st_mode & S_IRWXO);

            if (!there || !(in_proc ? cases[i].proc : cases[i].sys)) {
                if (mask)
                    fail_msg("row %zu: %s is masked", i, path);
                continue;
            }
            if (!mask || mask->why != WHY_MASK || mask->writable ||
                mask->directory != S_ISDIR(st.st_mode))
                fail_msg("row %zu: %s is not masked as it should be", i, path);
            wanted++;
        }
        for (size_t k = 0; k < plan->mount_count; k++)
            masks += plan->mounts[k].why == WHY_MASK;
        assert_int_equal(masks, wanted);

        /* Its own, never writable, and with the strict filter nothing but processes in it. */
        const struct plan_mount *own = step_at(plan, MOUNT_PROC, "/proc");
        assert_non_null(own);
        assert_false(own->writable);
        if (cases[i].proc)
            assert_null(own->source);
        else
            assert_string_equal(own->source, "pid");
    }
}

/* On this host, whatever it has there. */
static void run_is_empty(void **state)
{
    static const char *const nets[] = {"none", "host"};
    char resolver[PATH_MAX];
    struct stat st;
    bool there = lstat("/run", &st) == 0 && S_ISDIR(st.st_mode);
    bool linked = lstat("/run/current-system", &st) == 0 && S_ISLNK(st.st_mode);
    bool resolved = realpath("/etc/resolv.conf", resolver) && str_starts(resolver, "/run/");

    for (size_t i = 0; i < ARRAY_LEN(nets); i++) {
        const char *const flags[] = {"-w", "@/ws", "--net", nets[i], NULL};
        struct hutch_error err = {0};
        plan_auto struct plan *plan = NULL;

        assert_int_equal(build(flags, false, &plan, &err), 0);
        bool kept = linked || (resolved && i == 1);
        const struct plan_mount *empty = step_at(plan, MOUNT_EMPTY, "/run");
        assert_int_equal(!empty, !there || kept);
        assert_int_equal(!step_at(plan, MOUNT_TMPFS, "/run"), !there || !kept);
        assert_int_equal(!step_at(plan, MOUNT_SEAL, "/run"), !there || !kept);
        if (empty)
            assert_true(empty->directory && !empty->writable && empty->why == WHY_LAYOUT);
    }
    for (size_t i = 0; i < 2; i++) {
        const char *const flags[] = {"-w", "@/ws", "--layout", i ? "root" : "minimal", NULL};
        struct hutch_error err = {0};
        plan_auto struct plan *plan = NULL;

        assert_int_equal(build(flags, false, &plan, &err), 0);
        assert_string_equal(steps(plan, "/run", true), "");
    }
}

static int write_text(const char *path, const char *text)
{
    fd_auto int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* A mount namespace with an empty /run and /etc; the id stays what it is. */
static int enter_other_host(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
        return -1;
    if (uid != 0) {
        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        if (write_text("/proc/self/uid_map", map) < 0 ||
            write_text("/proc/self/setgroups", "deny") < 0)
            return -1;
        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        if (write_text("/proc/self/gid_map", map) < 0)
            return -1;
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                   mount("run", "/run", "tmpfs", 0, NULL) < 0 ||
                   mount("etc", "/etc", "tmpfs", 0, NULL) < 0
               ? -1
               : 0;
}

/* Says so when they are others; nothing may be asserted in a child. */
static int steps_of_run(const char *net, const char *want)
{
    const char *const flags[] = {"-w", "@/ws", "--net", net, NULL};
    struct hutch_error err = {0};
    plan_auto struct plan *plan = NULL;

    if (build(flags, false, &plan, &err) < 0)
        return 1;
    if (!str_eq(steps(plan, "/run", true), want)) {
        print_message("# net %s: wanted\n%sgot\n%s", net, want, steps(plan, "/run", true));
        return 2;
    }
    return 0;
}

static int look_at_other_hosts(void)
{
    static const char resolver[] = "tmpfs /run layout\n"
                                   "directory /run/dns layout\n"
                                   "file /run/dns/resolv.conf layout\n"
                                   "bind /run/dns/resolv.conf layout\n"
                                   "seal /run layout\n";
    static const char system[] = "tmpfs /run layout\n"
                                 "link /run/current-system layout\n"
                                 "seal /run layout\n";
    static const char both[] = "tmpfs /run layout\n"
                               "link /run/current-system layout\n"
                               "directory /run/dns layout\n"
                               "file /run/dns/resolv.conf layout\n"
                               "bind /run/dns/resolv.conf layout\n"
                               "seal /run layout\n";

    if (enter_other_host() < 0)
        return 77;
    if (mkdir("/run/dns", 0755) < 0 || write_text("/run/dns/resolv.conf", "x\n") < 0 ||
        symlink("/run/none", "/etc/resolv.conf") < 0)
        return 10;
    /* Nothing is kept for a link that leads nowhere, nor for a network that is not there. */
    if (steps_of_run("host", "empty /run layout\n") || steps_of_run("none", "empty /run layout\n"))
        return 11;
    if (unlink("/etc/resolv.conf") < 0 || symlink("../run/dns/resolv.conf", "/etc/resolv.conf") < 0)
        return 12;
    if (steps_of_run("host", resolver) || steps_of_run("none", "empty /run layout\n"))
        return 13;
    if (symlink("/nix/store/x", "/run/current-system") < 0)
        return 14;
    if (steps_of_run("host", both) || steps_of_run("none", system))
        return 15;
    /* A directory of that name is not the system. */
    if (unlink("/run/current-system") < 0 || mkdir("/run/current-system", 0755) < 0)
        return 16;
    if (steps_of_run("none", "empty /run layout\n"))
        return 17;
    return 0;
}

static void run_has_what_programs_miss(void **state)
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(look_at_other_hosts());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        SKIP("this host gives no mount namespaces");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_system_is_there_as_on_the_host(void **state)
{
    static const char *const dirs[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                       "/lib32", "/lib64", "/libx32"};
    static const char *const layouts[] = {"minimal", "root"};

    for (size_t k = 0; k < ARRAY_LEN(layouts); k++) {
        const char *const flags[] = {"--layout", layouts[k], "-w", "@/ws", NULL};
        struct hutch_error err = {0};
        plan_auto struct plan *plan = NULL;

        assert_int_equal(build(flags, false, &plan, &err), 0);
        for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
            struct stat st;
            const struct plan_mount *link = step_at(plan, MOUNT_LINK, dirs[i]);
            const struct plan_mount *bound = step_at(plan, MOUNT_BIND, dirs[i]);

            if (lstat(dirs[i], &st) < 0) {
                assert_true(!link && !bound);
            } else if (S_ISLNK(st.st_mode) && k == 0) {
                assert_true(link && !bound);
            } else {
                assert_true(bound && !link);
                assert_false(bound->writable);
                assert_true(bound->directory);
            }
        }
    }
}

static void etc_tells_nothing_about_the_host(void **state)
{
    static const struct {
        const char *layout, *target, *content;
    } cases[] = {
        {"minimal", "/etc/passwd",
         "user:x:7:8::/workspace:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n"},
        {"root", "/etc/passwd",
         "user:x:7:8::/:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n"},
        {"minimal", "/etc/group", "user:x:8:\nnogroup:x:65534:\n"},
        {"minimal", "/etc/hosts", "127.0.0.1 localhost box\n::1 localhost\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const flags[] = {"--layout", cases[i].layout, "-w", "tmpfs", NULL};
        struct hutch_error err = {0};
        plan_auto struct plan *plan = NULL;

        assert_int_equal(build(flags, false, &plan, &err), 0);
        const struct plan_mount *file = step_at(plan, MOUNT_FILE, cases[i].target);
        assert_non_null(file);
        assert_string_equal(file->content, cases[i].content);
        for (size_t k = 0; k < plan->mount_count; k++) {
            assert_string_not_equal(plan->mounts[k].target, "/etc/shadow");
            assert_string_not_equal(plan->mounts[k].target, "/etc/resolv.conf");
        }
    }
}

static void the_resolver_is_there_with_the_hosts_network(void **state)
{
    static const char *const flags[] = {"--layout", "minimal", "-w", "tmpfs",
                                        "--net",    "host",    NULL};
    struct hutch_error err = {0};
    plan_auto struct plan *plan = NULL;

    assert_int_equal(build(flags, false, &plan, &err), 0);
    assert_int_equal(plan->net, NET_HOST);
    assert_int_equal(!step_at(plan, MOUNT_BIND, "/etc/resolv.conf") &&
                         !step_at(plan, MOUNT_LINK, "/etc/resolv.conf"),
                     access("/etc/resolv.conf", F_OK) < 0);
}

static void places_that_are_refused(void **state)
{
    static const struct {
        const char *flags[6];
        const char *where, *text;
    } cases[] = {
        {{NULL}, "/filesystem/workspace", "no workspace"},
        {{"-w", "@/none"}, "-w", "does not exist"},
        {{"-w", "@/file"}, "-w", "not a directory"},
        {{"-w", "/"}, "-w", "root of the host"},
        {{"-w", "@/ws", "--repo", "@/none"}, "--repo", "does not exist"},
        {{"-w", "@/ws", "--repo", "@/file"}, "--repo", "not a directory"},
        {{"-w", "tmpfs", "--repo", "/"}, "--repo", "root of the host"},
    };
    static const char *const layouts[] = {"host", "minimal", "root"};

    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(layouts); i++) {
        const char *flags[8] = {"--layout", layouts[i % 3]};
        struct hutch_error err = {0};
        struct plan *plan = NULL;
        int before = open_fds();

        memcpy(flags + 2, cases[i / 3].flags, sizeof(cases[0].flags));
        assert_int_equal(build(flags, true, &plan, &err), HUTCH_EPOLICY);
        if (!str_eq(err.where, cases[i / 3].where) || !strstr(err.msg, cases[i / 3].text))
            fail_msg("row %zu: at '%s': %s", i / 3, err.where, err.msg);
        plan_free(plan);
        assert_int_equal(open_fds(), before);
    }
}

static int build_unsearchable(void)
{
    static const char *const flags[][5] = {
        {"--workspace", "@/ws", NULL},
        {"--workspace", "tmpfs", "--repo", "@/ws", NULL},
    };
    static const char *const where[] = {"--workspace", "--repo"};

    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        struct hutch_error err = {0};
        struct plan *plan = NULL;
        int r = build(flags[i], false, &plan, &err);
        plan_free(plan);
        if (r != HUTCH_ESYSTEM || err.sys_errno != EACCES || !str_eq(err.where, where[i]) ||
            !strstr(err.msg, at("'@/ws'")))
            return 1 + (int)i;
    }
    return 0;
}

static void a_directory_that_cannot_be_searched_is_named(void **state)
{
    assert_int_equal(chmod(at("@/ws"), 0), 0);
    int r = as_nobody(build_unsearchable);
    assert_int_equal(chmod(at("@/ws"), 0755), 0);
    assert_int_equal(r, 0);
}

static void directories_of_the_caller_are_held_and_known(void **state)
{
    static const char *const flags[] = {"-w", "@/link", "--repo", "@/repo", NULL};
    struct hutch_error err = {0};
    plan_auto struct plan *plan = NULL;
    struct stat st;

    assert_int_equal(build(flags, true, &plan, &err), 0);
    const struct plan_mount *ws = step_at(plan, MOUNT_BIND, at("@/ws"));
    const struct plan_mount *repo = step_at(plan, MOUNT_BIND, at("@/repo"));
    const struct plan_mount *home = step_at(plan, MOUNT_BIND, at("@/home"));
    assert_non_null(ws);
    assert_non_null(repo);
    assert_int_equal(stat(at("@/ws"), &st), 0);
    assert_true(ws->ino == st.st_ino && ws->dev == st.st_dev);
    assert_int_equal(fstat(ws->source_fd, &st), 0);
    assert_true(ws->ino == st.st_ino);
    assert_string_equal(ws->origin, "-w");
    assert_true(ws->idmap && ws->recursive && ws->directory);
    assert_int_equal(ws->owner_uid, st.st_uid);
    assert_true(!repo->idmap && !repo->writable); /* everybody may read it as it is */
    assert_string_equal(folded(plan->home), "@/home");
    /* A home is opened to a root caller's sandbox when it is root's. */
    assert_int_equal(!home, geteuid() != 0);
    if (home)
        assert_true(!home->idmap && !home->writable);
}

static void closed_directories_are_shown_through_an_id_map(void **state)
{
    static const char *const flags[] = {"-w", "@/ws", "--repo", "@/repo", NULL};

    assert_int_equal(chmod(at("@/repo"), 0750), 0);
    assert_int_equal(chmod(at("@/home"), 0700), 0);
    for (int root = 0; root < 2; root++) {
        struct hutch_error err = {0};
        plan_auto struct plan *plan = NULL;
        struct stat st;

        assert_int_equal(build(flags, root, &plan, &err), 0);
        const struct plan_mount *repo = step_at(plan, MOUNT_BIND, at("@/repo"));
        const struct plan_mount *home = step_at(plan, MOUNT_BIND, at("@/home"));
        assert_non_null(repo);
        assert_int_equal(repo->idmap, root);
        assert_false(repo->writable);
        assert_int_equal(stat(at("@/repo"), &st), 0);
        assert_true(repo->owner_uid == st.st_uid && repo->owner_gid == st.st_gid);
        assert_int_equal(!home, !root || geteuid() != 0);
        if (home)
            assert_true(home->idmap && !home->writable && home->why == WHY_HOME);
    }
}

#define LAYOUT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAYOUT_TEST(layouts_have_these_steps),
        LAYOUT_TEST(what_tells_about_the_host_is_masked),
        LAYOUT_TEST(run_is_empty),
        LAYOUT_TEST(run_has_what_programs_miss),
        LAYOUT_TEST(the_system_is_there_as_on_the_host),
        LAYOUT_TEST(etc_tells_nothing_about_the_host),
        LAYOUT_TEST(the_resolver_is_there_with_the_hosts_network),
        LAYOUT_TEST(places_that_are_refused),
        LAYOUT_TEST(a_directory_that_cannot_be_searched_is_named),
        LAYOUT_TEST(directories_of_the_caller_are_held_and_known),
        LAYOUT_TEST(closed_directories_are_shown_through_an_id_map),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
