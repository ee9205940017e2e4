/* SPDX-License-Identifier: Apache-2.0 */
/* Group C, second part: processes that do not want to end, orphans, signals, core dumps. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#define LEAVE_SECONDS 20 /* after this, what was left ends by itself: the control must not leak */

/* ---- Leaving processes behind ---- */

static void ignore_all(void)
{
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGALRM)
            signal(sig, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, 0);
    alarm(LEAVE_SECONDS);
}

_Noreturn static void stay(void)
{
    for (;;)
        pause();
}

static void leave_daemon(void)
{
    if (fork() > 0)
        return;
    setsid();
    if (fork() > 0)
        _exit(0);
    ignore_all();
    stay();
}

/* Not even SIGALRM ends a stopped process: the runner's control kills it. */
static void leave_stopped(void)
{
    if (fork() == 0) {
        setsid();
        raise(SIGSTOP);
        _exit(0);
    }
}

/* A parent that is blocked in vfork() cannot handle anything until its child is done. */
static void leave_vforked(void)
{
    if (fork() > 0)
        return;
    setsid();
    alarm(LEAVE_SECONDS);
    if (vfork() == 0) // NOLINT(clang-analyzer-security.insecureAPI.vfork): the point of it
        stay();       // NOLINT(clang-analyzer-unix.Vfork)
    _exit(0);
}

static void leave_traced(void)
{
    pid_t tracer = fork();

    if (tracer > 0)
        return;
    setsid();
    ignore_all();
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(0);
    }
    waitpid(pid, NULL, __WALL);
    stay();
}

/* Each process forks its successor and ends: whoever kills one by one is always late. */
static void leave_racing(void)
{
    int beat = open("beat", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    long count = 0;

    if (fork() > 0)
        return;
    setsid();
    for (double end = now_ms() + 1e3 * LEAVE_SECONDS; now_ms() < end; count++) {
        /* Too short-lived to be seen in /proc; this shows that it goes on. */
        if (pwrite(beat, &count, sizeof count, 0) < 0 || fork() > 0)
            _exit(0);
    }
    _exit(0);
}

static int leave(char **arg)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"daemon", leave_daemon},
                 {"stopped", leave_stopped},
                 {"vforked", leave_vforked},
                 {"traced", leave_traced},
                 {"racing", leave_racing}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(arg[0], kinds[i].name) == 0) {
            kinds[i].run();
            return done("left a %s process", arg[0]);
        }
    return FAILED;
}

/* Ignore everything and stay: only the end of the namespace helps. */
static int outlast(char **arg)
{
    (void)arg;
    leave_daemon();
    ignore_all();
    puts("ready");
    fflush(stdout);
    stay();
}

/* ---- Orphans ---- */

static int is_zombie(const char *dir, const char *name, void *arg)
{
    char buf[512];

    if (isdigit((unsigned char)*name) &&
        slurp(text("%s/%s/stat", dir, name), buf, sizeof buf) > 0 && strstr(buf, ") Z "))
        ++*(long *)arg;
    return 0;
}

/* The host may be short of something for a moment, whoever else uses it. */
static pid_t fork_patiently(void)
{
    const double end = now_ms() + 1000;
    pid_t pid;

    while ((pid = fork()) < 0 && errno == EAGAIN && now_ms() < end)
        usleep(1000);
    return pid;
}

static int orphans(char **arg)
{
    long count = number(arg[0]);
    long zombies = 0;

    for (long i = 0; i < count; i++) {
        pid_t pid = fork_patiently();
        need(pid >= 0, "fork: the dead are not reaped");
        if (pid == 0)
            _exit(fork() < 0 ? FAILED : 0);
        waitpid(pid, NULL, 0);
    }
    /* Reaping takes a moment; a process 1 that does not reap at all never gets there. */
    for (double end = now_ms() + 1000; now_ms() < end; usleep(1000)) {
        zombies = 0;
        each_name("/proc", is_zombie, &zombies);
        if (zombies == 0)
            return held("%ld orphans, no zombie", count);
    }
    return escaped("%ld zombies of %ld orphans", zombies, count);
}

/* ---- Signals ---- */

/* Everything that can be signalled from here, and one process of the host by its number. */
static int kill_everything(char **arg)
{
    /* By sigqueue too, with a claim in it about a child that does not exist. */
    for (int round = 0; round < 100; round++)
        for (int sig = 1; sig <= SIGRTMAX; sig++) {
            kill(1, sig);
            sigqueue(1, sig, (union sigval){.sival_int = 2});
        }
    kill((pid_t)number(arg[0]), SIGKILL);
    kill(-1, SIGKILL);
    puts("done: still here");
    return 42;
}

static int kill_one(char **arg)
{
    return verdict(kill((pid_t)number(arg[0]), SIGKILL) == 0, "killed it");
}

/* Stop or hang up whoever runs us. */
static int stop_caller(char **arg)
{
    (void)arg;
    signal(SIGHUP, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    kill(0, SIGHUP);
    kill(0, SIGTSTP);
    bool ok = getppid() > 0 && kill(getppid(), SIGSTOP) == 0;
    return done("SIGSTOP to the parent: %s", ok ? "sent" : strerror(errno));
}

/* ---- Core dumps ---- */

static int crash(void *arg)
{
    struct rlimit limit;

    (void)arg;
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
    prctl(PR_SET_DUMPABLE, 1);
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return 0;
}

static int dump_core(char **arg)
{
    int status = 0;
    pid_t pid = fork();

    (void)arg;
    if (pid == 0)
        _exit(crash(NULL));
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    return WIFSIGNALED(status) && WCOREDUMP(status) ? escaped("core dumped") : held("no core");
}

static int want_pipe(void *arg)
{
    struct rlimit limit = {0, 0};

    (void)arg;
    setrlimit(RLIMIT_CORE, &limit);
    prctl(PR_SET_DUMPABLE, 1);
    getrlimit(RLIMIT_CORE, &limit);
    return prctl(PR_GET_DUMPABLE) == 1 && limit.rlim_cur != 1 ? ESCAPED : HELD;
}

/*
 * A core_pattern that starts a program on the host ignores the limit, but for the one value 1. So
 * the limit must be 1, and must stay 1 when the code tries to change it.
 */
static int core_to_program(char **arg)
{
    (void)arg;
    return in_child(want_pipe, NULL) == ESCAPED
               ? escaped("a program named in core_pattern would get the core")
               : held("the core limit stays 1");
}

const struct verb lifetime_verbs[] = {
    {"leave", "daemon|stopped|vforked|traced|racing MARK", 2, leave},
    {"outlast", "MARK", 1, outlast},
    {"orphans", "COUNT", 1, orphans},
    {"kill-everything", "PID", 1, kill_everything},
    {"kill-one", "PID", 1, kill_one},
    {"stop-caller", "", 0, stop_caller},
    {"dump-core", "", 0, dump_core},
    {"core-to-program", "", 0, core_to_program},
    {0},
};
