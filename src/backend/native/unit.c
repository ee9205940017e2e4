/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "sys/cgroup.h"
#include "sys/dbus.h"
#include "sys/path.h"
#include "sys/procfs.h"

/* A systemd that is well answers within milliseconds. On a busy machine many may wait for their turn. */
#define TIMEOUT_MS 25000

#define NAME_SUFFIX ".scope"
#define NAME_ID_LEN (sizeof((struct plan *)0)->id - 1)
#define NAME_MAX_LEN (sizeof NATIVE_CGROUP_PREFIX + NAME_ID_LEN + sizeof NAME_SUFFIX)
#define JOB_MAX 128
#define PLACES_MAX 8192

#define SYSTEMD "org.freedesktop.systemd1"
#define MANAGER SYSTEMD ".Manager"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define BUS "org.freedesktop.DBus"

/* It is there, so the limits were planned with it; only without the variables are they planned anew. */
#define INSTEAD                                                                                    \
    "'systemctl --user status' may tell more; without XDG_RUNTIME_DIR and "                        \
    "DBUS_SESSION_BUS_ADDRESS in its environment hutch keeps limits by itself"

struct unit {
    const struct plan *plan;
    char name[NAME_MAX_LEN];
    char job[JOB_MAX];
    struct sys_dbus bus;
};

/* ---- Errors ---- */

static int cannot_ask(int r, struct hutch_error *err)
{
    const char *why = r == -ETIMEDOUT    ? " (no answer in time)"
                      : r == -ECONNRESET ? " (it closed the connection)"
                      : r == -EBADMSG    ? " (what it says is not D-Bus)"
                      : r == -EPERM      ? " (another user listens there, or in another container)"
                                         : "";

    return err_sys(err, r, "cgroup",
                   "cannot ask the user's systemd for a control group%s; " INSTEAD, why);
}

static int check_reply(const struct sys_dbus_message *reply, const char *signature,
                       struct hutch_error *err)
{
    struct sys_dbus_in body = reply->body;

    if (reply->type == SYS_DBUS_ERROR)
        return err_set(err, HUTCH_ESYSTEM, "cgroup",
                       "the user's systemd refuses a control group: %.100s (%.60s); " INSTEAD,
                       reply->signature[0] == 's' ? sys_dbus_get_string(&body) : "no reason given",
                       reply->error);
    return str_eq(reply->signature, signature) ? 0 : cannot_ask(-EBADMSG, err);
}

/* ---- Asking ---- */

/* A connection to a bus begins so; signals come only to who has asked for them. */
static int join_bus(struct unit *unit, struct hutch_error *err)
{
    static const struct sys_dbus_method hello = {BUS, "/org/freedesktop/DBus", BUS, "Hello", ""};
    static const struct sys_dbus_method match = {BUS, "/org/freedesktop/DBus", BUS, "AddMatch",
                                                 "s"};
    struct sys_dbus_out none = {0};
    struct sys_dbus_out rule = {0};
    struct sys_dbus_message reply;

    int r = sys_dbus_call(&unit->bus, &hello, &none, &reply);
    r = r < 0 ? cannot_ask(r, err) : check_reply(&reply, "s", err);
    if (r < 0)
        return r;
    sys_dbus_put_string(&rule, "type='signal',sender='" SYSTEMD "',interface='" MANAGER
                               "',member='JobRemoved',path='" MANAGER_PATH "'");
    r = sys_dbus_call(&unit->bus, &match, &rule, &reply);
    return r < 0 ? cannot_ask(r, err) : check_reply(&reply, "", err);
}

static void put_property(struct sys_dbus_out *out, const char *name, const char *type)
{
    sys_dbus_put_struct(out);
    sys_dbus_put_string(out, name);
    sys_dbus_put_signature(out, type);
}

static void put_text(struct sys_dbus_out *out, const char *name, const char *text)
{
    put_property(out, name, "s");
    sys_dbus_put_string(out, text);
}

static void put_number(struct sys_dbus_out *out, const char *name, uint64_t value)
{
    put_property(out, name, "t");
    sys_dbus_put_u64(out, value);
}

static void put_limits(struct sys_dbus_out *out, const struct plan *plan)
{
    const struct plan_limits *limits = &plan->limits;

    if (limits->memory_means == MEANS_CGROUP) {
        put_number(out, "MemoryMax", limits->memory_bytes);
        put_number(out, "MemorySwapMax", 0);
    }
    if (limits->processes_means == MEANS_CGROUP)
        put_number(out, "TasksMax", native_cgroup_pids_max(plan));
    if (limits->cpus_means == MEANS_CGROUP)
        put_number(out, "CPUQuotaPerSecUSec", limits->cpus_milli * 1000);
}

static void put_properties(struct sys_dbus_out *out, const struct unit *unit, pid_t init)
{
    struct sys_dbus_array properties = sys_dbus_open_array(out, 8);

    put_text(out, "Description", "hutch sandbox");
    put_text(out, "CollectMode", "inactive-or-failed");
    put_property(out, "PIDs", "au");
    struct sys_dbus_array pids = sys_dbus_open_array(out, 4);
    sys_dbus_put_u32(out, (uint32_t)init);
    sys_dbus_close_array(out, pids);
    /*
     * Systemd stops a scope in which the kernel has killed something for its memory, init and all. Of
     * one that is somebody's own to manage it leaves that to whoever it is.
     */
    put_property(out, "Delegate", "b");
    sys_dbus_put_u32(out, true);
    put_limits(out, unit->plan);
    sys_dbus_close_array(out, properties);
}

static int ask(struct unit *unit, pid_t init, struct hutch_error *err)
{
    static const struct sys_dbus_method start = {SYSTEMD, MANAGER_PATH, MANAGER,
                                                 "StartTransientUnit", "ssa(sv)a(sa(sv))"};
    struct sys_dbus_out body = {0};
    struct sys_dbus_message reply;

    sys_dbus_put_string(&body, unit->name);
    sys_dbus_put_string(&body, "fail"); /* rather than to change what has this name already */
    put_properties(&body, unit, init);
    sys_dbus_close_array(&body, sys_dbus_open_array(&body, 8));
    int r = sys_dbus_call(&unit->bus, &start, &body, &reply);
    r = r < 0 ? cannot_ask(r, err) : check_reply(&reply, "o", err);
    if (r < 0)
        return r;
    const char *job = sys_dbus_get_string(&reply.body);
    if (reply.body.failed || strlen(job) >= sizeof unit->job)
        return cannot_ask(-EBADMSG, err);
    memcpy(unit->job, job, strlen(job) + 1);
    return 0;
}

/* 1: that was the end of our job, and *ret_result is how it ended, in systemd's own words. */
static int read_signal(const struct unit *unit, struct sys_dbus_message *message,
                       const char **ret_result)
{
    if (message->type != SYS_DBUS_SIGNAL || !str_eq(message->interface, MANAGER) ||
        !str_eq(message->member, "JobRemoved"))
        return 0;
    if (!str_eq(message->signature, "uoss"))
        return -EBADMSG;
    sys_dbus_get_u32(&message->body);
    const char *job = sys_dbus_get_string(&message->body);
    const char *name = sys_dbus_get_string(&message->body);
    *ret_result = sys_dbus_get_string(&message->body);
    if (message->body.failed)
        return -EBADMSG;
    return str_eq(job, unit->job) && str_eq(name, unit->name);
}

/* The job is made by the call and done after it, so that its end never comes before the reply. */
static int wait_for_job(struct unit *unit, struct hutch_error *err)
{
    struct sys_dbus_message message;
    const char *result = "";
    int r;

    do {
        r = sys_dbus_next(&unit->bus, &message);
        if (r == 0)
            r = read_signal(unit, &message, &result);
    } while (r == 0);
    if (r < 0)
        return cannot_ask(r, err);
    if (str_eq(result, "done"))
        return 0;
    return err_set(err, HUTCH_ESYSTEM, "cgroup",
                   "the user's systemd could not start '%s' (%.20s); " INSTEAD, unit->name, result);
}

static int get_scope(struct unit *unit, pid_t init, struct hutch_error *err)
{
    int r = sys_dbus_connect(&unit->bus, unit->plan->cgroup.manager, TIMEOUT_MS);

    if (r < 0)
        return cannot_ask(r, err);
    r = unit->plan->cgroup.bus ? join_bus(unit, err) : 0;
    if (r == 0)
        r = ask(unit, init, err);
    if (r == 0)
        r = wait_for_job(unit, err);
    sys_dbus_clear(&unit->bus);
    return r;
}

/* ---- Looking what came of it ---- */

/* The directory of the group that `init` is in; -ENOENT when that is not the one asked for. */
static int open_group(const struct unit *unit, pid_t init)
{
    char places[PLACES_MAX];
    char place[PLACES_MAX];
    int r = sys_proc_read(init, "cgroup", places, sizeof places);

    if (r >= 0)
        r = sys_cgroup_place(places, "", place, sizeof place);
    if (r < 0)
        return r;
    const char *slash = strrchr(place, '/');
    if (!slash || !str_eq(slash + 1, unit->name))
        return -ENOENT;
    fd_auto int root = sys_cgroup_root();
    return root < 0 ? root : sys_open_beneath(root, place, O_RDONLY | O_DIRECTORY, 0);
}

static int read_file(int dir, const char *file, char *out, size_t size)
{
    fd_auto int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -errno : sys_cgroup_read(fd, out, size);
}

/* The kernel may have rounded down. */
static int check_most(int dir, const char *file, uint64_t most)
{
    char text[64];
    uint64_t value = 0;
    int r = read_file(dir, file, text, sizeof text);

    if (r >= 0)
        r = sys_cgroup_number(text, &value);
    return r < 0 ? r : value <= most ? 0 : -ERANGE;
}

/* "QUOTA PERIOD", of which systemd chooses the period. */
static int check_cpus(int dir, uint64_t most_milli)
{
    char text[64];
    uint64_t quota = 0;
    uint64_t period = 0;
    int r = read_file(dir, "cpu.max", text, sizeof text);
    char *space = r < 0 ? NULL : strchr(text, ' ');

    if (r < 0)
        return r;
    if (!space)
        return -EINVAL;
    *space = '\0';
    r = sys_cgroup_number(text, &quota);
    if (r == 0)
        r = sys_cgroup_number(space + 1, &period);
    if (r < 0)
        return r;
    return (double)quota * 1000 <= (double)most_milli * (double)period ? 0 : -ERANGE;
}

/* Returns the file that does not say what it should, NULL when all do; *r says how. */
static const char *find_unset(int dir, const struct plan *plan, int *r)
{
    const struct plan_limits *limits = &plan->limits;

    if (limits->memory_means == MEANS_CGROUP) {
        *r = check_most(dir, "memory.max", limits->memory_bytes);
        if (*r < 0)
            return "memory.max";
        *r = check_most(dir, "memory.swap.max", 0);
        if (*r < 0 && *r != -ENOENT) /* a kernel that does not count swap, as in cgroup_limits.c */
            return "memory.swap.max";
    }
    if (limits->processes_means == MEANS_CGROUP) {
        *r = check_most(dir, "pids.max", native_cgroup_pids_max(plan));
        if (*r < 0)
            return "pids.max";
    }
    if (limits->cpus_means == MEANS_CGROUP) {
        *r = check_cpus(dir, limits->cpus_milli);
        if (*r < 0)
            return "cpu.max";
    }
    return NULL;
}

int native_unit_start(struct native_cgroup *cgroup, const struct plan *plan, pid_t init,
                      struct hutch_error *err)
{
    struct unit unit;

    unit.plan = plan;
    snprintf(unit.name, sizeof unit.name, NATIVE_CGROUP_PREFIX "%s" NAME_SUFFIX, plan->id);
    int r = get_scope(&unit, init, err);
    if (r < 0)
        return r;
    fd_auto int dir = open_group(&unit, init);
    if (dir < 0)
        return err_sys(err, dir, "cgroup",
                       "the sandbox is not in the control group '%s' that the user's systemd was "
                       "asked for; " INSTEAD,
                       unit.name);
    const char *file = find_unset(dir, plan, &r);
    if (file)
        return err_sys(
            err, r, "cgroup",
            "the user's systemd did not set %s of the control group '%s' as asked; " INSTEAD, file,
            unit.name);
    native_cgroup_adopt(cgroup, plan, &dir);
    return 0;
}

/* ---- Sweeping ---- */

/* No engine waits so long for a scope to be started. */
#define SWEEP_AGE_S 60

/* One sweep ends soon, whatever it finds; the next goes on. */
#define SWEEP_MOST 8
#define SWEEP_MS 100

struct left {
    char names[SWEEP_MOST][NAME_MAX_LEN];
    size_t count;
};

/* Init is in the scope of every sandbox that lives. For the age see cgroup_sweep.c. */
static bool is_left(int parent, const char *name)
{
    struct stat st;
    char text[256];
    uint64_t populated = 1;
    fd_auto int dir = sys_cgroup_open(parent, name);

    if (dir < 0 || fstat(dir, &st) < 0 || time(NULL) - st.st_mtime <= SWEEP_AGE_S)
        return false;
    return read_file(dir, "cgroup.events", text, sizeof text) > 0 &&
           sys_cgroup_key(text, "populated", &populated) == 0 && populated == 0;
}

static void find_left(int parent, struct left *ret)
{
    int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);

    if (!list) {
        fd_close(&fd);
        return;
    }
    for (struct dirent *entry; ret->count < SWEEP_MOST && (entry = readdir(list));)
        if (native_cgroup_is_ours(entry->d_name, NAME_SUFFIX) && is_left(parent, entry->d_name))
            memcpy(ret->names[ret->count++], entry->d_name, strlen(entry->d_name) + 1);
    closedir(list);
}

static int stop(struct sys_dbus *bus, const char *name)
{
    static const struct sys_dbus_method method = {SYSTEMD, MANAGER_PATH, MANAGER, "StopUnit", "ss"};
    struct sys_dbus_out body = {0};
    struct sys_dbus_message reply;

    sys_dbus_put_string(&body, name);
    sys_dbus_put_string(&body, "fail");
    return sys_dbus_call(bus, &method, &body, &reply);
}

void native_unit_sweep(const struct native_cgroup *cgroup, const struct plan *plan)
{
    struct unit unit;
    struct left left = {0};

    if (!plan->cgroup.unit || !cgroup->where)
        return;
    fd_auto int parent = openat(cgroup->dir[0], "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0)
        find_left(parent, &left);
    if (left.count == 0 || sys_dbus_connect(&unit.bus, plan->cgroup.manager, SWEEP_MS) < 0)
        return;
    int r = plan->cgroup.bus ? join_bus(&unit, NULL) : 0;
    for (size_t i = 0; r == 0 && i < left.count; i++)
        r = stop(&unit.bus, left.names[i]);
    sys_dbus_clear(&unit.bus);
}
