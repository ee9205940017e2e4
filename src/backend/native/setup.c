/* SPDX-License-Identifier: Apache-2.0 */
/* Stages 1 to 4 of init's life; init.c tells of all of them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/state.h"
#include "base/fd.h"
#include "base/str.h"
#include "filter/filter.h"
#include "sys/clone.h"
#include "sys/ids.h"
#include "sys/message.h"
#include "sys/mount.h"
#include "sys/network.h"
#include "sys/path.h"
#include "sys/privilege.h"
#include "sys/process.h"
#include "sys/ret.h"
#include "sys/seccomp.h"
#include "sys/terminal.h"

/*
 * The process of the first command is there from the beginning: the network takes as long to make as all
 * the files, and another processor can do it.
 */
static int start_first(struct init *init)
{
    init->spare = init_new_spawn(init);
    init->spare.first = true;
    init->spare.network = -EIO; /* should it be killed before it can say */
    int pid = init_spawn_prepare(&init->spare);
    if (pid < 0)
        return pid;
    init_set_spare(init, pid);
    sys_run_elsewhere(pid);
    return 0;
}

static int own_process(struct init *init)
{
    init->umask = umask(0);
    /*
     * What a terminal, or who wants the engine gone, sends to its group is not for us. No session of our own: the
     * scheduler shares processors out between sessions, and the engine and we would wait for one another.
     */
    int r = ret_errno(setpgid(0, 0));
    if (r == 0)
        r = sys_terminal_leave();
    if (r < 0)
        return r;
    r = ret_errno(prctl(PR_SET_NAME, "hutch-init", 0, 0, 0));
    if (r == 0)
        r = sys_wipe_arguments();
    return r < 0 ? r : ret_errno(sethostname(init->plan->hostname, strlen(init->plan->hostname)));
}

/*
 * Wait for the engine's word, or its end. The end of the socket would not tell: we may hold a copy
 * of the engine's side of it, and so may another sandbox that is being set up.
 */
static int wait_for_engine(const struct init *init)
{
    struct pollfd fds[] = {{.fd = init->sock, .events = POLLIN},
                           {.fd = init->args->engine_pidfd, .events = POLLIN}};

    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR)
            return -errno;
    if (fds[1].revents)
        _exit(1);
    return 0;
}

static int take_ids(struct init *init)
{
    const struct plan_identity *identity = &init->plan->identity;
    int fds[SYS_MESSAGE_FDS];
    size_t fd_count = 0;
    int r = wait_for_engine(init);

    if (r < 0)
        return r;
    ssize_t len = sys_message_receive(init->sock, 1, init->in.bytes, sizeof init->in, fds,
                                      &fd_count);
    if (len == 0)
        _exit(1);
    if (len < 0)
        return (int)len;
    if (len < (ssize_t)sizeof init->in.request || init->in.request.type != PROTO_MAPPED)
        return -EPROTO;

    r = identity->privileged ? sys_ids_become(identity->uid, identity->gid, true) : 0;
    /* The namespace that came with the clone begins at the group that systemd has moved us from. */
    if (r == 0 && init->plan->cgroup.unit)
        r = ret_errno(unshare(CLONE_NEWCGROUP));
    /* Not earlier: /proc/PID/uid_map of an undumpable process is closed to the engine too. */
    return r < 0 ? r : sys_undumpable();
}

/*
 * What every process of the sandbox lacks from its beginning, and how it takes signals. The bounding set takes
 * a call for each capability, so it is dropped once, for all that come from here.
 */
static int drop_privileges(struct init *init)
{
    int r = sys_keyring_leave();

    sys_signals_reset(); /* children of who ignores SIGCHLD cannot be waited for */
    if (r == 0)
        r = sys_no_new_privs();
    if (r == 0)
        r = sys_drop_bounding();
    return r < 0 ? r : start_first(init);
}

static int open_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, WATCH_SIGNAL);
    int r = ret_errno(sigprocmask(SIG_BLOCK, &signals, NULL));
    return r < 0 ? r : ret_errno(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

/* Leave exactly the descriptors of enum init_fd open; -1 in `keep` stays closed. */
static int place_descriptors(int keep[FD_COUNT])
{
    /* First out of the way, since any of them may be in the place of another. */
    for (int i = 0; i < FD_COUNT; i++) {
        if (keep[i] < 0)
            continue;
        keep[i] = sys_dup(keep[i], FD_COUNT);
        if (keep[i] < 0)
            return keep[i];
    }
    for (int i = 0; i < FD_COUNT; i++) {
        int r = keep[i] < 0 ? 0 : ret_errno(dup3(keep[i], i, O_CLOEXEC));
        if (r < 0)
            return r;
        if (keep[i] < 0)
            close(i);
    }
    return sys_close_from(FD_COUNT);
}

static int keep_descriptors(struct init *init)
{
    const struct plan *plan = init->plan;
    int keep[FD_COUNT] = {
        [FD_SOCKET] = init->sock,
        [FD_SIGNALS] = open_signals(),
        [FD_ENGINE] = init->args->engine_pidfd,
        [FD_LANDLOCK] = init->landlock,
        [FD_PROC] = sys_open("/proc", O_PATH | O_DIRECTORY),
        [FD_MEMORY] = init->files.memory_fd,
        [FD_ROOT] = -1,
        [FD_MOUNTS] = -1,
        [FD_NETWORK] = init->spare.network,
    };
    int r = ret_errno(pipe2(keep + FD_GO_READ, O_CLOEXEC));

    if (r < 0 || keep[FD_SIGNALS] < 0 || keep[FD_PROC] < 0)
        return r < 0 ? r : keep[FD_SIGNALS] < 0 ? keep[FD_SIGNALS] : keep[FD_PROC];
    if (plan->lasting) {
        keep[FD_ROOT] = sys_open("/", O_PATH | O_DIRECTORY);
        keep[FD_MOUNTS] = sys_open("/proc/self/ns/mnt", O_RDONLY);
        if (keep[FD_ROOT] < 0 || keep[FD_MOUNTS] < 0)
            return keep[FD_ROOT] < 0 ? keep[FD_ROOT] : keep[FD_MOUNTS];
    }
    r = place_descriptors(keep);
    if (r < 0) {
        /* What we say that by is out of the way of the others, or where it was. */
        if (keep[FD_SOCKET] >= 0)
            init->sock = keep[FD_SOCKET];
        return r;
    }
    init->sock = FD_SOCKET;
    init->landlock = keep[FD_LANDLOCK] < 0 ? -1 : FD_LANDLOCK;
    if (keep[FD_NETWORK] >= 0)
        init->spare.network = FD_NETWORK;
    notify_init(&init->notify, plan, init->files.memory);
    return watch_open(&init->watch, plan);
}

static int build_files(struct init *init)
{
    init->files.root = -1;
    return init_files_build(init->plan, init->args->trees, &init->files, &init->index);
}

static int enter_files(struct init *init)
{
    int r = init->files.root < 0 ? ret_errno(chdir("/")) : sys_mount_enter(init->files.root);

    return r == 0 && init->files.needs_remount ? init_files_remount(init->plan) : r;
}

static int build_landlock(struct init *init)
{
    init->landlock = -1;
    if (init->plan->landlock_abi == 0)
        return 0;
    init->landlock = init_landlock_build(init->plan, &init->index);
    return init->landlock < 0 ? init->landlock : 0;
}

/* The child beside us has descriptors of its own in the same table. */
static int place(struct init *init)
{
    sys_lock(&init->spare.table, &init->spare.tid);
    int r = keep_descriptors(init);
    sys_unlock(&init->spare.table);

    if (r < 0)
        return r;
    init->spare.landlock = init->landlock;
    sys_word_set(&init->spare.placed);
    return 0;
}

static int put_on_filter(struct init *init)
{
    const struct filter *filter = init->plan->init_filter;

    return sys_seccomp_load(filter->code, filter->len);
}

/* Into the network that the first command's process has made. That has locks to put on; we take it up. */
static int enter_network(struct init *init)
{
    if (init->plan->net != NET_NONE)
        return 0;
    sys_word_wait_for(&init->spare.made, &init->spare.tid);
    if (init->spare.network < 0)
        return init->spare.network;
    int r = sys_network_enter(init->spare.network);
    fd_close(&init->spare.network);
    return r < 0 ? r : sys_network_up();
}

int init_finish_set_up(struct init *init)
{
    if (init->ready)
        return 0;
    int r = enter_network(init);
    if (r == 0)
        r = sys_drop_capabilities();
    init->ready = r == 0;
    init_step_done(init, STEP_NETWORK);
    return r;
}

int init_set_up(struct init *init, enum proto_step *ret_step, uint32_t *ret_index)
{
    static const struct {
        enum proto_step step;
        int (*run)(struct init *init);
    } stages[] = {
        {STEP_PROCESS, own_process},        {STEP_IDS, take_ids},
        {STEP_PRIVILEGES, drop_privileges}, {STEP_MOUNTS, build_files},
        {STEP_ENTER, enter_files},          {STEP_LANDLOCK, build_landlock},
        {STEP_DESCRIPTORS, place},          {STEP_FILTER, put_on_filter},
    };

    for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
        int r = stages[i].run(init);
        if (r < 0) {
            *ret_step = stages[i].step;
            *ret_index = init->index;
            return r;
        }
        init_step_done(init, stages[i].step);
    }
    return 0;
}
