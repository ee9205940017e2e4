/* SPDX-License-Identifier: Apache-2.0 */
/* The native backend: the life of its sandboxes, what it can do, and its row in the registry. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "backend/native/account.h"
#include "backend/native/describe.h"
#include "backend/native/engine.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "sys/clock.h"

/* How long init may take for its last work; a moment, unless the machine is busy. */
#define END_MS 10000

/* ---- Ending ---- */

/*
 * Init undoes what was created although protected when it sees that we are gone. Whatever else it has been
 * asked for comes after that.
 */
static void native_kill(struct sandbox *sandbox, bool now)
{
    struct native *native = (struct native *)sandbox;

    if (sandbox->exit_fd < 0 || native->reaped)
        return;
    if (native->plan->watch_count > 0 && !now)
        shutdown(sandbox->events_fd, SHUT_RDWR);
    else
        sys_pidfd_kill(sandbox->exit_fd, SIGKILL);
}

static void wait_for_end(const struct sandbox *sandbox)
{
    struct pollfd ended = {.fd = sandbox->exit_fd, .events = POLLIN};
    uint64_t until_ns = sys_clock_ns(CLOCK_MONOTONIC) + END_MS * UINT64_C(1000000);
    uint64_t now_ns;

    while ((now_ns = sys_clock_ns(CLOCK_MONOTONIC)) < until_ns &&
           poll(&ended, 1, (int)((until_ns - now_ns) / 1000000) + 1) < 0 && errno == EINTR)
        ;
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

static bool native_leave(struct sandbox *sandbox)
{
    struct native *native = (struct native *)sandbox;

    /* Who lets go last takes the file systems apart. That can be init, which nobody waits for. */
    fd_close(&sandbox->proc_fd);
    fd_close(&native->memory);
    return native->plan->cgroup.version == 0 || native->janitor.pid > 0;
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
        native_kill(sandbox, false);
        wait_for_end(sandbox);
        native_kill(sandbox, true);
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
    if (native->spare)
        munmap(native->spare, sizeof *native->spare);
    native_cgroup_clear(&native->cgroup);
    janitor_dismiss(&native->janitor);
}

/* ---- Starting ---- */

static int make_groups(struct native *native, struct hutch_error *err)
{
    int r = janitor_start(&native->janitor, native->plan, err);

    return r < 0 ? r : native_cgroup_make(&native->cgroup, native->plan, err);
}

static int make_groups_v1(struct native *native, struct hutch_error *err)
{
    int r = make_groups(native, err);

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

static const struct sandbox_ops native_ops = {
    .exec = native_exec,
    .next = native_next,
    .signal = native_signal,
    .forget = native_forget,
    .measure = native_measure,
    .measure_run = native_measure_run,
    .kill = native_kill,
    .wait = native_wait,
    .leave = native_leave,
    .free = native_free,
};

/* How far from a sandbox's other memory its page is that init shares. */
#define SHARED_AWAY ((uintptr_t)1 << 32)

/*
 * Where init says which process is its spare. Away from the arenas of sandboxes: those are one mapping to the kernel
 * as long as nothing lies between them, and every later init has a copy of each.
 */
static int share_spare(struct native *native)
{
    void *away = (void *)(((uintptr_t)native - SHARED_AWAY) & ~(uintptr_t)0xffff);
    void *shared = mmap(away, sizeof *native->spare, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return -errno;
    native->base.spare = native->spare = shared;
    return 0;
}

static int native_start(const struct plan *plan, struct arena *arena, struct sandbox **ret,
                        struct hutch_error *err)
{
    const size_t mount_count = plan->mount_count;
    struct native *native = arena_alloc(arena, sizeof *native);
    int *trees = arena_alloc(arena, sizeof *trees * (mount_count + 1));

    if (!native || !trees)
        return err_oom(err);
    native->base = (struct sandbox){
        .ops = &native_ops, .events_fd = -1, .exit_fd = -1, .proc_fd = -1, .root_fd = -1};
    native->plan = plan;
    native->memory = -1;
    native->mounts = -1;
    native->usage = unknown_usage;
    for (size_t i = 0; i < mount_count; i++)
        trees[i] = -1;
    if (plan->lasting && share_spare(native) < 0)
        return err_oom(err);
    int r = plan->cgroup.version == 2 ? make_groups(native, err) : 0;
    if (r == 0)
        r = native_make_trees(plan, &native->holder, trees, err);
    if (r == 0)
        r = native_clone_init(native, trees, err);
    /* Another sandbox's init has no business there. */
    if (r == 0 && native->spare && madvise(native->spare, sizeof *native->spare, MADV_DONTFORK) < 0)
        r = err_sys(err, -errno, "clone", "cannot keep memory from other sandboxes");
    /* Commands join these, init does not: there is time while it builds its files. */
    if (r == 0 && plan->cgroup.version == 1)
        r = make_groups_v1(native, err);
    for (size_t i = 0; i < mount_count; i++)
        fd_close(&trees[i]);
    if (r < 0) {
        native_free(&native->base);
        return r;
    }
    *ret = &native->base;
    return 0;
}

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
        {"nodump", "true"},
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
    .blamed_fact = native_blamed_fact,
};
