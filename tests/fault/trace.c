/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HANG_MS 10000 /* far above what a run takes on a busy machine */
#define LEFT_MS 3000
#define TICK_MS 50
#define PROCESSES_MAX 64
#define NR_MAX 600

struct process {
    pid_t pid; /* 0: free */
    enum trace_role role;
    bool counting; /* the engine's calls count from a certain point on */
    bool waits;    /* it has come to where it only waits */
    bool faulty;   /* the call it is in will have failed */
    bool held;     /* stopped until its parent has told of it */
    unsigned calls[NR_MAX];
};

struct tracer {
    const struct trace_run *run;
    struct trace_log *log;
    const struct trace_fault *fault;
    struct trace_end *end;
    pid_t engine;
    bool engine_ended;
    size_t exec_at; /* where in the log the command's execve is */
    double deadline_ms;
    struct process processes[PROCESSES_MAX];
};

static double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* ---- Registers ---- */

/* Make the kernel skip the call that the process is about to make. */
static int skip_call(pid_t pid)
{
#if defined(__x86_64__)
    return (int)ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), -1L);
#elif defined(__aarch64__)
    int none = -1;
    struct iovec iov = {.iov_base = &none, .iov_len = sizeof none};
    return (int)ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &iov);
#else
#error "this machine's registers are not known"
#endif
}

static int set_result(pid_t pid, long value)
{
#if defined(__x86_64__)
    return (int)ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax), value);
#else
    struct user_regs_struct regs;
    struct iovec iov = {.iov_base = &regs, .iov_len = sizeof regs};
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov) < 0)
        return -1;
    regs.regs[0] = (unsigned long long)value;
    return (int)ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov);
#endif
}

/* ---- Processes ---- */

static struct process *find(struct tracer *tracer, pid_t pid)
{
    for (size_t i = 0; i < PROCESSES_MAX; i++)
        if (tracer->processes[i].pid == pid)
            return &tracer->processes[i];
    return NULL;
}

static struct process *add(struct tracer *tracer, pid_t pid)
{
    struct process *process = find(tracer, pid);

    if (process)
        return process;
    process = find(tracer, 0);
    if (!process)
        abort();
    *process = (struct process){.pid = pid, .role = ROLE_PAYLOAD};
    return process;
}

static bool any_alive(const struct tracer *tracer)
{
    for (size_t i = 0; i < PROCESSES_MAX; i++)
        if (tracer->processes[i].pid)
            return true;
    return false;
}

static void kill_all(const struct tracer *tracer)
{
    for (size_t i = 0; i < PROCESSES_MAX; i++)
        if (tracer->processes[i].pid)
            kill(tracer->processes[i].pid, SIGKILL);
}

/* Whether a process is the first of a pid namespace below ours. */
static bool is_init(pid_t pid)
{
    char path[64];
    char line[256];
    long outer = 0;
    long inner = 0;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "NSpid:", 6) == 0) {
            char *rest;
            outer = strtol(line + 6, &rest, 10);
            inner = strtol(rest, NULL, 10);
        }
    if (file)
        fclose(file);
    return outer && inner == 1;
}

/* Calls cost two stops each: only those that matter are watched. */
static bool is_watched(const struct tracer *tracer, const struct process *process)
{
    const struct trace_fault *fault = tracer->fault;

    if (process->role >= ROLE_COUNT)
        return false;
    if (tracer->log || process->faulty)
        return true;
    if (!fault || (fault->call.nth && tracer->end->reached))
        return false;
    return fault->call.role == ROLE_ANY || fault->call.role == process->role;
}

static void resume(const struct tracer *tracer, struct process *process, int signal)
{
    /* ESRCH: killed meanwhile; its end will be reported. */
    ptrace(is_watched(tracer, process) ? PTRACE_SYSCALL : PTRACE_CONT, process->pid, 0, signal);
}

/* The new process is stopped, or will be before it does anything. */
static void on_new(struct tracer *tracer, const struct process *parent)
{
    unsigned long pid = 0;

    if (ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &pid) < 0)
        return;
    struct process *child = add(tracer, (pid_t)pid);
    if (parent->role == ROLE_ENGINE)
        child->role = is_init(child->pid) ? ROLE_INIT : ROLE_HELPER;
    else if (parent->role == ROLE_INIT && !tracer->end->executed)
        child->role = ROLE_COMMAND;
    child->counting = child->role < ROLE_COUNT;
    if (child->held) {
        child->held = false;
        resume(tracer, child, 0);
    }
}

/* ---- Calls ---- */

static void log_call(struct trace_log *log, struct trace_call call)
{
    if (log->count == log->cap) {
        log->cap = log->cap ? log->cap * 2 : 1024;
        log->calls = realloc(log->calls, log->cap * sizeof *log->calls);
        if (!log->calls)
            abort();
    }
    log->calls[log->count++] = call;
}

void trace_log_clear(struct trace_log *log)
{
    free(log->calls);
    *log = (struct trace_log){0};
}

/* Which argument of a call is the path that it opens; -1: it opens none. Not every libc has openat(). */
static int opened_path(long nr)
{
    switch (nr) {
#ifdef SYS_open
    case SYS_open: return 0;
#endif
    case SYS_openat: return 1;
    default: return -1;
    }
}

static bool opens(pid_t pid, const struct __ptrace_syscall_info *info, const char *path)
{
    int at = opened_path((long)info->entry.nr);
    if (at < 0)
        return false;

    char text[512] = "";
    struct iovec local = {.iov_base = text, .iov_len = sizeof text - 1};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)info->entry.args[at],
                           .iov_len = sizeof text - 1};

    /* A string near the end of its mapping is read in part, which is enough. */
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0 && strcmp(text, path) == 0;
}

/* Only a descriptor that is not there makes it fail; musl does it to all that it has just opened. */
static bool sets_close_on_exec(const struct __ptrace_syscall_info *info)
{
    return info->entry.nr == SYS_fcntl && info->entry.args[1] == F_SETFD;
}

/* A page that nobody may touch, which musl puts before its heap, or does without. */
static bool makes_guard(const struct __ptrace_syscall_info *info)
{
    return info->entry.nr == SYS_mmap && info->entry.args[2] == PROT_NONE &&
           (info->entry.args[3] & MAP_FIXED);
}

static bool is_wait(long nr)
{
    switch (nr) {
#ifdef SYS_poll
    case SYS_poll:
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_ppoll:
    case SYS_epoll_pwait: return true;
    default: return false;
    }
}

static bool is_meant(const struct tracer *tracer, const struct process *process,
                     const struct trace_call *call)
{
    const struct trace_fault *fault = tracer->fault;

    if (!fault || call->nr != fault->call.nr)
        return false;
    if (fault->call.nth == 0)
        return fault->call.role == ROLE_ANY || fault->call.role == process->role;
    return !tracer->end->reached && call->role == fault->call.role && call->nth == fault->call.nth;
}

static void on_entry(struct tracer *tracer, struct process *process,
                     const struct __ptrace_syscall_info *info)
{
    long nr = (long)info->entry.nr;

    if (!process->counting) {
        process->counting = process->role == ROLE_ENGINE &&
                            opens(process->pid, info, tracer->run->begin);
        return;
    }
    if (nr < 0 || nr >= NR_MAX || sets_close_on_exec(info) || makes_guard(info))
        return;
    if (process->role == ROLE_ENGINE && is_wait(nr))
        process->waits = true;
    struct trace_call call = {
        .role = process->role,
        .nr = nr,
        .nth = ++process->calls[nr],
        .late = process->waits || tracer->end->executed,
    };
    if (tracer->log && process->role == ROLE_COMMAND && nr == SYS_execve)
        tracer->exec_at = tracer->log->count + 1;
    if (tracer->log)
        log_call(tracer->log, call);
    if (is_meant(tracer, process, &call)) {
        tracer->end->reached = true;
        process->faulty = tracer->fault->after || skip_call(process->pid) == 0;
    }
}

static void on_call(struct tracer *tracer, struct process *process)
{
    struct __ptrace_syscall_info info;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, process->pid, sizeof info, &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        on_entry(tracer, process, &info);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && process->faulty) {
        process->faulty = false;
        set_result(process->pid, -tracer->fault->error);
    }
}

/* ---- Events ---- */

static void on_ended(struct tracer *tracer, struct process *process, int status)
{
    if (process->pid == tracer->engine) {
        tracer->end->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        tracer->engine_ended = true;
        tracer->deadline_ms = now_ms() + LEFT_MS;
    }
    process->pid = 0;
}

/* Init sleeps while its child becomes the command, and may be awake before we hear of it. */
static void on_executed(struct tracer *tracer, struct process *command)
{
    tracer->end->executed = true;
    command->role = ROLE_PAYLOAD;
    for (size_t i = tracer->exec_at; tracer->log && i < tracer->log->count; i++)
        tracer->log->calls[i].late = true;
}

static void on_stopped(struct tracer *tracer, struct process *process, int status)
{
    int event = status >> 16;
    int signal = 0;

    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
        on_new(tracer, process);
    } else if (event == PTRACE_EVENT_EXEC) {
        if (process->role == ROLE_COMMAND)
            on_executed(tracer, process);
    } else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
        on_call(tracer, process);
    } else if (event == 0) {
        signal = WSTOPSIG(status);
    }
    resume(tracer, process, signal);
}

static void on_late(struct tracer *tracer)
{
    if (tracer->engine_ended)
        tracer->end->left = true;
    else
        tracer->end->hung = true;
    kill_all(tracer);
    tracer->deadline_ms = now_ms() + LEFT_MS;
}

/*
 * A new process may report its first stop before its parent tells of it: then it waits there until
 * its role is known.
 */
static void follow(struct tracer *tracer)
{
    int status;

    while (any_alive(tracer)) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == ECHILD)
            return;
        if (now_ms() > tracer->deadline_ms)
            on_late(tracer);
        if (pid < 0)
            continue;
        struct process *process = find(tracer, pid);
        if (!process) {
            process = add(tracer, pid);
            process->held = WIFSTOPPED(status);
            if (process->held)
                continue;
        }
        if (WIFSTOPPED(status))
            on_stopped(tracer, process, status);
        else
            on_ended(tracer, process, status);
    }
}

/* ---- Starting ---- */

static _Noreturn void become_hutch(const struct trace_run *run, int go)
{
    char byte;

    if (read(go, &byte, 1) != 1 || dup2(run->out, 1) < 0 || dup2(run->err, 2) < 0)
        _exit(125);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0)
        _exit(125);
    execv(run->argv[0], run->argv);
    _exit(127);
}

static int start(struct tracer *tracer)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    int go[2];

    if (pipe2(go, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0)
        become_hutch(tracer->run, go[0]);
    int r = pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, options) < 0 ? -errno : 0;
    if (r == 0 && write(go[1], "", 1) != 1)
        r = -EIO;
    close(go[0]);
    close(go[1]);
    if (r < 0 && pid > 0)
        waitpid(pid, NULL, 0); /* the end of the pipe has told it to go */
    if (r == 0) {
        tracer->engine = pid;
        add(tracer, pid)->role = ROLE_ENGINE;
    }
    return r;
}

static void on_tick(int signal)
{
    (void)signal; /* it is there to interrupt waitpid() */
}

int trace_run(const struct trace_run *run, struct trace_log *log, const struct trace_fault *fault,
              struct trace_end *ret)
{
    static struct tracer tracer;
    const struct sigaction tick = {.sa_handler = on_tick};
    const struct itimerval every = {{.tv_usec = TICK_MS * 1000L}, {.tv_usec = TICK_MS * 1000L}};
    const struct itimerval never = {0};

    *ret = (struct trace_end){0};
    tracer = (struct tracer){.run = run, .log = log, .fault = fault, .end = ret};
    int r = start(&tracer);
    if (r < 0)
        return r;
    tracer.deadline_ms = now_ms() + HANG_MS;
    sigaction(SIGALRM, &tick, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    follow(&tracer);
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}
