/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * Init is a fork of the engine in new namespaces. It lives through these stages:
 *
 *  1. own process   Should: have a second process make the network; leave the caller's session,
 *                   default every signal, wipe its arguments.
 *  2. ids           Should: wait until the engine has mapped the ids.
 *                   Mustn't: make a file before that (it would have no owner).
 *  3. files         Should: build the plan's file system and pivot into it; enter the network.
 *  4. privileges    Should: refuse nested user namespaces, leave the session keyring, close every
 *                   inherited descriptor, drop all capabilities, put a filter on.
 *                   Mustn't: keep anything of the engine but the socket and its pidfd.
 *  5. serve         Should: start commands, answer for their filters, pass signals on, reap, report;
 *                   end with the engine.
 *                   Mustn't: believe anything that a process of the sandbox could have said. Its
 *                   input is the socket, what wait4() and the engine's pidfd tell, and calls that
 *                   the kernel stopped, whose arguments are checked like any hostile bytes.
 *
 * A failure in 1 to 4 is sent as FAILED with its step, and init ends: nothing has run. In stage 5 the
 * descriptors of enum init_fd are open, and those of commands being started or served.
 */
#include "backend/native/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/request.h"
#include "backend/native/notify.h"
#include "backend/native/watch.h"
#include "filter/filter.h"
#include "sys/clone.h"
#include "sys/ids.h"
#include "sys/network.h"
#include "sys/message.h"
#include "sys/mount.h"
#include "sys/privilege.h"
#include "sys/process.h"
#include "sys/ret.h"
#include "sys/seccomp.h"
#include "sys/terminal.h"

enum init_fd {
    FD_SOCKET,
    FD_SIGNALS,  /* signalfd for SIGCHLD and WATCH_SIGNAL */
    FD_ENGINE,   /* pidfd, readable when the engine has ended */
    FD_LANDLOCK, /* ruleset of every command; may be missing */
    FD_COUNT,
};

#define RUNS_MAX 64
#define REPORTS_MAX 100
#define STACK_BYTES (128 * 1024)

struct init {
    const struct init_args *args;
    const struct plan *plan;
    int sock;
    int landlock; /* before it gets its place among enum init_fd */
    int network;  /* namespace, when network_pid has made it */
    pid_t network_pid;
    mode_t umask;
    bool quiet; /* no reports any more */
    uint32_t reports;    /* of violations, so far */
    uint32_t unreported; /* since the last command ended */
    struct notify notify;
    struct watch watch;
    uint64_t step_ns[STEP_COUNT];
    uint64_t last_ns;
    struct {
        uint32_t run;
        pid_t pid; /* 0: free */
        bool last;
    } runs[RUNS_MAX];
    char *stack; /* for the child that shares our memory: first the network's, then commands */

    /* Last, and never cleared: every page of it that is touched costs a fault. */
    union {
        struct proto_request request;
        char bytes[sizeof(struct proto_request) + PROTO_TEXT_INLINE];
    } in;
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static void step_done(struct init *init, enum proto_step step)
{
    uint64_t now = now_ns();

    init->step_ns[step] = now - init->last_ns;
    init->last_ns = now;
}

static void answer(const struct init *init, struct proto_answer message, const int *fds,
                   size_t fd_count)
{
    memcpy(message.step_ns, init->step_ns, sizeof message.step_ns);
    /* Nobody to tell means the engine is gone: then this is over. */
    if (sys_message_send(init->sock, &message, sizeof message, fds, fd_count) < 0)
        _exit(1);
}

static _Noreturn void give_up(const struct init *init, enum proto_step step, uint32_t index, int r)
{
    answer(init,
           (struct proto_answer){
               .type = PROTO_FAILED, .step = step, .index = index, .error = -r},
           NULL, 0);
    _exit(1);
}

/* ---- Set-up ---- */

static int own_process(struct init *init)
{
    sys_signals_reset();
    init->umask = umask(0);
    int r = ret_errno(setsid());
    if (r < 0 && r != -EPERM) /* EPERM: already a leader */
        return r;
    r = ret_errno(prctl(PR_SET_NAME, "hutch-init", 0, 0, 0));
    if (r == 0)
        r = ret_errno(sethostname(init->plan->hostname, strlen(init->plan->hostname)));
    return r < 0 ? r : sys_wipe_arguments();
}

/*
 * A network namespace takes the kernel as long to make as all mounts together. So a second process
 * makes it, while init builds the files; it shares init's memory and descriptors, and ends before
 * anything untrusted starts.
 */
static int make_network(void *arg)
{
    struct init *init = arg;

    init->network = sys_network_new();
    _exit(0);
}

static int start_network(struct init *init)
{
    init->network_pid = 0;
    if (init->plan->net != NET_NONE)
        return 0;
    init->network_pid = sys_share_call(make_network, init, init->stack, STACK_BYTES);
    return init->network_pid < 0 ? init->network_pid : 0;
}

static int join_network(struct init *init)
{
    if (!init->network_pid)
        return 0;
    int r = sys_wait_for(init->network_pid);
    if (r >= 0)
        r = init->network < 0 ? init->network : sys_network_enter(init->network);
    return r < 0 ? r : 0;
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
    ssize_t len =
        sys_message_receive(init->sock, 1, init->in.bytes, sizeof init->in, fds, &fd_count);
    if (len == 0)
        _exit(1);
    if (len < 0)
        return (int)len;
    if (len < (ssize_t)sizeof init->in.request || init->in.request.type != PROTO_MAPPED)
        return -EPROTO;

    r = identity->privileged ? sys_ids_become(identity->uid, identity->gid, true) : 0;
    /* The second refusal of nested user namespaces; the filters are the first. */
    if (r == 0)
        r = sys_userns_forbid();
    /* Not earlier: /proc/PID/uid_map of an undumpable process is closed to the engine too. */
    return r < 0 ? r : sys_undumpable();
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
        keep[i] = ret_errno(fcntl(keep[i], F_DUPFD_CLOEXEC, FD_COUNT));
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
    };

    if (keep[FD_SIGNALS] < 0)
        return keep[FD_SIGNALS];
    int r = place_descriptors(keep);
    init->sock = FD_SOCKET;
    init->landlock = keep[FD_LANDLOCK] < 0 ? -1 : FD_LANDLOCK;
    notify_init(&init->notify, plan);
    return r < 0 ? r : watch_open(&init->watch, plan);
}

static int drop_privileges(const struct init *init)
{
    const struct filter *filter = init->plan->init_filter;
    int r = sys_keyring_leave();

    if (r == 0)
        r = sys_drop_bounding();
    if (r == 0)
        r = sys_no_new_privs();
    return r < 0 ? r : sys_seccomp_load(filter->code, filter->len);
}

static void set_up(struct init *init)
{
    struct init_files files = {.root = -1};
    uint32_t index = 0;
    int r = start_network(init);

    if (r < 0)
        give_up(init, STEP_NETWORK, 0, r);
    r = own_process(init);
    if (r < 0)
        give_up(init, STEP_PROCESS, 0, r);
    step_done(init, STEP_PROCESS);

    r = take_ids(init);
    if (r < 0)
        give_up(init, STEP_IDS, 0, r);
    step_done(init, STEP_IDS);

    r = init_files_build(init->plan, init->args->trees, &files, &index);
    if (r < 0)
        give_up(init, STEP_MOUNTS, index, r);
    step_done(init, STEP_MOUNTS);

    r = files.root < 0 ? ret_errno(chdir("/")) : sys_mount_pivot(files.root);
    if (r == 0 && files.needs_remount)
        r = init_files_remount(init->plan);
    if (r < 0)
        give_up(init, STEP_PIVOT, 0, r);
    step_done(init, STEP_PIVOT);

    init->landlock = -1;
    if (init->plan->landlock_abi > 0)
        init->landlock = r = init_landlock_build(init->plan, &index);
    if (r < 0)
        give_up(init, STEP_LANDLOCK, index, r);
    step_done(init, STEP_LANDLOCK);

    /* All but the capabilities go before this wait; entering the network needs one. */
    r = drop_privileges(init);
    if (r < 0)
        give_up(init, STEP_PRIVILEGES, 0, r);
    step_done(init, STEP_PRIVILEGES);

    r = join_network(init);
    if (r < 0)
        give_up(init, STEP_NETWORK, 0, r);
    step_done(init, STEP_NETWORK);

    r = keep_descriptors(init);
    if (r == 0)
        r = sys_drop_capabilities();
    if (r < 0)
        give_up(init, STEP_DESCRIPTORS, 0, r);
    step_done(init, STEP_DESCRIPTORS);
}

/* ---- Serving ---- */

/* After the last process: what was created although protected is gone for good now. */
static void sweep(struct init *init)
{
    if (init->plan->watch_count == 0)
        return;
    kill(-1, SIGKILL);
    sys_wait_all();
    watch_look(&init->watch);
}

/* The engine is gone, or broke its word. */
static _Noreturn void end(struct init *init)
{
    init->quiet = true; /* nobody listens */
    sweep(init);
    _exit(1);
}

static void report_violation(void *arg, uint32_t run, const struct proto_violation *violation)
{
    struct init *init = arg;

    /* A flood of refusals is counted, not told: it costs its maker, and nobody else. */
    if (init->reports >= REPORTS_MAX)
        init->unreported++;
    else if (!init->quiet && ++init->reports)
        answer(init,
               (struct proto_answer){
                   .type = PROTO_VIOLATION, .run = run, .violation = *violation},
               NULL, 0);
}

static int remember(struct init *init, uint32_t run, pid_t pid, bool last)
{
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (init->runs[i].pid == 0) {
            init->runs[i].run = run;
            init->runs[i].pid = pid;
            init->runs[i].last = last;
            return 0;
        }
    return -EAGAIN;
}

static void exec_failed(const struct init *init, const struct proto_request *request,
                        enum proto_exec_step step, int r)
{
    answer(init,
           (struct proto_answer){
               .type = PROTO_EXEC_FAILED, .run = request->run, .step = step, .error = -r},
           NULL, 0);
    if (request->last)
        _exit(0);
}

/* Start the command, with its streams or terminal in place, and say how that went. */
static void start(struct init *init, const struct proto_request *request, struct init_spawn *spawn)
{
    int master = -1;
    uint64_t at_ns = now_ns();

    if (request->tty) {
        int r = sys_terminal_open(&master, &spawn->terminal);
        if (r == 0)
            r = sys_terminal_resize(master, request->rows, request->cols);
        if (r < 0) {
            exec_failed(init, request, EXEC_STEP_TERMINAL, r);
            return;
        }
    }
    int pid = init_spawn(spawn);
    int r = spawn->error ? -spawn->error : remember(init, request->run, pid, request->last);
    if (r == 0)
        r = notify_add(&init->notify, spawn->listener, request->run);
    if (r < 0) {
        if (!spawn->error)
            kill(pid, SIGKILL);
        exec_failed(init, request, spawn->error ? spawn->step : EXEC_STEP_FORK, r);
    } else {
        answer(init,
               (struct proto_answer){.type = PROTO_STARTED, .run = request->run, .at_ns = at_ns},
               &master, master >= 0);
    }
    if (master >= 0) {
        close(master);
        close(spawn->terminal);
    }
}

/* Map the strings when they came in a memfd, and make room for the pointers to them. */
static void serve_exec(struct init *init, const struct proto_request *request, size_t len,
                       const int *fds, size_t fd_count)
{
    struct init_spawn spawn = {
        .plan = init->plan,
        .umask = init->umask,
        .terminal = -1,
        .landlock = init->landlock,
        .stack = init->stack,
        .stack_size = STACK_BYTES,
    };
    struct request_strings strings = {0};
    size_t streams = request->tty ? 0 : 3;
    char *text = init->in.bytes + sizeof *request;

    int r = request_check_exec(request, len, fd_count);
    if (r < 0) {
        exec_failed(init, request, EXEC_STEP_REQUEST, r);
        return;
    }
    for (size_t i = 0; i < streams; i++)
        spawn.stdio[i] = fds[i];
    if (request->in_memfd)
        text = mmap(NULL, request->text_len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[streams], 0);
    size_t slots_bytes = request_slot_count(request) * sizeof(char *);
    char **slots = mmap(NULL, slots_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    r = text == MAP_FAILED || slots == MAP_FAILED ? -ENOMEM
                                                  : request_unpack(request, text, slots, &strings);
    spawn.cwd = strings.cwd;
    spawn.argv = strings.argv;
    spawn.envp = strings.envp;
    if (r < 0)
        exec_failed(init, request, EXEC_STEP_REQUEST, r);
    else
        start(init, request, &spawn);
    if (slots != MAP_FAILED)
        munmap(slots, slots_bytes);
    if (request->in_memfd && text != MAP_FAILED)
        munmap(text, request->text_len);
}

static void serve_signal(const struct init *init, const struct proto_request *request)
{
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (init->runs[i].pid && init->runs[i].run == request->run && !request->tree)
            kill(-init->runs[i].pid, request->signal);
    if (request->tree) {
        kill(-1, request->signal);
        /* What is stopped would not get it. */
        kill(-1, SIGCONT);
    }
}

/* Returns whether there was a request. */
static bool serve_request(struct init *init)
{
    int fds[SYS_MESSAGE_FDS];
    size_t fd_count = 0;
    ssize_t len =
        sys_message_receive(init->sock, 0, init->in.bytes, sizeof init->in, fds, &fd_count);

    if (len == -EAGAIN)
        return false;
    if (len < (ssize_t)sizeof init->in.request)
        end(init); /* the end, or not our engine */

    struct proto_request request = init->in.request;
    if (request.type == PROTO_EXEC)
        serve_exec(init, &request, (size_t)len, fds, fd_count);
    else if (request.type == PROTO_SIGNAL)
        serve_signal(init, &request);
    else
        end(init);
    for (size_t i = 0; i < fd_count; i++)
        close(fds[i]);
    return true;
}

static void report_exit(struct init *init, pid_t pid, const struct sys_exit *ended)
{
    for (size_t i = 0; i < RUNS_MAX; i++) {
        if (init->runs[i].pid != pid)
            continue;
        init->runs[i].pid = 0;
        uint64_t at_ns = now_ns();
        if (init->runs[i].last)
            sweep(init);
        answer(init,
               (struct proto_answer){
                   .type = PROTO_EXITED,
                   .run = init->runs[i].run,
                   .code = ended->code,
                   .signal = ended->signal,
                   .at_ns = at_ns,
                   .unreported = init->unreported,
                   .usage = ended->usage,
               },
               NULL, 0);
        init->unreported = 0;
        if (init->runs[i].last)
            _exit(0);
        return;
    }
}

/* A signal says only that there is something to see; anybody inside can send one. */
static void serve_signals(struct init *init)
{
    struct signalfd_siginfo info;
    struct sys_exit ended;
    bool changed = false;

    while (read(FD_SIGNALS, &info, sizeof info) > 0)
        changed = changed || info.ssi_signo == WATCH_SIGNAL;
    if (changed)
        watch_look(&init->watch);
    /* Every child: commands are reported, orphans that became ours are just reaped. */
    for (int pid = sys_wait_any(&ended); pid > 0; pid = sys_wait_any(&ended))
        report_exit(init, pid, &ended);
}

/* How long poll() may sleep. */
static int patience(const struct init *init)
{
    int notify = notify_timeout(&init->notify);
    int watch = watch_timeout(&init->watch);

    return notify < 0 ? watch : watch < 0 || notify < watch ? notify : watch;
}

static _Noreturn void serve(struct init *init)
{
    enum { SOCKET, SIGNALS, ENGINE, NOTIFY };
    struct pollfd fds[NOTIFY + NOTIFY_LISTENERS + NOTIFY_PENDING] = {
        [SOCKET] = {.fd = FD_SOCKET, .events = POLLIN},
        [SIGNALS] = {.fd = FD_SIGNALS, .events = POLLIN},
        [ENGINE] = {.fd = FD_ENGINE, .events = POLLIN},
    };

    for (;;) {
        size_t count = notify_poll_set(&init->notify, fds + NOTIFY);
        if (poll(fds, NOTIFY + count, patience(init)) < 0) {
            if (errno == EINTR)
                continue;
            end(init);
        }
        if (fds[ENGINE].revents)
            end(init);
        notify_serve(&init->notify, fds + NOTIFY, count);
        if (init->watch.polls)
            watch_look(&init->watch);
        if (fds[SIGNALS].revents)
            serve_signals(init);
        if (fds[SOCKET].revents)
            serve_request(init);
    }
}

_Noreturn void init_main(const struct init_args *args)
{
    struct init init;

    memset(&init, 0, offsetof(struct init, in));
    init.args = args;
    init.plan = args->plan;
    init.sock = args->sock;
    init.last_ns = args->started_ns;
    step_done(&init, STEP_CLONE);
    init.stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (init.stack == MAP_FAILED)
        give_up(&init, STEP_PROCESS, 0, -ENOMEM);
    set_up(&init);
    init.notify.report = init.watch.report = report_violation;
    init.notify.arg = init.watch.arg = &init;
    watch_look(&init.watch);

    if (!serve_request(&init))
        answer(&init, (struct proto_answer){.type = PROTO_READY}, NULL, 0);
    serve(&init);
}
