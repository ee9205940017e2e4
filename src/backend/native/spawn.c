/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From init to the command: a child that shares init's memory until it execs, so that starting one
 * costs what posix_spawn costs and a failure is simply written down where init can see it.
 *
 * Should: leave init's session, lower its limits, put on Landlock and the filter, take only its three
 * streams along, then exec.
 * Mustn't: touch memory that init will need, or return.
 *
 * It shares init's descriptors too until the filter is on: its listener appears in init's table and
 * nowhere else. Only then does it get a table of its own, to arrange as it likes.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/state.h"
#include "base/fd.h"
#include "base/str.h"
#include "filter/filter.h"
#include "sys/cgroup.h"
#include "sys/clone.h"
#include "sys/landlock.h"
#include "sys/network.h"
#include "sys/path.h"
#include "sys/privilege.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "sys/ret.h"
#include "sys/seccomp.h"
#include "sys/terminal.h"

/* Before anything else: all that the command ever uses is counted. */
static int join_groups(const struct init_spawn *spawn)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < spawn->join_count; i++)
        r = sys_cgroup_join(spawn->joins[i]);
    return r;
}

static int take_streams(const struct init_spawn *spawn)
{
    for (int i = 0; i < 3; i++) {
        int fd = spawn->terminal >= 0 ? spawn->terminal : spawn->stdio[i];
        int r = ret_errno(dup2(fd, i));
        if (r < 0)
            return r;
    }
    return spawn->terminal >= 0 ? sys_terminal_control(0) : 0;
}

/* A file without "#!" that is no program either is for the shell, as every shell and env(1) do. */
static int exec_file(struct init_spawn *spawn, char *path)
{
    execve(path, spawn->argv, spawn->envp);
    if (errno != ENOEXEC)
        return -errno;

    static char shell[] = "sh";
    char **script = spawn->argv - 1;
    char *name = script[1];
    script[0] = shell;
    script[1] = path;
    execve("/bin/sh", script, spawn->envp);
    int r = -errno;
    script[1] = name;
    return r;
}

static const char *path_variable(char **envp)
{
    for (; *envp; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            return *envp + 5;
    return "";
}

/*
 * Look on after "not there", remember "not allowed", stop at anything else. A directory of PATH that
 * cannot be searched holds nothing, as for a shell.
 */
static int exec_in_path(struct init_spawn *spawn)
{
    const char *name = spawn->argv[0];
    size_t name_len = strlen(name);
    int result = -ENOENT;
    char path[4096];

    if (strchr(name, '/'))
        return exec_file(spawn, spawn->argv[0]);
    for (const char *dir = path_variable(spawn->envp); dir;) {
        size_t len = strcspn(dir, ":");
        if (len + name_len + 2 <= sizeof path) {
            memcpy(path, dir, len);
            if (len > 0)
                path[len++] = '/';
            memcpy(path + len, name, name_len + 1);
            int r = exec_file(spawn, path);
            if (r == -EACCES && access(path, F_OK) == 0)
                result = r;
            else if (r != -EACCES && r != -ENOENT && r != -ENOTDIR)
                return r;
        }
        dir = strchr(dir, ':');
        dir = dir ? dir + 1 : NULL;
    }
    return result;
}

SYS_OWN_STACK static _Noreturn void fail(struct init_spawn *spawn, enum proto_exec_step step, int r)
{
    spawn->step = step;
    spawn->error = -r;
    _exit(127);
}

/* The two locks of every command. The filter's listener is left in init's table. */
static int put_on_locks(struct init_spawn *spawn)
{
    const struct filter *filter = spawn->plan->filter;
    int r = spawn->landlock >= 0 ? sys_landlock_restrict(spawn->landlock) : 0;

    if (r < 0)
        return r;
    r = sys_seccomp_load_listen(filter->code, filter->len);
    if (r < 0)
        return r;
    spawn->listener = r;
    return 0;
}

/* What the policy adds on top can only refuse more. */
static int put_on_extra(const struct plan *plan)
{
    const struct filter *const extra[] = {plan->unix_filter, plan->pinned_filter,
                                          plan->user_filter};

    for (size_t i = 0; i < ARRAY_LEN(extra); i++) {
        int r = extra[i] ? sys_seccomp_load(extra[i]->code, extra[i]->len) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* What is the same for every command. */
static int leave_init(const struct init_spawn *spawn)
{
    sigset_t none;

    int r = ret_errno(setsid());
    if (r >= 0)
        r = init_limits_set(spawn->plan);
    if (r < 0)
        return r;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
}

/* From the locks to the command: nothing of init is left open then. */
static void arrange_streams(struct init_spawn *spawn)
{
    int r = sys_unshare_descriptors();
    if (r < 0)
        fail(spawn, EXEC_STEP_LOCKS, r);
    r = take_streams(spawn);
    if (r < 0)
        fail(spawn, EXEC_STEP_TERMINAL, r);
    r = sys_close_from(3);
    if (r < 0)
        fail(spawn, EXEC_STEP_LOCKS, r);
    /* Not before: init has more open than some commands may have. */
    r = init_limit_set(RLIMIT_NOFILE, spawn->plan->limits.open_files);
    if (r < 0)
        fail(spawn, EXEC_STEP_LIMITS, r);
}

SYS_OWN_STACK static _Noreturn void become_command(struct init_spawn *spawn)
{
    int r = put_on_extra(spawn->plan);

    if (r < 0)
        fail(spawn, EXEC_STEP_LOCKS, r);
    spawn->executing = true;
    fail(spawn, EXEC_STEP_EXEC, exec_in_path(spawn));
}

/*
 * A network namespace takes the kernel as long to make as all mounts together, so this is done beside init,
 * which builds the files meanwhile.
 */
static int make_network(struct init_spawn *spawn)
{
    int r = sys_network_new();

    sys_lock(&spawn->table, NULL);
    if (r == 0)
        r = sys_network_open();
    spawn->network = r; /* and init's from now on */
    sys_unlock(&spawn->table);
    sys_word_set(&spawn->made);
    return r < 0 ? r : 0;
}

/* The first of all is as init was when it was made; who comes later is as init is then. */
static int begin_first(struct init_spawn *spawn)
{
    int r = spawn->plan->net == NET_NONE ? make_network(spawn) : 0;

    if (r == 0)
        r = sys_drop_capabilities();
    sys_word_wait(&spawn->placed); /* init has also left our choice of processors alone by then */
    return r;
}

/*
 * Not by a word in memory: the kernel would wake us on another processor, which takes longer than all else
 * here. Who writes to a pipe is taken to sleep soon, and its reader gets the same one. Numbers of others
 * were for spares that were killed.
 */
static int wait_for_go(const struct init_spawn *spawn)
{
    uint32_t number = 0;

    while (number != spawn->number) {
        long r = SYS_RAW(SYS_read, spawn->go[0], &number, sizeof number);
        if (r <= 0 && r != -EINTR)
            return r < 0 ? (int)r : -EPIPE;
    }
    return 0;
}

/*
 * A spare waits with everything on that is the same for all. It enters its directory last, as the command
 * itself could: by then it has no descriptor of init's that a link of /proc could lead to.
 */
SYS_OWN_STACK static int spare_main(void *arg)
{
    struct init_spawn *spawn = arg;

    int r = spawn->first ? begin_first(spawn) : 0;
    if (r == 0)
        r = leave_init(spawn);
    if (r < 0)
        fail(spawn, EXEC_STEP_LIMITS, r);
    r = put_on_locks(spawn);
    if (r < 0)
        fail(spawn, EXEC_STEP_LOCKS, r);
    r = ret_errno(unshare(CLONE_FS));
    if (r < 0)
        fail(spawn, EXEC_STEP_LOCKS, r);
    __atomic_store_n(&spawn->waits, true, __ATOMIC_RELEASE);
    r = wait_for_go(spawn);
    /* A command that has ended since may have changed this process; the next one is as it should be. */
    if (r == 0 && !spawn->first && !spawn->checked &&
        !init_limits_hold(spawn->plan, spawn->init, 0))
        _exit(127);
    if (r == 0)
        r = join_groups(spawn);
    if (r < 0)
        fail(spawn, EXEC_STEP_LIMITS, r);
    arrange_streams(spawn);
    umask((mode_t)spawn->umask);
    if (chdir(spawn->cwd) < 0)
        fail(spawn, EXEC_STEP_CWD, -errno);
    become_command(spawn);
}

int init_spawn_prepare(struct init_spawn *spawn)
{
    return sys_share_start(spare_main, spawn, spawn->stack, spawn->stack_size, &spawn->tid);
}

/*
 * Commands that are there already may stop it on its way, or have the file that it is to execute, and init
 * would wait with it, deaf to the engine. It is woken, and killed when it is stopped all the time, takes too
 * long or nobody wants it any more; who is merely slow may be. Returns whether it took too long.
 */
static bool wait_for_start(const struct init_spawn *spawn, pid_t pid)
{
    enum { LOOK_MS = 10, STOPS_MAX = 10, LOOKS_MAX = 1000 };
    unsigned stops = 0;
    unsigned looks = 0;

    while (!sys_share_wait(&spawn->tid, LOOK_MS)) {
        if (!spawn->plan->lasting)
            continue;
        spawn->meanwhile(spawn->arg);
        if (++looks > LOOKS_MAX || init_is_over())
            SYS_RAW(SYS_kill, pid, SIGKILL);
        else if (sys_share_stopped(pid))
            SYS_RAW(SYS_kill, pid, ++stops < STOPS_MAX ? SIGCONT : SIGKILL);
    }
    return looks > LOOKS_MAX;
}

bool init_spawn_spare(struct init_spawn *spawn, pid_t pid)
{
    if (write(spawn->go[1], &spawn->number, sizeof spawn->number) < 0) {
        spawn->step = EXEC_STEP_FORK;
        spawn->error = errno;
        kill(pid, SIGKILL);
    }
    if (wait_for_start(spawn, pid) && !spawn->error) {
        spawn->step = EXEC_STEP_EXEC;
        spawn->error = ETIMEDOUT;
    }
    if (!spawn->error && !spawn->executing)
        return false; /* it was killed */
    if (spawn->error)
        fd_close(&spawn->listener);
    return true;
}
