/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * Init is a fork of the engine in new namespaces. It lives through these stages:
 *
 *  1. own process   Should: leave the caller's session, default every signal, wipe its arguments.
 *  2. network, ids  Should: bring up loopback; wait until the engine has mapped the ids.
 *                   Mustn't: make a file before that (it would have no owner).
 *  3. files         Should: build the plan's file system and pivot into it.
 *  4. privileges    Should: close every inherited descriptor, drop all capabilities.
 *                   Mustn't: keep anything of the engine but the socket and its pidfd.
 *  5. serve         Should: start commands, pass signals on, reap, report; end with the engine.
 *                   Mustn't: believe anything that a process of the sandbox could have said. Its
 *                   only input is the socket, and what wait4() and the engine's pidfd tell.
 *
 * A failure in 1 to 4 is sent as FAILED with its step, and init ends: nothing has run. Descriptors
 * in stage 5: 0 is the socket, 1 a signalfd for SIGCHLD, 2 the engine's pidfd.
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

#include "sys/ids.h"
#include "sys/loopback.h"
#include "sys/message.h"
#include "sys/mount.h"
#include "sys/privilege.h"
#include "sys/process.h"
#include "sys/ret.h"
#include "sys/terminal.h"

#define SOCKET_FD 0
#define SIGNAL_FD 1
#define ENGINE_FD 2
#define RUNS_MAX 64
#define STACK_BYTES (128 * 1024)

struct init {
    const struct init_args *args;
    const struct plan *plan;
    int sock;
    mode_t umask;
    uint64_t step_ns[STEP_COUNT];
    uint64_t last_ns;
    struct {
        uint32_t run;
        pid_t pid; /* 0: free */
        bool last;
    } runs[RUNS_MAX];
    char *stack; /* for the child between fork and exec */

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
    return r < 0 ? r : sys_wipe_arguments();
}

static int set_network(const struct plan *plan)
{
    int r = plan->net == NET_NONE ? sys_loopback_up() : 0;

    return r < 0 ? r : ret_errno(sethostname(plan->hostname, strlen(plan->hostname)));
}

static int take_ids(struct init *init)
{
    const struct plan_identity *identity = &init->plan->identity;
    int fds[SYS_MESSAGE_FDS];
    size_t fd_count = 0;

    ssize_t len =
        sys_message_receive(init->sock, 1, init->in.bytes, sizeof init->in, fds, &fd_count);
    if (len == 0)
        _exit(1);
    if (len < 0)
        return (int)len;
    if (len < (ssize_t)sizeof init->in.request || init->in.request.type != PROTO_MAPPED)
        return -EPROTO;

    int r = identity->privileged ? sys_ids_become(identity->uid, identity->gid, true) : 0;
    /* Not earlier: /proc/PID/uid_map of an undumpable process is closed to the engine too. */
    return r < 0 ? r : sys_undumpable();
}

/* Leave exactly three descriptors, where serve() expects them. */
static int keep_descriptors(struct init *init)
{
    sigset_t child;
    int keep[3];

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    int r = ret_errno(sigprocmask(SIG_BLOCK, &child, NULL));
    keep[0] = init->sock;
    keep[1] = r < 0 ? r : ret_errno(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    keep[2] = init->args->engine_pidfd;
    if (keep[1] < 0)
        return keep[1];

    /* First out of the way, since any of them may be 0, 1 or 2 already. */
    for (int i = 0; i < 3; i++) {
        keep[i] = ret_errno(fcntl(keep[i], F_DUPFD_CLOEXEC, 3));
        if (keep[i] < 0)
            return keep[i];
    }
    for (int i = 0; i < 3; i++) {
        r = ret_errno(dup3(keep[i], i, O_CLOEXEC));
        if (r < 0)
            return r;
    }
    init->sock = SOCKET_FD;
    return sys_close_from(3);
}

static int drop_privileges(struct init *init)
{
    int r = keep_descriptors(init);

    if (r == 0)
        r = sys_drop_capabilities();
    if (r == 0)
        r = sys_no_new_privs();
    return r;
}

static void set_up(struct init *init)
{
    struct init_files files = {.root = -1};
    uint32_t index = 0;
    int r = own_process(init);

    if (r < 0)
        give_up(init, STEP_PROCESS, 0, r);
    step_done(init, STEP_PROCESS);

    r = set_network(init->plan);
    if (r < 0)
        give_up(init, STEP_NETWORK, 0, r);
    step_done(init, STEP_NETWORK);

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

    r = drop_privileges(init);
    if (r < 0)
        give_up(init, STEP_PRIVILEGES, 0, r);
    step_done(init, STEP_PRIVILEGES);
}

/* ---- Serving ---- */

/* The next of the NUL-terminated strings in [*text, end), or NULL when there is no whole one. */
static char *next_string(char **text, char *end)
{
    char *start = *text;
    char *nul = start < end ? memchr(start, '\0', (size_t)(end - start)) : NULL;

    if (!nul)
        return NULL;
    *text = nul + 1;
    return start;
}

/* Fill `spawn` from the strings of a request; `slots` has room for argc + envc + 4 pointers. */
static int unpack(const struct proto_request *request, char *text, char **slots,
                  struct init_spawn *spawn)
{
    char *end = text + request->text_len;

    spawn->cwd = next_string(&text, end);
    if (!spawn->cwd || request->argc == 0)
        return -EPROTO;

    spawn->argv = ++slots; /* one free slot before, for "sh" */
    for (uint32_t i = 0; i < request->argc + request->envc; i++) {
        if (i == request->argc) {
            *slots++ = NULL;
            spawn->envp = slots;
        }
        *slots = next_string(&text, end);
        if (!*slots++)
            return -EPROTO;
    }
    if (request->envc == 0) {
        *slots++ = NULL;
        spawn->envp = slots;
    }
    *slots = NULL;
    return 0;
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
        .limits = &init->plan->limits,
        .umask = init->umask,
        .terminal = -1,
        .stack = init->stack,
        .stack_size = STACK_BYTES,
    };
    size_t streams = request->tty ? 0 : 3;
    size_t slots_bytes = ((size_t)request->argc + request->envc + 4) * sizeof(char *);
    char *text = init->in.bytes + sizeof *request;

    if (fd_count != streams + (request->in_memfd ? 1 : 0) ||
        (!request->in_memfd && request->text_len != len - sizeof *request)) {
        exec_failed(init, request, EXEC_STEP_REQUEST, -EPROTO);
        return;
    }
    for (size_t i = 0; i < streams; i++)
        spawn.stdio[i] = fds[i];
    if (request->in_memfd)
        text = mmap(NULL, request->text_len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[streams], 0);
    char **slots = mmap(NULL, slots_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    int r = text == MAP_FAILED || slots == MAP_FAILED ? -ENOMEM
                                                      : unpack(request, text, slots, &spawn);
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
        _exit(1); /* the end, or not our engine */

    struct proto_request request = init->in.request;
    if (request.type == PROTO_EXEC)
        serve_exec(init, &request, (size_t)len, fds, fd_count);
    else if (request.type == PROTO_SIGNAL)
        serve_signal(init, &request);
    else
        _exit(1);
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
        answer(init,
               (struct proto_answer){
                   .type = PROTO_EXITED,
                   .run = init->runs[i].run,
                   .code = ended->code,
                   .signal = ended->signal,
                   .at_ns = now_ns(),
                   .usage = ended->usage,
               },
               NULL, 0);
        if (init->runs[i].last)
            _exit(0);
        return;
    }
}

/* Every child: commands are reported, orphans that became ours are just reaped. */
static void reap(struct init *init)
{
    struct signalfd_siginfo info;
    struct sys_exit ended;

    while (read(SIGNAL_FD, &info, sizeof info) > 0)
        ;
    for (int pid = sys_wait_any(&ended); pid > 0; pid = sys_wait_any(&ended))
        report_exit(init, pid, &ended);
}

static _Noreturn void serve(struct init *init)
{
    struct pollfd fds[] = {
        [SOCKET_FD] = {.fd = SOCKET_FD, .events = POLLIN},
        [SIGNAL_FD] = {.fd = SIGNAL_FD, .events = POLLIN},
        [ENGINE_FD] = {.fd = ENGINE_FD, .events = POLLIN},
    };

    for (;;) {
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            _exit(1);
        if (fds[ENGINE_FD].revents)
            _exit(1);
        if (fds[SIGNAL_FD].revents)
            reap(init);
        if (fds[SOCKET_FD].revents)
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
    set_up(&init);
    init.stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (init.stack == MAP_FAILED)
        give_up(&init, STEP_PRIVILEGES, 0, -ENOMEM);

    if (!serve_request(&init))
        answer(&init, (struct proto_answer){.type = PROTO_READY}, NULL, 0);
    serve(&init);
}
