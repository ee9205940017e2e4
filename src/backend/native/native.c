/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native backend, the engine's side: clone init with all namespaces, map its ids, pass requests
 * on and answers back. What init says is checked like any input: it lives next to the untrusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/native/account.h"
#include "backend/native/answer.h"
#include "backend/native/cgroup.h"
#include "backend/native/describe.h"
#include "backend/native/init.h"
#include "backend/native/unit.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/clone.h"
#include "sys/ids.h"
#include "sys/message.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "sys/ret.h"

/* How long init may take for its last work. */
#define END_MS 1000

/* As many as init can have at a time. */
#define STARTING_MAX 64

struct native {
    struct sandbox base; /* events_fd: the socket; exit_fd: init's pidfd */
    const struct plan *plan;
    struct {
        uint32_t run; /* 0: free */
        const struct plan_command *command;
    } starting[STARTING_MAX]; /* for messages, until they have been started */
    uint32_t last_run;
    struct sys_ids_holder holder; /* released when there is time: on the first answer */
    bool reaped;
    struct sys_exit exit;
    struct native_cgroup cgroup;
    int joins[CONTROLLER_COUNT]; /* for each command, to be in the groups of v1 */
    size_t join_count;
    int proc; /* the sandbox's, and its tmpfs; -1 before init has sent them */
    int memory;
    int mounts;              /* held, never used: see proto.h */
    struct account *account; /* of what no group counts; NULL: nothing, or not yet */
    bool swept;
    struct sandbox_usage usage; /* as measured last */
};

/* ---- Starting ---- */

/*
 * A root caller's grants become detached trees in which their owner is the sandbox's id. Only the
 * engine has the privilege, so they are made here and attached by init. The map is a user namespace
 * that costs a process to make, so that mounts of one owner share it.
 */
struct owner_map {
    const struct plan_identity *identity;
    uid_t uid;
    gid_t gid;
    int userns; /* -1 before the first */
    struct sys_ids_holder *holder;
};

static int map_owner(struct owner_map *owner, const struct plan_mount *mount)
{
    const struct sys_idmap map = {
        .uid_inside = mount->owner_uid,
        .uid_outside = owner->identity->host_uid,
        .gid_inside = mount->owner_gid,
        .gid_outside = owner->identity->host_gid,
    };

    if (owner->userns >= 0 && owner->uid == mount->owner_uid && owner->gid == mount->owner_gid)
        return 0;
    fd_close(&owner->userns);
    sys_ids_release(owner->holder);
    owner->userns = sys_ids_namespace(&map, owner->holder);
    owner->uid = mount->owner_uid;
    owner->gid = mount->owner_gid;
    return owner->userns < 0 ? owner->userns : 0;
}

static int make_idmapped_tree(struct owner_map *owner, const struct plan_mount *mount, int *ret,
                              struct hutch_error *err)
{
    char shown[160];

    str_printable(mount->source, shown, sizeof shown);
    int r = map_owner(owner, mount);
    if (r < 0)
        return err_sys(err, r, "ids", "cannot make a user namespace for '%s'", shown);
    fd_auto int tree = sys_mount_clone(mount->source_fd, "", mount->recursive);
    if (tree < 0)
        return err_sys(err, tree, "mounts", "cannot copy the mount of '%s'", shown);

    r = sys_mount_idmap(tree, mount->recursive, owner->userns);
    if (r == 0)
        r = sys_mount_set(tree, mount->recursive, init_mount_flags(mount));
    if (r == -EINVAL || r == -ENOSYS)
        return err_sys(err, r, "mounts",
                       "cannot give '%s' to a sandbox of root: its file system (or one mounted in "
                       "it) or this kernel cannot map ids; run hutch as the files' owner",
                       shown);
    if (r < 0)
        return err_sys(err, r, "mounts", "cannot map the ids of '%s'", shown);
    *ret = fd_take(&tree);
    return 0;
}

static int make_trees(const struct plan *plan, struct owner_map *owner, int *trees,
                      struct hutch_error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < plan->mount_count; i++)
        if (plan->mounts[i].idmap)
            r = make_idmapped_tree(owner, &plan->mounts[i], &trees[i], err);
    fd_close(&owner->userns);
    return r;
}

/* Map init's ids and let it go on. */
static int map_ids(const struct native *native, pid_t pid, struct hutch_error *err)
{
    const struct plan_identity *identity = &native->plan->identity;
    const struct sys_idmap map = {
        .uid_inside = identity->uid,
        .uid_outside = identity->host_uid,
        .gid_inside = identity->gid,
        .gid_outside = identity->host_gid,
    };

    int r = sys_ids_map(pid, &map, !identity->privileged);
    if (r < 0)
        return native_describe_setup(native->plan, STEP_IDS, 0, -r, err);
    const struct proto_request mapped = {.type = PROTO_MAPPED};
    r = sys_message_send(native->base.events_fd, &mapped, sizeof mapped, NULL, 0);
    return r < 0 ? err_sys(err, r, "ids", "cannot talk to the sandbox's first process") : 0;
}

/* Into its group at once, where there is one. */
static int clone_process(const struct native *native, uint64_t flags, int *ret_pidfd)
{
    int cgroup = native_cgroup_clone_fd(&native->cgroup);
    int pid = cgroup < 0 ? -ENOSYS : sys_clone_into(flags, cgroup, ret_pidfd);

    if (pid != -ENOSYS)
        return pid;
    pid = sys_clone_namespaces(flags, ret_pidfd);
    if (pid <= 0 || cgroup < 0)
        return pid;
    /* Slowly, then, but before it is let go on. When that fails it sees the end of the socket. */
    int r = sys_cgroup_write_number(cgroup, "cgroup.procs", (uint64_t)pid);
    if (r == 0)
        return pid;
    sys_pidfd_kill(*ret_pidfd, SIGKILL);
    struct sys_exit ended;
    sys_pidfd_wait(*ret_pidfd, true, &ended);
    fd_close(ret_pidfd);
    return r;
}

static int clone_init(struct native *native, int *trees, struct hutch_error *err)
{
    /* And the network, made by init (see there). */
    const uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                           CLONE_NEWUTS | CLONE_NEWCGROUP;
    int pair[2];
    int pidfd = -1;
    fd_auto int self = sys_pidfd_open(getpid());
    if (self < 0)
        return err_sys(err, self, "clone", "cannot open a pidfd of this process");

    int r = sys_message_pair(pair);
    if (r < 0)
        return err_sys(err, r, "clone", "cannot create a socket pair");
    const struct init_args args = {
        .plan = native->plan,
        .trees = trees,
        .sock = pair[1],
        .engine_pidfd = self,
        .started_ns = sys_clock_ns(CLOCK_MONOTONIC),
    };

    int pid = clone_process(native, flags, &pidfd);
    if (pid == 0)
        init_main(&args);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return native_describe_setup(native->plan, STEP_CLONE, 0, -pid, err);
    }
    native->base.events_fd = pair[0];
    native->base.exit_fd = pidfd;
    /* It waits for its ids, so that nothing has been used yet of what is limited. */
    if (native->plan->cgroup.unit) {
        r = native_unit_start(&native->cgroup, native->plan, pid, err);
        if (r < 0)
            return r;
    }
    return map_ids(native, pid, err);
}

static int make_groups_v1(struct native *native, struct hutch_error *err)
{
    int r = native_cgroup_make(&native->cgroup, native->plan, err);

    if (r == 0)
        r = native_cgroup_join_fds(&native->cgroup, native->joins, err);
    if (r < 0)
        return r;
    native->join_count = (size_t)r;
    return 0;
}

static const struct sandbox_usage unknown_usage = {
    .user_us = SANDBOX_UNKNOWN,
    .system_us = SANDBOX_UNKNOWN,
    .memory_bytes = SANDBOX_UNKNOWN,
    .peak_memory_bytes = SANDBOX_UNKNOWN,
    .processes = SANDBOX_UNKNOWN,
    .peak_processes = SANDBOX_UNKNOWN,
    .disk_bytes = SANDBOX_UNKNOWN,
    .read_bytes = SANDBOX_UNKNOWN,
    .written_bytes = SANDBOX_UNKNOWN,
};

static void native_free(struct sandbox *sandbox);
static const struct sandbox_ops native_ops;

static int native_start(const struct plan *plan, struct sandbox **ret, struct hutch_error *err)
{
    const size_t mount_count = plan->mount_count;
    struct native *native = calloc(1, sizeof *native);
    int *trees = malloc(sizeof *trees * (mount_count + 1));

    if (!native || !trees) {
        free(native);
        free(trees);
        return err_oom(err);
    }
    native->base = (struct sandbox){
        .ops = &native_ops, .events_fd = -1, .exit_fd = -1, .proc_fd = -1, .root_fd = -1};
    native->plan = plan;
    native->memory = -1;
    native->mounts = -1;
    native->usage = unknown_usage;
    for (size_t i = 0; i < mount_count; i++)
        trees[i] = -1;
    struct owner_map owner = {.identity = &plan->identity, .userns = -1, .holder = &native->holder};
    int r = plan->cgroup.version == 2 ? native_cgroup_make(&native->cgroup, plan, err) : 0;
    if (r == 0)
        r = make_trees(plan, &owner, trees, err);
    if (r == 0)
        r = clone_init(native, trees, err);
    /* Commands join these, init does not: there is time while it builds its files. */
    if (r == 0 && plan->cgroup.version == 1)
        r = make_groups_v1(native, err);
    for (size_t i = 0; i < mount_count; i++)
        fd_close(&trees[i]);
    free(trees);
    if (r < 0) {
        native_free(&native->base);
        return r;
    }
    *ret = &native->base;
    return 0;
}

/* ---- Requests ---- */

static int pack(const struct sandbox_exec *exec, struct proto_request *request, struct buf *text)
{
    buf_init(text, SIZE_MAX / 2);
    buf_add(text, exec->command->cwd, strlen(exec->command->cwd) + 1);
    for (const char *const *arg = exec->command->argv; *arg; arg++, request->argc++)
        buf_add(text, *arg, strlen(*arg) + 1);
    for (const char *const *var = exec->command->env; *var; var++, request->envc++)
        buf_add(text, *var, strlen(*var) + 1);
    request->text_len = text->len;
    return text->failed ? -ENOMEM : 0;
}

/* Strings that are too long for a packet go into a memfd, *ret_fd. */
static int pack_long(const struct buf *text, int *ret_fd)
{
    fd_auto int fd = ret_errno(memfd_create("hutch-exec", MFD_CLOEXEC));
    if (fd < 0)
        return fd;

    for (size_t done = 0; done < text->len;) {
        ssize_t len = write(fd, text->data + done, text->len - done);
        if (len < 0)
            return -errno;
        done += (size_t)len;
    }
    *ret_fd = fd_take(&fd);
    return 0;
}

static int send_exec(struct native *native, const struct sandbox_exec *exec)
{
    buf_auto struct buf text = {0};
    struct proto_request request = {
        .type = PROTO_EXEC,
        .run = exec->run,
        .last = exec->last,
        .tty = exec->command->tty,
        .rows = exec->command->rows,
        .cols = exec->command->cols,
    };
    int fds[SYS_MESSAGE_FDS];
    size_t count = 0;
    fd_auto int memfd = -1;
    char packet[sizeof request + PROTO_TEXT_INLINE];
    size_t len = sizeof request;

    int r = pack(exec, &request, &text);
    if (r < 0)
        return r;
    for (int i = 0; !request.tty && i < 3; i++)
        fds[count++] = exec->stdio[i];
    if (text.len > PROTO_TEXT_INLINE) {
        r = pack_long(&text, &memfd);
        if (r < 0)
            return r;
        fds[count++] = memfd;
        request.in_memfd = 1;
    } else {
        memcpy(packet + len, text.data, text.len);
        len += text.len;
    }
    for (size_t i = 0; i < native->join_count; i++)
        fds[count++] = native->joins[i];
    request.joins = (uint32_t)native->join_count;
    memcpy(packet, &request, sizeof request);
    return sys_message_send(native->base.events_fd, packet, len, fds, count);
}

static void native_forget(struct sandbox *sandbox, uint32_t run)
{
    struct native *native = (struct native *)sandbox;

    for (size_t i = 0; i < STARTING_MAX; i++)
        if (native->starting[i].run == run)
            native->starting[i].run = 0;
}

static int remember(struct native *native, const struct sandbox_exec *exec)
{
    for (size_t i = 0; i < STARTING_MAX; i++)
        if (native->starting[i].run == 0) {
            native->starting[i].run = exec->run;
            native->starting[i].command = exec->command;
            native->last_run = exec->run;
            return 0;
        }
    return -EAGAIN;
}

/* NULL: there never was such a run. One that is forgotten, or runs already, has no name any more. */
static const struct plan_command *find_command(const struct native *native, uint32_t run)
{
    static const char *const argv[] = {"the command", NULL};
    static const struct plan_command other = {.argv = argv, .cwd = "/"};

    for (size_t i = 0; i < STARTING_MAX; i++)
        if (run != 0 && native->starting[i].run == run)
            return native->starting[i].command;
    return run != 0 && run <= native->last_run ? &other : NULL;
}

static int native_exec(struct sandbox *sandbox, struct sandbox_exec *exec, struct hutch_error *err)
{
    struct native *native = (struct native *)sandbox;

    int r = remember(native, exec);
    if (r == 0)
        r = send_exec(native, exec);
    for (int i = 0; i < 3; i++)
        fd_close(&exec->stdio[i]);
    if (r == -EAGAIN)
        return err_set(err, HUTCH_EBUSY, "exec", "too many commands are being started at once");
    /* EPIPE: init is gone already, and has said why; next() will tell. */
    if (r < 0 && r != -EPIPE)
        return err_sys(err, r, "exec", "cannot pass the command to the sandbox");
    return 0;
}

static int native_signal(struct sandbox *sandbox, uint32_t run, int signal,
                         enum sandbox_scope scope, struct hutch_error *err)
{
    const struct proto_request request = {
        .type = PROTO_SIGNAL, .run = run, .signal = signal, .scope = scope};
    int r = sys_message_send(sandbox->events_fd, &request, sizeof request, NULL, 0);

    if (r < 0 && r != -EPIPE)
        return err_sys(err, r, "signal", "cannot pass signal %d to the sandbox", signal);
    return 0;
}

/* ---- Answers ---- */

/* The first good answer brings what we measure by; one to a command with a terminal brings that. */
static void take_fds(struct native *native, struct sandbox_event *event, const int *fds,
                     size_t count)
{
    bool good = event && (event->type == SANDBOX_READY || event->type == SANDBOX_STARTED);
    size_t wanted = native->plan->lasting ? PROTO_FD_COUNT : PROTO_FD_ROOT;
    size_t used = 0;

    if (good && native->base.proc_fd < 0 && count >= wanted) {
        native->base.proc_fd = fds[PROTO_FD_PROC];
        native->memory = fds[PROTO_FD_MEMORY];
        if (native->plan->lasting) {
            native->base.root_fd = fds[PROTO_FD_ROOT];
            native->mounts = fds[PROTO_FD_MOUNTS];
        }
        used = wanted;
    }
    if (good && event->type == SANDBOX_STARTED && used < count)
        event->terminal = fds[used++];
    for (; used < count; used++)
        close(fds[used]);
}

static int native_next(struct sandbox *sandbox, struct sandbox_event *ret, struct hutch_error *err)
{
    struct native *native = (struct native *)sandbox;
    struct proto_answer answer;
    int fds[SYS_MESSAGE_FDS];
    size_t fd_count = 0;
    ssize_t len = sys_message_receive(sandbox->events_fd, 0, &answer, sizeof answer, fds,
                                      &fd_count);

    if (len == -EAGAIN || len == 0 || len == -ECONNRESET)
        return 0; /* the end of the socket says no more than exit_fd does */
    sys_ids_release(&native->holder);
    *ret = (struct sandbox_event){.terminal = -1};
    uint32_t run = len == sizeof answer ? answer.run : 0;
    int r = len < 0
                ? (int)len
                : answer_read(native->plan, find_command(native, run), &answer, (size_t)len, ret);
    if (r == 0 && (ret->type == SANDBOX_STARTED || ret->type == SANDBOX_EXEC_FAILED))
        native_forget(sandbox, run);
    take_fds(native, r == 0 ? ret : NULL, fds, fd_count);
    if (r < 0)
        return err_sys(err, r, "sandbox", "the sandbox's first process sent something unreadable");
    return 1;
}

/* ---- Measuring ---- */

static bool needs_account(const struct plan_limits *limits)
{
    return limits->memory_means == MEANS_SAMPLED || limits->cpu_time_means == MEANS_SAMPLED ||
           limits->processes_means == MEANS_SAMPLED || limits->processes_means == MEANS_RLIMIT;
}

/* By looking at every process; only where no group counts. */
static int measure_processes(struct native *native, struct sandbox_usage *usage)
{
    const struct plan_limits *limits = &native->plan->limits;

    if ((!needs_account(limits) && !native->cgroup.later) || native->base.proc_fd < 0)
        return 0;
    if (!native->account) {
        const struct account_args args = {
            .proc = native->base.proc_fd,
            .tmpfs = native->memory,
            .confirm_above_bytes = limits->memory_bytes / 5 * 4,
            .processes = limits->processes,
        };
        int r = account_new(&args, &native->account);
        if (r < 0)
            return r;
    }
    int r = account_measure(native->account, usage);
    usage->pause_ms = account_pause_ms(native->account);
    return r == -ESRCH ? 0 : r; /* all have ended; what was measured last stands */
}

static int measure_memory_fs(const struct native *native, struct sandbox_usage *usage)
{
    struct statfs fs;

    if (native->memory < 0)
        return 0;
    if (fstatfs(native->memory, &fs) < 0)
        return -errno;
    usage->disk_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
    usage->disk_full = fs.f_bfree == 0 || fs.f_ffree == 0;
    return 0;
}

/* From here on a group counts CPU time; what it has not seen was looked at just before. */
static int complete_groups(struct native *native, const struct sandbox_usage *usage)
{
    int r = native_cgroup_complete(&native->cgroup);

    if (r <= 0)
        return r;
    native->cgroup.base_user_us = usage->user_us == SANDBOX_UNKNOWN ? 0 : usage->user_us;
    native->cgroup.base_system_us = usage->system_us == SANDBOX_UNKNOWN ? 0 : usage->system_us;
    for (; native->join_count > 0; native->join_count--)
        fd_close(&native->joins[native->join_count - 1]);
    r = native_cgroup_join_fds(&native->cgroup, native->joins, NULL);
    native->join_count = r < 0 ? 0 : (size_t)r;
    return r < 0 ? -EIO : 0;
}

static int native_measure(struct sandbox *sandbox, bool last, struct sandbox_usage *ret)
{
    struct native *native = (struct native *)sandbox;
    struct sandbox_usage usage = native->usage;
    int r = last ? 0 : measure_processes(native, &usage);

    if (r == 0 && !last)
        r = complete_groups(native, &usage);
    if (r == 0)
        r = native_cgroup_measure(&native->cgroup, last, &usage);
    if (r == 0)
        r = measure_memory_fs(native, &usage);
    if (r < 0)
        return r;
    native->usage = usage;
    *ret = usage;
    if (!native->swept) { /* something is running: there is time */
        native_cgroup_sweep(&native->cgroup);
        native_unit_sweep(&native->cgroup, native->plan);
    }
    native->swept = true;
    return 0;
}

/* ---- Ending ---- */

static void native_kill(struct sandbox *sandbox)
{
    if (sandbox->exit_fd >= 0)
        sys_pidfd_kill(sandbox->exit_fd, SIGKILL);
}

static int native_wait(struct sandbox *sandbox, struct sys_exit *ret)
{
    struct native *native = (struct native *)sandbox;

    if (!native->reaped) {
        int r = sys_pidfd_wait(sandbox->exit_fd, false, &native->exit);
        if (r < 0)
            return r;
        native->reaped = true;
    }
    *ret = native->exit;
    return 0;
}

/* Init undoes what was created although protected when it sees that we are gone. */
static void let_end(struct sandbox *sandbox)
{
    struct pollfd ended = {.fd = sandbox->exit_fd, .events = POLLIN};

    fd_close(&sandbox->events_fd);
    while (poll(&ended, 1, END_MS) < 0 && errno == EINTR)
        ;
}

/* Groups that init is in can go only after it. */
static bool native_leave(struct sandbox *sandbox)
{
    struct native *native = (struct native *)sandbox;

    return native->plan->cgroup.version != 2 && native_cgroup_remove(&native->cgroup) == 0;
}

static void native_free(struct sandbox *sandbox)
{
    struct native *native = (struct native *)sandbox;

    if (!native)
        return;
    /* Groups that init is not in may be empty already, and go while it ends. */
    if (native->plan->cgroup.version == 1)
        native_cgroup_remove(&native->cgroup);
    if (sandbox->exit_fd >= 0 && !native->reaped) {
        if (native->plan->watch_count > 0)
            let_end(sandbox);
        native_kill(sandbox);
        sys_pidfd_wait(sandbox->exit_fd, true, &native->exit);
    }
    sys_ids_release(&native->holder);
    fd_close(&sandbox->events_fd);
    fd_close(&sandbox->exit_fd);
    fd_close(&native->base.proc_fd);
    fd_close(&native->base.root_fd);
    fd_close(&native->mounts);
    fd_close(&native->memory);
    for (size_t i = 0; i < native->join_count; i++)
        fd_close(&native->joins[i]);
    account_free(native->account);
    native_cgroup_clear(&native->cgroup);
    free(native);
}

static const struct sandbox_ops native_ops = {
    .exec = native_exec,
    .next = native_next,
    .signal = native_signal,
    .forget = native_forget,
    .measure = native_measure,
    .kill = native_kill,
    .wait = native_wait,
    .leave = native_leave,
    .free = native_free,
};

/* ---- What it can do ---- */

/* plan_pass_support() lets nothing through that this backend does not enforce. */
static int native_check(const struct plan *plan, struct hutch_error *err)
{
    (void)plan;
    (void)err;
    return 0;
}

static const struct hutch_fact *native_enforced(const struct plan *plan, struct arena *arena)
{
    const struct hutch_fact facts[] = {
        {"backend", "native"},
        {"level", "container"},
        {"userns", "true"},
        {"mountns", "true"},
        {"pidns", "true"},
        {"netns", plan->net == NET_NONE ? "true" : "false"},
        {"ipcns", "true"},
        {"utsns", "true"},
        {"cgroupns", "true"},
        {"seccomp", plan->filter_name},
        {"landlock",
         plan->landlock_abi > 0 ? arena_printf(arena, "%d", plan->landlock_abi) : "false"},
        {"unix", plan->unix_filter        ? "none"
                 : plan->socket_count > 0 ? "listed"
                                          : "private"},
        {"protect", plan->watch_count > 0 ? "watched" : "kernel"},
        {"cgroup", plan->cgroup.version == 2   ? "v2"
                   : plan->cgroup.version == 1 ? "v1"
                                               : "false"},
    };
    struct plan_limit_row limits[PLAN_LIMIT_ROWS];
    struct hutch_fact *copy = arena_alloc(arena,
                                          sizeof facts + sizeof *copy * (PLAN_LIMIT_ROWS + 1));
    size_t count = 0;

    plan_limit_rows(plan, limits);
    for (size_t i = 0; copy && i < ARRAY_LEN(facts); i++)
        copy[count++] = (struct hutch_fact){facts[i].name, arena_strdup(arena, facts[i].value)};
    for (size_t i = 0; copy && i < PLAN_LIMIT_ROWS; i++)
        copy[count++] = (struct hutch_fact){limits[i].name, plan_means_name(limits[i].means)};
    return copy; /* arena memory is zeroed: the last row has no name */
}

const struct backend backend_native = {
    .name = "native",
    .level = LEVEL_CONTAINER,
    .check = native_check,
    .start = native_start,
    .enforced = native_enforced,
};
