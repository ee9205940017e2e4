/* SPDX-License-Identifier: Apache-2.0 */
/* Group C, fourth part: a process that stays in a sandbox, and commands that join it there. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

#define RESIDENT_SECONDS 20

struct resident {
    const char *name; /* look at processes of this name only; "-": at all */
    bool early;       /* only one that does not run this program yet is worth something */
    char **verb;      /* with room for a process id behind its name */
    pid_t pid;        /* of the process that let us in */
    unsigned looks;
};

static bool is_named(const char *pid, const char *name)
{
    char comm[64];
    ssize_t n = slurp(text("/proc/%s/comm", pid), comm, sizeof comm);

    return n > 1 && strncmp(comm, name, (size_t)n - 1) == 0 && name[n - 1] == '\0';
}

/* Whether the process runs the program that we do: it is past its start. */
static bool is_started(const char *pid)
{
    char theirs[4096] = "";
    char ours[4096] = "";

    return readlink(text("/proc/%s/exe", pid), theirs, sizeof theirs - 1) > 0 &&
           readlink("/proc/self/exe", ours, sizeof ours - 1) > 0 && strcmp(theirs, ours) == 0;
}

static int look_at(const char *dir, const char *pid, void *arg)
{
    struct resident *resident = arg;
    char digits[16];

    (void)dir;
    if (!isdigit((unsigned char)pid[0]) || strcmp(pid, "1") == 0 ||
        strtol(pid, NULL, 10) == getpid())
        return 0;
    if (strcmp(resident->name, "-") != 0 && !is_named(pid, resident->name))
        return 0;
    snprintf(digits, sizeof digits, "%.15s", pid);
    resident->verb[1] = digits;
    resident->looks++;
    if (run_verb(resident->verb) != ESCAPED || (resident->early && is_started(pid)))
        return 0;
    resident->pid = (pid_t)strtol(pid, NULL, 10);
    return 1;
}

/*
 * Try VERB PID ARG... with every process that comes, until it works or the file STOP is there. What the
 * verbs say about each is not of interest.
 */
static int resident(char **arg)
{
    char *verb[8] = {arg[3]};
    struct resident us = {.name = arg[1], .early = strcmp(arg[0], "early") == 0, .verb = verb};
    FILE *said = stdout;

    for (size_t i = 0; arg[3 + i] && arg[4 + i] && i + 3 < sizeof verb / sizeof *verb; i++)
        verb[i + 2] = arg[4 + i];
    puts("ready");
    fflush(stdout);
    stdout = fopen("/dev/null", "we");
    need(stdout != NULL, "/dev/null");
    for (double end = now_ms() + RESIDENT_SECONDS * 1e3; now_ms() < end && !us.pid;) {
        each_name("/proc", look_at, &us);
        if (access(arg[2], F_OK) == 0)
            break;
    }
    stdout = said;
    if (us.pid)
        return escaped("%s of process %d", arg[3], (int)us.pid);
    errno = ESRCH;
    need(us.looks > 0, "nobody came");
    return held("%s: refused %u times", arg[3], us.looks);
}

/* What a careless joiner does: be there, with all that is its own, for a while before it is the command. */
static int join_naively(char **arg)
{
    char name[] = "attack";
    char verb[] = "exit-with";
    char zero[] = "0";

    prctl(PR_SET_NAME, arg[0]);
    usleep((useconds_t)number(arg[1]) * 1000);
    execv("/proc/self/exe", (char *[]){name, verb, zero, NULL});
    broken("exec");
}

static int exit_after(char **arg)
{
    usleep((useconds_t)number(arg[0]) * 1000);
    return 0;
}

static int stop_one(char **arg)
{
    return verdict(kill((pid_t)number(arg[0]), SIGSTOP) == 0, "stopped it");
}

static int stop_other(const char *dir, const char *pid, void *arg)
{
    long number_of = strtol(pid, NULL, 10);

    (void)dir;
    if (number_of > 1 && number_of != getpid() && number_of != *(pid_t *)arg)
        kill((pid_t)number_of, SIGSTOP);
    return 0;
}

/* Make a directory again and again, while nobody but process 1 and us comes to do anything. */
static int stop_and_make(char **arg)
{
    errno = EPERM;
    need(getppid() == 1, "stops all it sees: not outside a sandbox");
    pid_t maker = fork();
    alarm(RESIDENT_SECONDS);
    while (maker == 0) {
        mkdir(arg[0], 0777);
        usleep(1000);
    }
    puts("ready");
    fflush(stdout);
    for (;;)
        each_name("/proc", stop_other, &maker);
}

/* A descriptor of every program that is seen, opened again for writing as soon as that can be. */
static int overwrite_any(const char *dir, const char *pid, void *arg)
{
    int *kept = arg;

    (void)dir;
    if (*kept >= 0 || !isdigit((unsigned char)pid[0]) || is_started(pid) ||
        strtol(pid, NULL, 10) == getpid())
        return 0;
    *kept = open(text("/proc/%s/exe", pid), O_RDONLY | O_CLOEXEC);
    return 0;
}

static int overwrite_joiner(char **arg)
{
    int kept = -1;

    puts("ready");
    fflush(stdout);
    for (double end = now_ms() + RESIDENT_SECONDS * 1e3; now_ms() < end;) {
        each_name("/proc", overwrite_any, &kept);
        int fd = open(kept >= 0 ? text("/proc/self/fd/%d", kept) : arg[1],
                      O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fd >= 0)
            return verdict(write(fd, "!", 1) == 1, "wrote to the program");
        if (access(arg[0], F_OK) == 0)
            break;
    }
    return held("%s (errno %d)", strerror(errno), errno);
}

const struct verb resident_verbs[] = {
    {"resident", "any|early NAME STOP VERB [ARG...]", 4, resident},
    {"join-naively", "NAME MS", 2, join_naively},
    {"exit-after", "MS", 1, exit_after},
    {"stop-one", "PID", 1, stop_one},
    {"stop-and-make", "PATH", 1, stop_and_make},
    {"overwrite-joiner", "STOP PATH", 2, overwrite_joiner},
    {0},
};
