/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/cgroup.h"

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
#include "base/num.h"
#include "base/str.h"
#include "sys/cgroup.h"
#include "sys/ret.h"

#define NAME_PREFIX "hutch-"
#define NAME_LEN (sizeof NAME_PREFIX - 1 + 16)

static const char *const controller_names[CONTROLLER_COUNT] = {
    [CONTROLLER_MEMORY] = "memory",
    [CONTROLLER_PIDS] = "pids",
    [CONTROLLER_CPU] = "cpu",
    [CONTROLLER_CPUACCT] = "cpuacct",
};

/* ---- Making ---- */

/* What errno does not say of a group that cannot be made. */
static const char *why_not_made(int r)
{
    switch (r) {
    case -EAGAIN: return " (cgroup.max.descendants or cgroup.max.depth allows no more)";
    case -ENOSPC: return " (the kernel has no room for more groups)";
    case -ENOENT:
    case -ENODEV: return " (the group it was to be made in is gone)";
    case -EROFS: return " (the hierarchy is mounted read-only)";
    default: return "";
    }
}

static const char *hierarchy(const struct native_cgroup *cgroup, size_t i)
{
    return cgroup->where->version == 2 ? "v2" : controller_names[i];
}

/* The lock comes right after the group itself; until then its age protects it (see sweep_one()). */
static int make_group(struct native_cgroup *cgroup, size_t i, struct hutch_error *err)
{
    int parent = cgroup->where->parent[i];
    int r = sys_cgroup_make(parent, cgroup->name);

    if (r < 0)
        return err_sys(err, r, "cgroup", "cannot make the control group '%s' (%s)%s", cgroup->name,
                       hierarchy(cgroup, i), why_not_made(r));
    cgroup->made[i] = true;
    r = cgroup->dir[i] = sys_cgroup_open(parent, cgroup->name);
    if (r >= 0)
        r = sys_cgroup_lock(cgroup->dir[i]);
    return r < 0 ? err_sys(err, r, "cgroup", "cannot lock the control group '%s' (%s)",
                           cgroup->name, hierarchy(cgroup, i))
                 : 0;
}

static bool is_same_directory(int a, int b)
{
    struct stat one;
    struct stat other;

    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* v1 controllers that are mounted together ("cpu,cpuacct") have one group. */
static int find_shared(const struct native_cgroup *cgroup, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (cgroup->made[j] &&
            is_same_directory(cgroup->where->parent[j], cgroup->where->parent[i]))
            return (int)j;
    return -1;
}

/*
 * In v1 the group that only counts CPU time can come later, when the command has run for a moment: most
 * are over by then, and who waits for them knows what they used. The one of memory says who to move.
 */
static bool comes_later(const struct native_cgroup *cgroup, size_t i)
{
    return cgroup->where->version == 1 && i == CONTROLLER_CPUACCT &&
           cgroup->where->parent[CONTROLLER_MEMORY] >= 0 && find_shared(cgroup, i) < 0;
}

static int make_groups(struct native_cgroup *cgroup, struct hutch_error *err)
{
    for (size_t i = 0; i < CONTROLLER_COUNT; i++) {
        if (cgroup->where->parent[i] < 0)
            continue;
        if (comes_later(cgroup, i)) {
            cgroup->later = true;
            continue;
        }
        int shared = find_shared(cgroup, i);
        int r;
        if (shared < 0) {
            r = make_group(cgroup, i, err);
        } else {
            r = cgroup->dir[i] = ret_errno(fcntl(cgroup->dir[shared], F_DUPFD_CLOEXEC, 3));
            if (r < 0)
                err_sys(err, r, "cgroup", "cannot copy a descriptor");
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Limits ---- */

/* The kernel has never more processes, and takes no larger number. */
#define PIDS_MOST 4194304U

/* The kernel's own period, unless the share of it would be less than the millisecond it wants. */
#define PERIOD_US 100000U
#define LONG_PERIOD_US 1000000U
#define LEAST_QUOTA_US 1000U

struct setting {
    enum plan_controller controller;
    const char *file;
    char text[2 * NUM_TEXT_MAX];
    const char *instead; /* file that gets a 0 where `file` does not exist; "": none is needed */
};

struct settings {
    struct setting items[6];
    size_t count;
};

static struct setting *add(struct settings *settings, enum plan_controller controller,
                           const char *file)
{
    struct setting *setting = &settings->items[settings->count++];

    *setting = (struct setting){.controller = controller, .file = file};
    return setting;
}

static void add_number(struct settings *settings, enum plan_controller controller, const char *file,
                       uint64_t value)
{
    *num_put(add(settings, controller, file)->text, value, 10) = '\0';
}

static uint64_t period_us(uint64_t cpus_milli)
{
    return cpus_milli * PERIOD_US / 1000 < LEAST_QUOTA_US ? LONG_PERIOD_US : PERIOD_US;
}

uint64_t native_cgroup_pids_max(const struct plan *plan)
{
    uint64_t processes = plan->limits.processes;

    return processes < PIDS_MOST ? processes + 1 + plan->lasting : PIDS_MOST;
}

/*
 * memory.oom.group stays 0. With it the kernel would kill init together with the rest, and a command
 * could keep init from its last look at protected paths (watch.c) by using too much memory.
 */
static void list_v2(const struct plan *plan, struct settings *ret)
{
    const struct plan_limits *limits = &plan->limits;

    if (limits->memory_means == MEANS_CGROUP) {
        add_number(ret, CONTROLLER_MEMORY, "memory.max", limits->memory_bytes);
        add_number(ret, CONTROLLER_MEMORY, "memory.swap.max", 0);
        ret->items[ret->count - 1].instead = "";
    }
    if (limits->processes_means == MEANS_CGROUP)
        add_number(ret, CONTROLLER_PIDS, "pids.max", native_cgroup_pids_max(plan));
    if (limits->cpus_means == MEANS_CGROUP) {
        uint64_t period = period_us(limits->cpus_milli);
        struct setting *setting = add(ret, CONTROLLER_CPU, "cpu.max");
        char *end = num_put(setting->text, limits->cpus_milli * period / 1000, 10);
        *end++ = ' ';
        *num_put(end, period, 10) = '\0';
    }
}

static void list_v1(const struct plan_limits *limits, struct settings *ret)
{
    if (limits->memory_means == MEANS_CGROUP) {
        add_number(ret, CONTROLLER_MEMORY, "memory.limit_in_bytes", limits->memory_bytes);
        /* Memory and swap together: not before, since it may not be lower than the one above. */
        if (limits->host_swaps) {
            add_number(ret, CONTROLLER_MEMORY, "memory.memsw.limit_in_bytes", limits->memory_bytes);
            ret->items[ret->count - 1].instead = "memory.swappiness";
        }
    }
    if (limits->processes_means == MEANS_CGROUP)
        add_number(ret, CONTROLLER_PIDS, "pids.max",
                   limits->processes < PIDS_MOST ? limits->processes : PIDS_MOST);
    if (limits->cpus_means == MEANS_CGROUP) {
        uint64_t period = period_us(limits->cpus_milli);
        if (period != PERIOD_US)
            add_number(ret, CONTROLLER_CPU, "cpu.cfs_period_us", period);
        add_number(ret, CONTROLLER_CPU, "cpu.cfs_quota_us", limits->cpus_milli * period / 1000);
    }
}

/* In v2 a group has the files of those controllers that its parent gives: it may have to be told. */
static int write_setting(const struct native_cgroup *cgroup, const struct setting *setting)
{
    bool v2 = cgroup->where->version == 2;
    int dir = cgroup->dir[v2 ? 0 : setting->controller];
    int r = sys_cgroup_write(dir, setting->file, setting->text);

    if (r != -ENOENT)
        return r;
    if (setting->instead)
        return setting->instead[0] ? sys_cgroup_write_number(dir, setting->instead, 0) : 0;
    if (!v2)
        return r;
    r = sys_cgroup_enable(cgroup->where->parent[0], controller_names[setting->controller]);
    return r < 0 ? r : sys_cgroup_write(dir, setting->file, setting->text);
}

static const char *why_not_set(const struct setting *setting, int r)
{
    if (r == -EINVAL && setting->controller == CONTROLLER_CPU)
        return " (the group around it may have less)";
    if (r == -EBUSY)
        return " (there are processes in the group around it)";
    if (r == -ENODEV || r == -ENOENT)
        return " (the group, or its controller, is gone)";
    return "";
}

static int set_limits(const struct native_cgroup *cgroup, const struct plan *plan,
                      struct hutch_error *err)
{
    struct settings settings = {0};

    if (cgroup->where->version == 2)
        list_v2(plan, &settings);
    else
        list_v1(&plan->limits, &settings);
    for (size_t i = 0; i < settings.count; i++) {
        const struct setting *setting = &settings.items[i];
        int r = write_setting(cgroup, setting);
        if (r < 0)
            return err_sys(err, r, "cgroup", "cannot set %s of the control group '%s' to '%s'%s",
                           setting->file, cgroup->name, setting->text, why_not_set(setting, r));
    }
    return 0;
}

static void begin(struct native_cgroup *cgroup, const struct plan *plan)
{
    *cgroup = (struct native_cgroup){.where = &plan->cgroup,
                                     .memory_limit = plan->limits.memory_bytes,
                                     .ours = 1 + plan->lasting};
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        cgroup->dir[i] = -1;
    for (size_t i = 0; i < CGROUP_FILE_COUNT; i++)
        cgroup->files[i] = -1;
    snprintf(cgroup->name, sizeof cgroup->name, NAME_PREFIX "%s", plan->id);
}

void native_cgroup_adopt(struct native_cgroup *cgroup, const struct plan *plan, int *dir)
{
    begin(cgroup, plan);
    cgroup->dir[0] = fd_take(dir);
}

int native_cgroup_make(struct native_cgroup *cgroup, const struct plan *plan,
                       struct hutch_error *err)
{
    *cgroup = (struct native_cgroup){0};
    if (plan->cgroup.version == 0 || plan->cgroup.unit)
        return 0;
    begin(cgroup, plan);
    int r = make_groups(cgroup, err);
    if (r == 0)
        r = set_limits(cgroup, plan, err);
    if (r < 0)
        native_cgroup_clear(cgroup);
    return r;
}

/* ---- Joining ---- */

int native_cgroup_clone_fd(const struct native_cgroup *cgroup)
{
    return cgroup->where && cgroup->where->version == 2 ? cgroup->dir[0] : -1;
}

int native_cgroup_join_fds(const struct native_cgroup *cgroup, int ret[CONTROLLER_COUNT],
                           struct hutch_error *err)
{
    int count = 0;

    if (!cgroup->where || cgroup->where->version != 1)
        return 0;
    for (size_t i = 0; i < CONTROLLER_COUNT; i++) {
        if (!cgroup->made[i])
            continue;
        int r = ret_errno(openat(cgroup->dir[i], "tasks", O_WRONLY | O_CLOEXEC));
        if (r < 0) {
            while (count > 0)
                fd_close(&ret[--count]);
            return err_sys(err, r, "cgroup", "cannot open the control group '%s' (%s)",
                           cgroup->name, hierarchy(cgroup, i));
        }
        ret[count++] = r;
    }
    return count;
}

/* ---- Completing ---- */

/* A fork that races with a move is found by the next look. */
#define MOVES_MAX 64

/* Every process of the list in `from`, each of which `fn` may move. Returns how many there were. */
static int each_process(int from, int (*fn)(int to, uint64_t pid), int to)
{
    char text[4096];
    size_t len = 0;
    int count = 0;
    fd_auto int fd = ret_errno(openat(from, "cgroup.procs", O_RDONLY | O_CLOEXEC));

    if (fd < 0)
        return fd;
    for (;;) {
        ssize_t got = read(fd, text + len, sizeof text - 1 - len);
        if (got < 0)
            return -errno;
        if (got == 0)
            return count;
        len += (size_t)got;
        text[len] = '\0';
        char *line = text;
        for (char *end; (end = strchr(line, '\n')); line = end + 1, count++) {
            uint64_t pid = 0;
            *end = '\0';
            int r = sys_cgroup_number(line, &pid);
            if (r == 0 && fn)
                r = fn(to, pid);
            if (r < 0)
                return r;
        }
        len -= (size_t)(line - text);
        memmove(text, line, len);
    }
}

static int move_process(int to, uint64_t pid)
{
    int r = sys_cgroup_write_number(to, "cgroup.procs", pid);

    return r == -ESRCH ? 0 : r; /* it has ended */
}

int native_cgroup_complete(struct native_cgroup *cgroup)
{
    int from = cgroup->dir[CONTROLLER_MEMORY];

    if (!cgroup->later)
        return 0;
    if (!cgroup->made[CONTROLLER_CPUACCT]) {
        int r = make_group(cgroup, CONTROLLER_CPUACCT, NULL);
        if (r < 0)
            return -EIO;
    }
    int to = cgroup->dir[CONTROLLER_CPUACCT];
    for (int i = 0; i < MOVES_MAX; i++) {
        int r = each_process(from, move_process, to);
        if (r < 0)
            return r;
        int there = each_process(to, NULL, -1);
        r = each_process(from, NULL, -1);
        if (there < 0 || r < 0)
            return there < 0 ? there : r;
        if (there >= r) {
            cgroup->later = false;
            return 1;
        }
    }
    return -EAGAIN;
}

/* ---- Measuring ---- */

struct file {
    enum plan_controller controller;
    const char *name;
};

static const struct file files_v2[CGROUP_FILE_COUNT] = {
    [CGROUP_CPU] = {0, "cpu.stat"},
    [CGROUP_MEMORY] = {0, "memory.current"},
    [CGROUP_MEMORY_PEAK] = {0, "memory.peak"}, /* Linux 5.19 */
    [CGROUP_MEMORY_EVENTS] = {0, "memory.events"},
    [CGROUP_PIDS] = {0, "pids.current"},
    [CGROUP_PIDS_PEAK] = {0, "pids.peak"}, /* Linux 6.1 */
    [CGROUP_PIDS_EVENTS] = {0, "pids.events"},
    [CGROUP_IO] = {0, "io.stat"},
};

static const struct file files_v1[CGROUP_FILE_COUNT] = {
    [CGROUP_CPU] = {CONTROLLER_CPUACCT, "cpuacct.usage"},
    [CGROUP_CPU_USER] = {CONTROLLER_CPUACCT, "cpuacct.usage_user"},
    [CGROUP_CPU_SYSTEM] = {CONTROLLER_CPUACCT, "cpuacct.usage_sys"},
    [CGROUP_MEMORY] = {CONTROLLER_MEMORY, "memory.usage_in_bytes"},
    [CGROUP_MEMORY_PEAK] = {CONTROLLER_MEMORY, "memory.max_usage_in_bytes"},
    [CGROUP_MEMORY_EVENTS] = {CONTROLLER_MEMORY, "memory.oom_control"},
    [CGROUP_PIDS] = {CONTROLLER_PIDS, "pids.current"},
    [CGROUP_PIDS_PEAK] = {CONTROLLER_PIDS, "pids.peak"}, /* Linux 6.1 */
    [CGROUP_PIDS_EVENTS] = {CONTROLLER_PIDS, "pids.events"},
};

static int open_measured(struct native_cgroup *cgroup, enum native_cgroup_file which)
{
    const struct file *file = cgroup->where->version == 2 ? &files_v2[which] : &files_v1[which];
    int dir = file->name ? cgroup->dir[file->controller] : -1;

    if (dir < 0)
        return -ENOENT;
    return ret_errno(openat(dir, file->name, O_RDONLY | O_CLOEXEC));
}

/* Returns 1 with the text, 0 when there is no such file; that is asked for once. */
static int read_measured(struct native_cgroup *cgroup, enum native_cgroup_file which, char *out,
                         size_t size)
{
    int *fd = &cgroup->files[which];

    if (cgroup->missing[which])
        return 0;
    if (*fd < 0) {
        *fd = open_measured(cgroup, which);
        cgroup->missing[which] = *fd == -ENOENT;
    }
    if (*fd < 0)
        return cgroup->missing[which] ? 0 : *fd;
    int r = sys_cgroup_read(*fd, out, size);
    return r < 0 ? r : 1;
}

/* *ret stays as it is when there is no such file; so do those of the functions below. */
static int read_number(struct native_cgroup *cgroup, enum native_cgroup_file which, uint64_t *ret)
{
    char text[64];
    int r = read_measured(cgroup, which, text, sizeof text);

    return r <= 0 ? r : sys_cgroup_number(text, ret);
}

static int measure_cpu_v2(struct native_cgroup *cgroup, struct sandbox_usage *ret)
{
    char text[2048];
    uint64_t user = 0;
    uint64_t system = 0;
    int r = read_measured(cgroup, CGROUP_CPU, text, sizeof text);

    if (r <= 0)
        return r;
    r = sys_cgroup_key(text, "user_usec", &user);
    if (r == 0)
        r = sys_cgroup_key(text, "system_usec", &system);
    if (r < 0)
        return r;
    ret->user_us = user;
    ret->system_us = system;
    return 0;
}

/*
 * The sum is exact; its parts are counted in ticks of the clock, which short programs never see. So
 * only their proportion is used, as the kernel does for rusage.
 */
static int measure_cpu_v1(struct native_cgroup *cgroup, struct sandbox_usage *ret)
{
    uint64_t total = SANDBOX_UNKNOWN;
    uint64_t user = 0;
    uint64_t system = 0;
    int r = read_number(cgroup, CGROUP_CPU, &total);

    if (r == 0)
        r = read_number(cgroup, CGROUP_CPU_USER, &user);
    if (r == 0)
        r = read_number(cgroup, CGROUP_CPU_SYSTEM, &system);
    if (r < 0 || total == SANDBOX_UNKNOWN)
        return r;
    double part = user + system > 0 ? (double)user / (double)(user + system) : 1;
    uint64_t total_us = total / 1000;
    uint64_t user_us = (uint64_t)((double)total_us * part);
    ret->user_us = cgroup->base_user_us + user_us;
    ret->system_us = cgroup->base_system_us + total_us - user_us;
    return 0;
}

/* With no more than half of its limit used at any time, the kernel had no reason to kill. */
static bool was_near(const struct sandbox_usage *usage, uint64_t limit)
{
    return usage->peak_memory_bytes == SANDBOX_UNKNOWN || usage->peak_memory_bytes > limit / 2;
}

static int measure_memory(struct native_cgroup *cgroup, bool last, struct sandbox_usage *ret)
{
    char text[1024];
    uint64_t killed = 0;
    int r = last ? 0 : read_number(cgroup, CGROUP_MEMORY, &ret->memory_bytes);

    if (r == 0)
        r = read_number(cgroup, CGROUP_MEMORY_PEAK, &ret->peak_memory_bytes);
    if (r == 0 && !was_near(ret, cgroup->memory_limit))
        return 0;
    if (r == 0)
        r = read_measured(cgroup, CGROUP_MEMORY_EVENTS, text, sizeof text);
    if (r <= 0)
        return r;
    r = sys_cgroup_key(text, "oom_kill", &killed);
    ret->memory_killed = ret->memory_killed || killed > 0;
    return r;
}

/* Without init and its spare, which are counted in v2. */
static int read_processes(struct native_cgroup *cgroup, enum native_cgroup_file which,
                          uint64_t *ret)
{
    uint64_t ours = cgroup->where->version == 2 ? cgroup->ours : 0;
    uint64_t count = SANDBOX_UNKNOWN;
    int r = read_number(cgroup, which, &count);

    if (r == 0 && count != SANDBOX_UNKNOWN)
        *ret = count > ours ? count - ours : 0;
    return r;
}

static int measure_processes(struct native_cgroup *cgroup, struct sandbox_usage *ret)
{
    char text[256];
    uint64_t refused = 0;
    int r = read_processes(cgroup, CGROUP_PIDS, &ret->processes);

    if (r == 0)
        r = read_processes(cgroup, CGROUP_PIDS_PEAK, &ret->peak_processes);
    if (r == 0)
        r = read_measured(cgroup, CGROUP_PIDS_EVENTS, text, sizeof text);
    if (r <= 0)
        return r;
    r = sys_cgroup_key(text, "max", &refused);
    ret->processes_refused = ret->processes_refused || refused > 0;
    return r;
}

static int measure_io(struct native_cgroup *cgroup, struct sandbox_usage *ret)
{
    char text[4096];
    uint64_t read_bytes = 0;
    uint64_t written_bytes = 0;
    int r = read_measured(cgroup, CGROUP_IO, text, sizeof text);

    if (r <= 0)
        return r;
    r = sys_cgroup_sum(text, "rbytes", &read_bytes);
    if (r == 0)
        r = sys_cgroup_sum(text, "wbytes", &written_bytes);
    if (r < 0)
        return r;
    ret->read_bytes = read_bytes;
    ret->written_bytes = written_bytes;
    return 0;
}

int native_cgroup_measure(struct native_cgroup *cgroup, bool last, struct sandbox_usage *ret)
{
    if (!cgroup->where)
        return 0;
    /* All of them, whatever happens to one: a limit may hang on each. */
    int cpu = cgroup->where->version == 2 ? measure_cpu_v2(cgroup, ret)
              : cgroup->later             ? 0
                                          : measure_cpu_v1(cgroup, ret);
    int memory = measure_memory(cgroup, last, ret);
    int processes = measure_processes(cgroup, ret);
    int io = measure_io(cgroup, ret);
    return cpu < 0 ? cpu : memory < 0 ? memory : processes < 0 ? processes : io;
}

/* ---- Ending ---- */

int native_cgroup_kill(const struct native_cgroup *cgroup)
{
    if (!cgroup->where)
        return 0;
    if (cgroup->where->version != 2)
        return -EOPNOTSUPP;
    int r = sys_cgroup_write(cgroup->dir[0], "cgroup.kill", "1");
    return r == -ENOENT ? -EOPNOTSUPP : r;
}

int native_cgroup_remove(struct native_cgroup *cgroup)
{
    int result = 0;

    for (size_t i = 0; cgroup->where && i < CONTROLLER_COUNT; i++) {
        if (!cgroup->made[i])
            continue;
        int r = sys_cgroup_remove(cgroup->where->parent[i], cgroup->name);
        if (r == 0 || r == -ENOENT || r == -ENODEV)
            cgroup->made[i] = false;
        else if (result == 0)
            result = r;
    }
    return result;
}

void native_cgroup_clear(struct native_cgroup *cgroup)
{
    if (!cgroup->where)
        return;
    native_cgroup_remove(cgroup);
    for (size_t i = 0; i < CGROUP_FILE_COUNT; i++)
        fd_close(&cgroup->files[i]);
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        fd_close(&cgroup->dir[i]);
    *cgroup = (struct native_cgroup){0};
}

/* ---- Sweeping ---- */

/* No engine takes so long from making a group to locking it. */
#define SWEEP_AGE_S 10

/* One sweep ends some time, whatever it finds; the next goes on. */
#define SWEEP_MOST 64

/* Only what make_group() could have made: others' groups may begin like ours. */
static bool is_our_name(const char *name)
{
    size_t prefix = strlen(NAME_PREFIX);

    return strlen(name) == NAME_LEN && str_starts(name, NAME_PREFIX) &&
           strspn(name + prefix, "abcdefghijklmnopqrstuvwxyz0123456789") == NAME_LEN - prefix;
}

/*
 * The kernel gives a directory the time at which it was first looked at, which is never before it was
 * made. That it is empty needs no look: it cannot be removed otherwise.
 */
static bool sweep_one(int parent, const char *name)
{
    struct stat st;
    fd_auto int dir = sys_cgroup_open(parent, name);

    if (dir < 0 || fstat(dir, &st) < 0 || time(NULL) - st.st_mtime <= SWEEP_AGE_S)
        return false;
    return sys_cgroup_lock(dir) == 0 && sys_cgroup_remove(parent, name) == 0;
}

static void sweep_parent(int parent)
{
    struct stat st;
    int removed = 0;

    /* Two links and one for each group in it: when there is none but ours, nothing is listed. */
    if (fstat(parent, &st) < 0 || st.st_nlink <= 3)
        return;
    int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!list) {
        fd_close(&fd);
        return;
    }
    for (struct dirent *entry; removed < SWEEP_MOST && (entry = readdir(list));)
        if (is_our_name(entry->d_name))
            removed += sweep_one(parent, entry->d_name);
    closedir(list);
}

void native_cgroup_sweep(const struct native_cgroup *cgroup)
{
    for (size_t i = 0; cgroup->where && i < CONTROLLER_COUNT; i++)
        if (cgroup->where->parent[i] >= 0)
            sweep_parent(cgroup->where->parent[i]);
}
