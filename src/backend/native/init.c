/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * Init is a fork of the engine in new namespaces. It lives through these stages:
 *
 *  1. own process   Should: leave the caller's process group and terminal, and the arguments that it copied.
 *  2. ids           Should: wait until the engine has mapped the ids; leave the session keyring, see to
 *                   it that no exec gives privileges. Then have the first command's process make the
 *                   network beside all that follows.
 *                   Mustn't: make a file before that (it would have no owner).
 *  3. files         Should: build the plan's file system and enter it.
 *  4. locks         Should: close every inherited descriptor, put a filter on, enter the network and
 *                   take it up, drop all capabilities.
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
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/native/state.h"
#include "backend/native/tree.h"
#include "base/fd.h"
#include "sys/clock.h"
#include "sys/message.h"
#include "sys/process.h"

#define REPORTS_MAX 100

void init_step_done(struct init *init, enum proto_step step)
{
    uint64_t now = sys_clock_ns(CLOCK_MONOTONIC);

    init->step_ns[step] = now - init->last_ns;
    init->last_ns = now;
}

static _Noreturn void end(struct init *init);

void init_answer(struct init *init, struct proto_answer message, const int *fds, size_t fd_count)
{
    memcpy(message.step_ns, init->step_ns, sizeof message.step_ns);
    if (sys_message_send(init->sock, &message, sizeof message, fds, fd_count) >= 0)
        return;
    /* Nobody to tell means the engine is gone: then this is over. */
    if (init->ready)
        end(init);
    _exit(1); /* nothing has run */
}

bool init_is_over(void)
{
    struct pollfd fds[] = {{.fd = FD_SOCKET}, {.fd = FD_ENGINE, .events = POLLIN}};

    return poll(fds, 2, 0) > 0;
}

void init_answer_well(struct init *init, struct proto_answer message, int terminal)
{
    int fds[PROTO_FD_COUNT + 1];
    size_t count = 0;

    if (!init->introduced) {
        fds[count++] = FD_PROC;
        fds[count++] = FD_MEMORY;
        if (init->plan->lasting) {
            fds[count++] = FD_ROOT;
            fds[count++] = FD_MOUNTS;
        }
    }
    if (terminal >= 0)
        fds[count++] = terminal;
    init_answer(init, message, fds, count);
    if (init->introduced)
        return;
    init->introduced = true;
    close(FD_PROC);
    close(FD_MEMORY);
    if (init->plan->lasting) {
        close(FD_ROOT);
        close(FD_MOUNTS);
    }
}

static _Noreturn void give_up(struct init *init, enum proto_step step, uint32_t index, int r)
{
    init_answer(
        init,
        (struct proto_answer){.type = PROTO_FAILED, .step = step, .index = index, .error = -r},
        NULL, 0);
    _exit(1);
}

void init_must_be_ready(struct init *init)
{
    int r = init_finish_set_up(init);

    if (r < 0)
        give_up(init, STEP_NETWORK, 0, r);
}

/* ---- Serving ---- */

/*
 * A path that was hidden or protected lies open: somebody on the host has replaced it. Nothing may go on, and
 * nothing can be started any more.
 */
static _Noreturn void lose(struct init *init, int mount)
{
    kill(-1, SIGKILL);
    sys_wait_all();
    watch_end(&init->watch);
    give_up(init, STEP_MOUNTS, (uint32_t)mount, -EIDRM);
}

void init_look(struct init *init)
{
    int lost = cover_find_lost(&init->cover);

    if (lost >= 0)
        lose(init, lost);
    watch_look(&init->watch);
}

/* Whether something has come to be in a watched directory since the last look. Empties FD_SIGNALS. */
static bool has_changed(void)
{
    struct signalfd_siginfo infos[4];
    bool changed = false;
    ssize_t len;

    do {
        len = read(FD_SIGNALS, infos, sizeof infos);
        for (size_t i = 0; (ssize_t)((i + 1) * sizeof *infos) <= len; i++)
            changed = changed || infos[i].ssi_signo == WATCH_SIGNAL;
    } while (len == (ssize_t)sizeof infos);
    return changed;
}

/*
 * End what is left; then what was created although protected is gone for good. Orphans become our
 * children: who has none is alone. Asking is cheaper than kill(-1), which looks at every process of
 * the host. Returns how many there were.
 */
static unsigned sweep(struct init *init)
{
    struct sys_exit ended;
    unsigned left = 0;
    int pid;

    do
        pid = sys_wait_any(&ended);
    while (pid > 0);
    if (pid == 0) {
        kill(-1, SIGKILL);
        left = sys_wait_all();
    }
    if (init->plan->watch_count > 0 && (has_changed() || watch_timeout(&init->watch) >= 0))
        watch_end(&init->watch);
    return left;
}

/* The engine is gone, or broke its word. */
static _Noreturn void end(struct init *init)
{
    init->quiet = true; /* nobody listens */
    sweep(init);
    _exit(1);
}

static struct init_reports *reports_of(struct init *init, uint32_t run)
{
    for (size_t i = 0; i < PROTO_RUNS_MAX; i++)
        if (init->runs[i].pid && init->runs[i].run == run)
            return &init->runs[i].reports;
    return &init->nobodys;
}

static void report_violation(void *arg, uint32_t run, const struct proto_violation *violation)
{
    struct init *init = arg;
    struct init_reports *reports = reports_of(init, run);

    if (init->quiet)
        return;
    /* A flood of refusals is counted, not told: it costs its maker, and nobody else. */
    if (reports->told >= REPORTS_MAX) {
        reports->untold++;
        return;
    }
    reports->told++;
    init_answer(init,
                (struct proto_answer){.type = PROTO_VIOLATION, .run = run, .violation = *violation},
                NULL, 0);
}

static void serve_signal(struct init *init, const struct proto_request *request)
{
    if (request->scope == SCOPE_ALL) {
        kill(-1, request->signal);
        if (request->signal != SIGSTOP)
            kill(-1, SIGCONT); /* what is stopped would not get it */
        return;
    }
    for (size_t i = 0; i < PROTO_RUNS_MAX; i++) {
        pid_t pid = init->runs[i].pid;
        if (!pid || init->runs[i].run != request->run)
            continue;
        if (request->scope == SCOPE_TREE)
            tree_signal(pid, request->signal, &init->seen);
        else
            kill(-pid, request->signal);
    }
}

/* Returns whether there was a request. */
static bool serve_request(struct init *init)
{
    int fds[SYS_MESSAGE_FDS];
    size_t fd_count = 0;
    ssize_t len = sys_message_receive(init->sock, 0, init->in.bytes, sizeof init->in, fds,
                                      &fd_count);

    if (len == -EAGAIN)
        return false;
    if (len < (ssize_t)sizeof init->in.request)
        end(init); /* the end, or not our engine */

    struct proto_request request = init->in.request;
    if (request.type == PROTO_EXEC)
        init_start(init, &request, (size_t)len, fds, fd_count);
    else if (request.type == PROTO_SIGNAL)
        serve_signal(init, &request);
    else
        end(init);
    for (size_t i = 0; i < fd_count; i++)
        fd_close(&fds[i]);
    return true;
}

/*
 * A command begins with our memory, a copy of the caller's, and the kernel remembers how large that was. What is not
 * more says nothing about the command. A small copy is less than programs are measured by.
 */
static void forget_copy(struct rusage *usage)
{
    struct rusage own;

    sys_own_usage(&own);
    if (own.ru_maxrss > COPY_SMALL_KIB && usage->ru_maxrss <= own.ru_maxrss)
        usage->ru_maxrss = 0;
}

/* What a sandbox that ends has used: its command, and the orphans that were ours to wait for. */
static struct rusage whole_usage(const struct init *init, const struct rusage *command)
{
    struct rusage usage;

    sys_children_usage(&usage);
    timersub(&usage.ru_utime, &init->before.ru_utime, &usage.ru_utime);
    timersub(&usage.ru_stime, &init->before.ru_stime, &usage.ru_stime);
    usage.ru_maxrss = command->ru_maxrss;
    return usage;
}

static void report_exit(struct init *init, pid_t pid, const struct sys_exit *ended)
{
    for (size_t i = 0; i < PROTO_RUNS_MAX; i++) {
        struct init_run *run = &init->runs[i];
        if (run->pid != pid)
            continue;
        uint64_t at_ns = sys_clock_ns(CLOCK_MONOTONIC);
        uint32_t left = run->last ? sweep(init) : 0;
        struct rusage usage = run->last ? whole_usage(init, &ended->usage) : ended->usage;
        forget_copy(&usage);
        tree_end(&init->seen, pid);
        run->pid = 0;
        init_answer(init,
                    (struct proto_answer){
                        .type = PROTO_EXITED,
                        .run = run->run,
                        .code = ended->code,
                        .signal = ended->signal,
                        .at_ns = at_ns,
                        .unreported = run->reports.untold + init->nobodys.untold,
                        .left = left,
                        .usage = usage,
                    },
                    NULL, 0);
        init->nobodys.untold = 0;
        /* Systemd removes a group without processes; the engine has yet to see what it has counted. */
        if (run->last && !init->plan->cgroup.unit)
            _exit(0);
        fd_close(&run->held[0]);
        fd_close(&run->held[1]);
        init_check_spare(init);
        return;
    }
}

/* A signal says only that there is something to see; anybody inside can send one. */
static void serve_signals(struct init *init)
{
    struct sys_exit ended;

    if (has_changed())
        init_look(init);
    /* Every child: commands are reported, orphans that became ours are just reaped. */
    for (int pid = sys_wait_any(&ended); pid > 0; pid = sys_wait_any(&ended)) {
        /* What the process of the only command has failed with is that command's failure. */
        if (pid == init->spare_pid && (init->plan->lasting || !init->spare.error))
            init_drop_spare(init);
        report_exit(init, pid, &ended);
    }
}

/* How long poll() may sleep. */
static int patience(const struct init *init)
{
    int notify = notify_timeout(&init->notify);
    int watch = watch_timeout(&init->watch);

    return notify < 0 ? watch : watch < 0 || notify < watch ? notify : watch;
}

/* Whether a command is about to be waited for. */
static bool end_is_near(const struct init *init)
{
    for (size_t i = 0; i < PROTO_RUNS_MAX; i++)
        if (init->runs[i].pid && notify_has_ended(&init->notify, init->runs[i].run))
            return true;
    return false;
}

/* What is for the next command, or left of the last: who waits for the end of this one comes first. */
static int wait_for_work(struct init *init, struct pollfd *fds, nfds_t count)
{
    if (init->plan->lasting && !end_is_near(init)) {
        int r = init->spare_pid ? 0 : poll(fds, count, 0);
        if (r != 0)
            return r;
        if (!init->spare_pid)
            sched_yield(); /* to the engine, which may be waiting for this processor */
        notify_drop_ended(&init->notify);
        init_make_spare(init);
        init_shed(init);
    }
    return poll(fds, count, patience(init));
}

static _Noreturn void serve(struct init *init)
{
    enum { SOCKET, SIGNALS, ENGINE, NOTIFY };
    struct pollfd fds[NOTIFY + PROTO_LISTENERS_MAX + NOTIFY_PENDING] = {
        [SOCKET] = {.fd = FD_SOCKET, .events = POLLIN},
        [SIGNALS] = {.fd = FD_SIGNALS, .events = POLLIN},
        [ENGINE] = {.fd = FD_ENGINE, .events = POLLIN},
    };

    for (;;) {
        size_t count = notify_poll_set(&init->notify, fds + NOTIFY);
        if (wait_for_work(init, fds, NOTIFY + count) < 0) {
            if (errno == EINTR)
                continue;
            end(init);
        }
        if (fds[ENGINE].revents || (fds[SOCKET].revents & POLLHUP))
            end(init);
        notify_serve(&init->notify, fds + NOTIFY, count);
        if (watch_timeout(&init->watch) >= 0)
            init_look(init);
        if (fds[SIGNALS].revents)
            serve_signals(init);
        if (fds[SOCKET].revents)
            serve_request(init);
    }
}

_Noreturn void init_main(const struct init_args *args)
{
    struct init init;
    enum proto_step step = STEP_PROCESS;
    uint32_t index = 0;

    memset(&init, 0, offsetof(struct init, in));
    init.seen.count = 0;
    init.args = args;
    init.plan = args->plan;
    init.sock = args->sock;
    init.last_ns = args->started_ns;
    init_step_done(&init, STEP_CLONE);
    init.stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    int r = init.stack == MAP_FAILED ? -ENOMEM : init_set_up(&init, &step, &index);
    if (r < 0)
        give_up(&init, step, index, r);
    init.notify.report = init.watch.report = report_violation;
    init.notify.arg = init.watch.arg = &init;
    r = cover_open(&init.cover, init.plan, &init.watch, &index);
    if (r < 0)
        give_up(&init, r == -EIDRM ? STEP_MOUNTS : STEP_DESCRIPTORS, index, r);
    sys_children_usage(&init.before);

    if (!serve_request(&init)) {
        init_must_be_ready(&init);
        init_answer_well(&init, (struct proto_answer){.type = PROTO_READY}, -1);
    }
    /* What came to be before it was watched. The command need not wait for that. */
    watch_look(&init.watch);
    serve(&init);
}
