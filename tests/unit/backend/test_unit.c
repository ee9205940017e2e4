/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Against a manager of our own at a real socket. As root it moves processes into real groups: the
 * program lives in a mount namespace in which /sys/fs/cgroup is a v2 hierarchy, whatever the host has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/native/unit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/num.h"
#include "fake_manager.h"

/* ---- The other side ---- */

struct outcome {
    int r;
    struct hutch_error err;
    char asked[TEXT_MAX];
    pid_t init;
    struct plan plan; /* which must outlive the group; without the socket */
    struct native_cgroup cgroup;
};

static int setup(void **state)
{
    static const char *const tree[] = {NULL};

    scratch_make(tree);
    return 0;
}

static pid_t start_manager(const struct manager *manager, int *ret_file)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", at("@/private"));
    unlink(address.sun_path);
    assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(sock, 1), 0);
    *ret_file = open(address.sun_path, O_PATH | O_CLOEXEC);
    assert_true(*ret_file >= 0);
    pid_t pid = fork();
    if (pid == 0) {
        serve(sock, manager);
        _exit(0);
    }
    close(sock);
    return pid;
}

static pid_t start_init(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        for (;;) /* until it is killed; NOLINT(bugprone-infinite-loop) */
            pause();
    }
    return pid;
}

static void read_asked(char *out, size_t size)
{
    fd_auto int fd = open(at("@/asked"), O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, out, size - 1);

    out[len > 0 ? len : 0] = '\0';
}

/* The manager must have come to its end; init is left alone. */
static void start(const struct manager *manager, const struct plan *limits, struct outcome *ret)
{
    struct plan_cgroup *where = &ret->plan.cgroup;
    int status = -1;

    *ret = (struct outcome){.init = start_init(), .plan = *limits};
    memcpy(ret->plan.id, ID, sizeof(ID));
    *where = (struct plan_cgroup){
        .version = 2, .parent = {-1, -1, -1, -1}, .unit = true, .bus = manager->bus};
    unlink(at("@/asked"));
    pid_t pid = start_manager(manager, &where->manager);
    ret->r = native_unit_start(&ret->cgroup, &ret->plan, ret->init, &ret->err);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    read_asked(ret->asked, sizeof(ret->asked));
    fd_close(&where->manager);
}

static void end_init(struct outcome *outcome)
{
    kill(outcome->init, SIGKILL);
    assert_int_equal(waitpid(outcome->init, NULL, 0), outcome->init);
}

/* As systemd does when nobody is left. */
static void remove_scope(void)
{
    char path[PATH_MAX];
    int r = -1;

    snprintf(path, sizeof(path), "%s/%s", group, NAME);
    umount(path);
    for (int i = 0; i < 1000 && (r = rmdir(path)) < 0 && errno == EBUSY; i++)
        usleep(1000);
    assert_int_equal(r, 0);
}

static const struct plan no_limits = {.limits = {.memory_bytes = NUM_NO_LIMIT,
                                                 .processes = NUM_NO_LIMIT,
                                                 .cpus_milli = NUM_NO_LIMIT}};

static const struct plan all_limits = {.limits = {.memory_bytes = 64U << 20,
                                                  .memory_means = MEANS_CGROUP,
                                                  .processes = 7,
                                                  .processes_means = MEANS_CGROUP,
                                                  .cpus_milli = 1500,
                                                  .cpus_means = MEANS_CGROUP}};

/* ---- Tests ---- */

static void what_is_asked_for(void **state)
{
    static const char common[] = NAME " fail\n"
                                      "Description 'hutch sandbox'\n"
                                      "CollectMode 'inactive-or-failed'\n"
                                      "PIDs\n"
                                      "Delegate true\n";
    struct plan most = all_limits;
    struct outcome outcome;
    char want[TEXT_MAX];

    start(&(struct manager){.turn = TURN_REFUSE}, &no_limits, &outcome);
    end_init(&outcome);
    assert_string_equal(outcome.asked, common);
    start(&(struct manager){.turn = TURN_REFUSE}, &all_limits, &outcome);
    end_init(&outcome);
    snprintf(want, sizeof(want), "%s%s", common,
             "MemoryMax 67108864\nMemorySwapMax 0\nTasksMax 8\nCPUQuotaPerSecUSec 1500000\n");
    assert_string_equal(outcome.asked, want);
    /* What others keep is not systemd's to keep; more than the kernel takes is not asked for. */
    most.limits.memory_means = MEANS_SAMPLED;
    most.limits.cpus_means = MEANS_AFFINITY;
    most.limits.processes = UINT64_MAX - 1;
    start(&(struct manager){.turn = TURN_REFUSE}, &most, &outcome);
    end_init(&outcome);
    snprintf(want, sizeof(want), "%s%s", common, "TasksMax 4194304\n");
    assert_string_equal(outcome.asked, want);
}

static void failures_are_told(void **state)
{
    static const struct {
        enum turn turn;
        int sys_errno;
        const char *text;
    } cases[] = {
        {TURN_STAY, ENOENT, "not in the control group '" NAME "'"},
        {TURN_REFUSE, 0, "it is \\x1b[31mthere (org.freedesktop.systemd1.UnitExists)"},
        {TURN_REFUSE_2, 0, "no reason given (org.freedesktop.systemd1.UnitExists)"},
        {TURN_TYPE, EBADMSG, "not D-Bus"},
        {TURN_LONG, EBADMSG, "not D-Bus"},
        {TURN_FAIL, 0, "could not start '" NAME "' (failed)"},
        {TURN_SIGNAL, EBADMSG, "not D-Bus"},
        {TURN_CLOSE, ECONNRESET, "closed the connection"},
        {TURN_GARBAGE, EBADMSG, "not D-Bus"},
        {TURN_REJECT, EACCES, "cannot ask"},
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        const struct manager manager = {.turn = cases[i / 2].turn, .bus = i % 2};
        struct outcome outcome;
        int before = open_fds();

        start(&manager, &no_limits, &outcome);
        end_init(&outcome);
        assert_int_equal(outcome.r, HUTCH_ESYSTEM);
        assert_int_equal(outcome.err.code, HUTCH_ESYSTEM);
        assert_string_equal(outcome.err.where, "cgroup");
        if (outcome.err.sys_errno != cases[i / 2].sys_errno ||
            !strstr(outcome.err.msg, cases[i / 2].text) ||
            !strstr(outcome.err.msg, "hutch keeps limits by itself"))
            fail_msg("case %zu: %s (%d)", i, outcome.err.msg, outcome.err.sys_errno);
        assert_null(outcome.cgroup.where);
        assert_int_equal(open_fds(), before);
    }
}

static void nobody_listens(void **state)
{
    struct plan plan = no_limits;
    struct native_cgroup cgroup = {0};
    struct hutch_error err = {0};
    fd_auto int file = open("/dev/null", O_PATH | O_CLOEXEC);

    plan.cgroup = (struct plan_cgroup){.version = 2, .unit = true, .manager = file};
    assert_int_equal(native_unit_start(&cgroup, &plan, getpid(), &err), HUTCH_ESYSTEM);
    assert_int_equal(err.sys_errno, ECONNREFUSED);
    assert_non_null(strstr(err.msg, "cannot ask the user's systemd"));
    assert_int_equal(native_unit_start(&cgroup, &plan, getpid(), NULL), HUTCH_ESYSTEM);
}

static void the_group_is_found_and_measured(void **state)
{
    if (!group[0])
        SKIP("only root can make groups and mount them");
    for (int bus = 0; bus < 2; bus++) {
        struct outcome outcome;
        struct sandbox_usage usage = {.user_us = SANDBOX_UNKNOWN, .memory_bytes = SANDBOX_UNKNOWN};
        int before = open_fds();

        start(&(struct manager){.bus = bus}, &no_limits, &outcome);
        if (outcome.r < 0)
            fail_msg("%s", outcome.err.msg);
        assert_int_equal(native_cgroup_clone_fd(&outcome.cgroup), outcome.cgroup.dir[0]);
        assert_int_equal(native_cgroup_measure(&outcome.cgroup, false, &usage), 0);
        assert_true(usage.user_us != SANDBOX_UNKNOWN);
        native_cgroup_sweep(&outcome.cgroup);
        /* It is systemd's to remove. */
        assert_int_equal(native_cgroup_remove(&outcome.cgroup), 0);
        end_init(&outcome);
        remove_scope();
        assert_true(native_cgroup_measure(&outcome.cgroup, false, &usage) < 0);
        native_cgroup_clear(&outcome.cgroup);
        assert_int_equal(open_fds(), before);
    }
}

static void limits_are_looked_at(void **state)
{
    static const struct {
        const char *files[4];
        const char *wrong; /* NULL: none */
    } cases[] = {
        {{"67108864\n", "0\n", "8\n", "150000 100000\n"}, NULL},
        {{"67108864\n", NULL, "8\n", "150000 100000\n"}, NULL},
        {{"67104768\n", "0\n", "7\n", "15000 10000\n"}, NULL},
        {{"max\n", "0\n", "8\n", "150000 100000\n"}, "memory.max"},
        {{"67108865\n", "0\n", "8\n", "150000 100000\n"}, "memory.max"},
        {{NULL, "0\n", "8\n", "150000 100000\n"}, "memory.max"},
        {{"", "0\n", "8\n", "150000 100000\n"}, "memory.max"},
        {{"67108864\n", "max\n", "8\n", "150000 100000\n"}, "memory.swap.max"},
        {{"67108864\n", "0\n", "9\n", "150000 100000\n"}, "pids.max"},
        {{"67108864\n", "0\n", "max\n", "150000 100000\n"}, "pids.max"},
        {{"67108864\n", "0\n", NULL, "150000 100000\n"}, "pids.max"},
        {{"67108864\n", "0\n", "8\n", "max 100000\n"}, "cpu.max"},
        {{"67108864\n", "0\n", "8\n", "150001 100000\n"}, "cpu.max"},
        {{"67108864\n", "0\n", "8\n", "150000\n"}, "cpu.max"},
        {{"67108864\n", "0\n", "8\n", NULL}, "cpu.max"},
    };

    if (!group[0])
        SKIP("only root can make groups and mount them");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct manager manager = {0};
        struct outcome outcome;
        int before = open_fds();

        memcpy(manager.files, cases[i].files, sizeof(manager.files));
        start(&manager, &all_limits, &outcome);
        if (!cases[i].wrong && outcome.r < 0)
            fail_msg("case %zu: %s", i, outcome.err.msg);
        if (cases[i].wrong && (outcome.r != HUTCH_ESYSTEM || outcome.cgroup.where ||
                               !strstr(outcome.err.msg, cases[i].wrong)))
            fail_msg("case %zu: %d, %s", i, outcome.r, outcome.err.msg);
        native_cgroup_clear(&outcome.cgroup);
        end_init(&outcome);
        remove_scope();
        assert_int_equal(open_fds(), before);
    }
}

#define OTHERS 7

/* Groups beside that of a sandbox: only the first is left over. */
static void make_others(int parent, bool make, pid_t process)
{
    static const struct {
        const char *name;
        bool old;
        bool populated;
    } rows[OTHERS] = {
        {"hutch-left000000000000.scope", true, false},
        {"hutch-young00000000000.scope", false, false},
        {"hutch-lives00000000000.scope", true, true},
        {"hutch-longer00000000000.scope", true, false},
        {"hutch-UPPER00000000000.scope", true, false},
        {"other-left000000000000.scope", true, false},
        {"hutch-left000000000000.slice", true, false},
    };
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    for (size_t i = 0; i < OTHERS; i++) {
        if (!make) {
            /* One that was populated may need a moment. */
            for (int j = 0; j < 1000 && sys_cgroup_remove(parent, rows[i].name) == -EBUSY; j++)
                usleep(1000);
            continue;
        }
        assert_int_equal(sys_cgroup_make(parent, rows[i].name), 0);
        fd_auto int dir = sys_cgroup_open(parent, rows[i].name);
        if (rows[i].populated)
            assert_int_equal(sys_cgroup_write_number(dir, "cgroup.procs", (uint64_t)process), 0);
        if (rows[i].old)
            assert_int_equal(futimens(dir, times), 0);
    }
}

static void sweep(const struct manager *manager, struct outcome *outcome)
{
    int status = -1;

    unlink(at("@/asked"));
    pid_t pid = start_manager(manager, &outcome->plan.cgroup.manager);
    native_unit_sweep(&outcome->cgroup, &outcome->plan);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    read_asked(outcome->asked, sizeof(outcome->asked));
    fd_close(&outcome->plan.cgroup.manager);
}

static void what_is_left_is_stopped(void **state)
{
    if (!group[0])
        SKIP("only root can make groups and mount them");
    for (int bus = 0; bus < 2; bus++) {
        struct outcome outcome;
        int before = open_fds();

        start(&(struct manager){.bus = bus}, &no_limits, &outcome);
        assert_int_equal(outcome.r, 0);
        fd_auto int parent = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        pid_t process = start_init();
        make_others(parent, true, process);
        sweep(&(struct manager){.turn = TURN_STOP, .bus = bus}, &outcome);
        assert_string_equal(outcome.asked, "hutch-left000000000000.scope\n");
        /* Who does not let us ask is left alone. */
        sweep(&(struct manager){.turn = TURN_REJECT, .bus = bus}, &outcome);
        assert_string_equal(outcome.asked, "");
        native_cgroup_clear(&outcome.cgroup);
        end_init(&outcome);
        remove_scope();
        outcome.init = process;
        end_init(&outcome);
        make_others(parent, false, 0);
        fd_close(&parent);
        assert_int_equal(open_fds(), before);
    }
}

/* ---- A place for groups ---- */

static void find_place(void)
{
    char path[sizeof(group)];

    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) < 0)
        return;
    snprintf(path, sizeof(path), "/sys/fs/cgroup/hutch-test-%d", getpid());
    if (mkdir(path, 0755) == 0)
        memcpy(group, path, sizeof(group));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for),    cmocka_unit_test(failures_are_told),
        cmocka_unit_test(nobody_listens),       cmocka_unit_test(the_group_is_found_and_measured),
        cmocka_unit_test(limits_are_looked_at), cmocka_unit_test(what_is_left_is_stopped),
    };

    find_place();
    int r = cmocka_run_group_tests(tests, setup, scratch_remove);
    if (group[0])
        rmdir(group);
    return r;
}
