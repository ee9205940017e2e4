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
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../dbus_sample.h"
#include "../scratch.h"
#include "base/num.h"
#include "sys/cgroup.h"

#define ID "abcdefghij012345"
#define NAME "hutch-" ID ".scope"
#define JOB "/org/freedesktop/systemd1/job/42"
#define MANAGER "org.freedesktop.systemd1.Manager"
#define TEXT_MAX 2048

static char group[64]; /* where the manager makes scopes; "": nowhere */

/* ---- The manager ---- */

enum turn {
    TURN_WELL,
    TURN_STAY,     /* does nothing, and says that it did */
    TURN_REFUSE,   /* an error with a reason */
    TURN_REFUSE_2, /* one without */
    TURN_TYPE,     /* a reply that is not the path of a job */
    TURN_LONG,     /* nor is this */
    TURN_FAIL,     /* the job ends badly */
    TURN_SIGNAL,   /* a signal that is not what its name says */
    TURN_CLOSE,    /* right after the call */
    TURN_GARBAGE,
    TURN_REJECT, /* who we are */
};

struct manager {
    enum turn turn;
    bool bus;
    const char *files[4]; /* memory.max, memory.swap.max, pids.max, cpu.max; NULL: none */
};

static const char *const file_names[] = {"memory.max", "memory.swap.max", "pids.max", "cpu.max"};

/* Nothing can be asserted in the manager's process. */
static void need(bool truth)
{
    if (!truth)
        _exit(9);
}

static void send_all(int peer, const void *data, size_t len)
{
    need(send(peer, data, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static void send_sample(int peer, const struct sample *sample)
{
    struct sys_dbus_out out = build(sample);

    send_all(peer, out.data, out.len);
}

/* One call; `data` holds it. */
static struct sys_dbus_message receive_call(int peer, unsigned char *data, size_t size)
{
    struct sys_dbus_message message;
    size_t len = 0;

    need(recv(peer, data, SYS_DBUS_START, MSG_WAITALL) == SYS_DBUS_START);
    need(sys_dbus_length(data, &len) == 0 && len <= size);
    len -= SYS_DBUS_START;
    need(recv(peer, data + SYS_DBUS_START, len, MSG_WAITALL) == (ssize_t)len);
    need(sys_dbus_parse(data, len + SYS_DBUS_START, &message) == 0);
    need(message.type == SYS_DBUS_CALL);
    return message;
}

static uint64_t get_u64(struct sys_dbus_in *in)
{
    in->at = (in->at + 7) / 8 * 8;
    uint64_t low = sys_dbus_get_u32(in);
    return low | (uint64_t)sys_dbus_get_u32(in) << 32;
}

/* One property as text; returns the pid, when that is what it has. */
static pid_t print_property(struct sys_dbus_in *in, char *out, size_t size)
{
    in->at = (in->at + 7) / 8 * 8;
    const char *name = sys_dbus_get_string(in);
    const char *type = sys_dbus_get_signature(in);

    if (str_eq(type, "s")) {
        snprintf(out, size, "%s '%s'\n", name, sys_dbus_get_string(in));
    } else if (str_eq(type, "t")) {
        snprintf(out, size, "%s %" PRIu64 "\n", name, get_u64(in));
    } else if (str_eq(type, "b")) {
        snprintf(out, size, "%s %s\n", name, sys_dbus_get_u32(in) == 1 ? "true" : "false");
    } else {
        need(str_eq(type, "au") && str_eq(name, "PIDs") && sys_dbus_get_u32(in) == 4);
        snprintf(out, size, "%s\n", name);
        return (pid_t)sys_dbus_get_u32(in);
    }
    return 0;
}

/* What was asked for, into the file "asked"; returns the process. */
static pid_t print_call(struct sys_dbus_message *call)
{
    char text[TEXT_MAX];
    struct sys_dbus_in *in = &call->body;
    pid_t pid = 0;

    need(str_eq(call->member, "StartTransientUnit") && str_eq(call->interface, MANAGER));
    need(str_eq(call->path, "/org/freedesktop/systemd1"));
    need(str_eq(call->signature, "ssa(sv)a(sa(sv))"));
    const char *name = sys_dbus_get_string(in);
    need(strlen(name) < 256);
    int len = snprintf(text, sizeof(text), "%s %s\n", name, sys_dbus_get_string(in));
    size_t end = sys_dbus_get_u32(in);
    in->at = (in->at + 7) / 8 * 8;
    end += in->at;
    while (!in->failed && in->at < end) {
        pid_t found = print_property(in, text + len, sizeof(text) - (size_t)len);
        pid = found ? found : pid;
        len += (int)strlen(text + len);
    }
    need(!in->failed && in->at == end && sys_dbus_get_u32(in) == 0 && !in->failed);
    fd_auto int fd = open(at("@/asked"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(write(fd, text, (size_t)len) == len);
    return pid;
}

/* Files that no group of this host may have are put on top of it. */
static void put_files(const struct manager *manager, const char *dir)
{
    need(mount("tmpfs", dir, "tmpfs", 0, NULL) == 0);
    for (size_t i = 0; i < ARRAY_LEN(file_names); i++) {
        char path[PATH_MAX + 32];
        if (!manager->files[i])
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, file_names[i]);
        fd_auto int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        size_t len = strlen(manager->files[i]);
        need(write(fd, manager->files[i], len) == (ssize_t)len);
    }
}

static void move(const struct manager *manager, pid_t pid)
{
    char path[PATH_MAX];
    fd_auto int parent = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    need(parent >= 0 && sys_cgroup_make(parent, NAME) == 0);
    fd_auto int dir = sys_cgroup_open(parent, NAME);
    need(dir >= 0 && sys_cgroup_write_number(dir, "cgroup.procs", (uint64_t)pid) == 0);
    snprintf(path, sizeof(path), "%s/%s", group, NAME);
    if (manager->files[0] || manager->files[1] || manager->files[2] || manager->files[3])
        put_files(manager, path);
}

static struct sample job_removed(const char *job, const char *name, const char *result)
{
    struct sample sample = SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/org/freedesktop/systemd1",
                                  .interface = MANAGER, .member = "JobRemoved",
                                  .signature = "uoss");

    sys_dbus_put_u32(&sample.body, 42);
    sys_dbus_put_string(&sample.body, job);
    sys_dbus_put_string(&sample.body, name);
    sys_dbus_put_string(&sample.body, result);
    return sample;
}

static void greet(int peer, const struct manager *manager)
{
    char line[256];
    ssize_t len = recv(peer, line, sizeof(line) - 1, 0);

    need(len > 3 && line[0] == '\0' && line[len - 1] == '\n');
    if (manager->turn == TURN_REJECT) {
        send_all(peer, "REJECTED\r\n", 10);
        _exit(0);
    }
    send_all(peer, "OK 1234\r\n", 9);
    need(recv(peer, line, 7, MSG_WAITALL) == 7 && memcmp(line, "BEGIN\r\n", 7) == 0);
}

/* The bus answers for itself, and tells of what happens on it. */
static uint32_t join_bus(int peer)
{
    unsigned char data[SYS_DBUS_MESSAGE_MAX];
    struct sys_dbus_message call = receive_call(peer, data, sizeof(data));
    struct sample name = SAMPLE(.type = SYS_DBUS_RETURN, .reply_to = 1, .signature = "s");
    struct sample acquired = SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/org/freedesktop/DBus",
                                    .interface = "org.freedesktop.DBus", .member = "NameAcquired",
                                    .signature = "s");
    struct sample done = SAMPLE(.type = SYS_DBUS_RETURN, .reply_to = 2);

    need(str_eq(call.member, "Hello") && call.signature[0] == '\0');
    sys_dbus_put_string(&name.body, ":1.7");
    send_sample(peer, &name);
    sys_dbus_put_string(&acquired.body, ":1.7");
    send_sample(peer, &acquired);
    call = receive_call(peer, data, sizeof(data));
    need(str_eq(call.member, "AddMatch") && str_eq(call.signature, "s"));
    need(strstr(sys_dbus_get_string(&call.body), "member='JobRemoved'"));
    send_sample(peer, &done);
    return 3;
}

static void refuse(int peer, uint32_t serial, bool reason)
{
    struct sample sample = SAMPLE(.type = SYS_DBUS_ERROR, .reply_to = serial,
                                  .error = "org.freedesktop.systemd1.UnitExists",
                                  .signature = reason ? "s" : NULL);

    if (reason)
        sys_dbus_put_string(&sample.body, "it is \033[31mthere");
    send_sample(peer, &sample);
}

static void answer(int peer, const struct manager *manager, uint32_t serial)
{
    char path[256] = JOB;
    struct sample sample = SAMPLE(.type = SYS_DBUS_RETURN, .reply_to = serial,
                                  .signature = manager->turn == TURN_TYPE ? "s" : "o");

    if (manager->turn == TURN_REFUSE || manager->turn == TURN_REFUSE_2) {
        refuse(peer, serial, manager->turn == TURN_REFUSE);
        return;
    }
    if (manager->turn == TURN_LONG)
        memset(path, 'x', sizeof(path) - 1);
    sys_dbus_put_string(&sample.body, path);
    send_sample(peer, &sample);
}

/* Signals of others' jobs, and of ours. */
static void tell(int peer, const struct manager *manager)
{
    struct sample odd = SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/", .interface = MANAGER,
                               .member = "JobRemoved", .signature = "u");
    struct sample unit_new = SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/", .interface = MANAGER,
                                    .member = "UnitNew");
    const struct sample others[] = {
        unit_new,
        job_removed("/org/freedesktop/systemd1/job/41", "other.scope", "failed"),
        job_removed("/org/freedesktop/systemd1/job/41", NAME, "failed"),
        job_removed(JOB, "other.scope", "failed"),
    };
    struct sample ours = job_removed(JOB, NAME, manager->turn == TURN_FAIL ? "failed" : "done");

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        send_sample(peer, &others[i]);
    sys_dbus_put_u32(&odd.body, 42);
    send_sample(peer, manager->turn == TURN_SIGNAL ? &odd : &ours);
}

static void serve(int sock, const struct manager *manager)
{
    unsigned char data[SYS_DBUS_MESSAGE_MAX];
    int peer = accept(sock, NULL, NULL);
    struct sample early = job_removed(JOB, NAME, "failed");

    greet(peer, manager);
    uint32_t serial = manager->bus ? join_bus(peer) : 1;
    struct sys_dbus_message call = receive_call(peer, data, sizeof(data));
    pid_t pid = print_call(&call);
    if (manager->turn == TURN_CLOSE)
        return;
    if (manager->turn == TURN_GARBAGE) {
        send_all(peer, "HTTP/1.1 400 Bad Request\r\n", 26);
        return;
    }
    send_sample(peer, &early); /* somebody else's, as ours cannot have ended yet */
    answer(peer, manager, serial);
    if (manager->turn >= TURN_REFUSE && manager->turn <= TURN_LONG)
        return;
    if (manager->turn == TURN_WELL)
        move(manager, pid);
    tell(peer, manager);
    recv(peer, data, 1, 0); /* until the other side closes */
}

/* ---- The other side ---- */

struct outcome {
    int r;
    struct hutch_error err;
    char asked[TEXT_MAX];
    pid_t init;
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
    struct plan plan = *limits;
    int status = -1;

    memcpy(plan.id, ID, sizeof(ID));
    plan.cgroup = (struct plan_cgroup){
        .version = 2, .parent = {-1, -1, -1, -1}, .unit = true, .bus = manager->bus};
    unlink(at("@/asked"));
    pid_t pid = start_manager(manager, &plan.cgroup.manager);
    *ret = (struct outcome){.init = start_init()};
    ret->r = native_unit_start(&ret->cgroup, &plan, ret->init, &ret->err);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    read_asked(ret->asked, sizeof(ret->asked));
    fd_close(&plan.cgroup.manager);
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
        const struct plan_cgroup where = {.version = 2, .parent = {-1, -1, -1, -1}, .unit = true};

        start(&(struct manager){.bus = bus}, &no_limits, &outcome);
        if (outcome.r < 0)
            fail_msg("%s", outcome.err.msg);
        outcome.cgroup.where = &where; /* that plan is gone */
        assert_int_equal(native_cgroup_clone_fd(&outcome.cgroup), outcome.cgroup.dir[0]);
        assert_int_equal(native_cgroup_measure(&outcome.cgroup, &usage), 0);
        assert_true(usage.user_us != SANDBOX_UNKNOWN);
        native_cgroup_sweep(&outcome.cgroup);
        /* It is systemd's to remove. */
        assert_int_equal(native_cgroup_remove(&outcome.cgroup), 0);
        end_init(&outcome);
        remove_scope();
        assert_true(native_cgroup_measure(&outcome.cgroup, &usage) < 0);
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
        cmocka_unit_test(limits_are_looked_at),
    };

    find_place();
    int r = cmocka_run_group_tests(tests, setup, scratch_remove);
    if (group[0])
        rmdir(group);
    return r;
}
