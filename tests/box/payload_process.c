/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about living, dying and speaking. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "payload.h"

/* Tell whoever reads our output that what follows may be tested now. */
static void say_ready(void)
{
    printf("ready\n");
    fflush(stdout);
}

static _Noreturn void pause_for_ever(void)
{
    for (;;)
        pause();
}

static void do_exit(char **args)
{
    fflush(stdout);
    _exit((int)number_of(args[0]));
}

static void do_raise(char **args)
{
    int number = (int)number_of(args[0]);

    signal(number, SIG_DFL);
    fflush(stdout);
    raise(number);
}

static void do_echo(char **args)
{
    printf("%s\n", args[0]);
}

/* "spam BYTES [FD]": the alphabet, over and over. The chunk holds it a whole number of times. */
static void do_spam(char **args)
{
    static char chunk[26 * 2500];
    unsigned long long left = (unsigned long long)number_of(args[0]);
    int fd = args[1] ? (int)number_of(args[1]) : 1;

    for (size_t i = 0; i < sizeof chunk; i++)
        chunk[i] = (char)('a' + i % 26);
    fflush(stdout);
    for (size_t at = 0; left > 0;) {
        size_t len = sizeof chunk - at < left ? sizeof chunk - at : (size_t)left;
        ssize_t done = write(fd, chunk + at, len);
        if (done < 0)
            _exit(98);
        left -= (unsigned long long)done;
        at = (at + (size_t)done) % sizeof chunk;
    }
}

/* "bytes HEX...": these bytes. */
static void do_bytes(char **args)
{
    for (; *args; args++)
        putchar((int)strtol(*args, NULL, 16));
}

static void do_cat(char **args)
{
    char chunk[65536];
    ssize_t len;

    (void)args;
    while ((len = read(0, chunk, sizeof chunk)) > 0)
        for (ssize_t done = 0; done < len;) {
            ssize_t now = write(1, chunk + done, (size_t)(len - done));
            if (now < 0)
                _exit(98);
            done += now;
        }
}

/* Leave input unread, for ever. */
static void do_hog_stdin(char **args)
{
    (void)args;
    say_ready();
    pause_for_ever();
}

static void do_ignore_term(char **args)
{
    (void)args;
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    say_ready();
    pause_for_ever();
}

static volatile sig_atomic_t got_signal;

static void note_signal(int number)
{
    got_signal = number;
}

/* "on-signal N": say which signal came, and exit with 40 + N. */
static void do_on_signal(char **args)
{
    int number = (int)number_of(args[0]);
    struct sigaction action = {.sa_handler = note_signal};
    sigset_t set;
    sigset_t old;

    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, &old);
    sigaction(number, &action, NULL);
    say_ready();
    while (!got_signal)
        sigsuspend(&old);
    printf("got %d\n", (int)got_signal);
    fflush(stdout);
    _exit(40 + number);
}

/* Say the terminal's size, and again when it has changed. */
static void do_winch(char **args)
{
    struct sigaction action = {.sa_handler = note_signal};
    struct winsize size = {0};
    sigset_t set;
    sigset_t old;

    (void)args;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, &old);
    sigaction(SIGWINCH, &action, NULL);
    ioctl(0, TIOCGWINSZ, &size);
    printf("size %u %u\n", size.ws_row, size.ws_col);
    say_ready();
    while (!got_signal)
        sigsuspend(&old);
    ioctl(0, TIOCGWINSZ, &size);
    printf("size %u %u\n", size.ws_row, size.ws_col);
}

static void do_stop_self(char **args)
{
    (void)args;
    say_ready();
    raise(SIGSTOP);
    pause_for_ever();
}

/* A daemon: no parent, a session of its own, deaf to polite signals. It says "ready". */
static void start_daemon(void)
{
    int pair[2];
    char byte;

    fflush(stdout);
    if (pipe2(pair, O_CLOEXEC) < 0)
        _exit(98);
    if (fork() != 0) {
        close(pair[1]);
        if (read(pair[0], &byte, 1) != 1)
            _exit(98);
        close(pair[0]);
        return;
    }
    setsid();
    if (fork() != 0)
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_NAME, "daemon", 0, 0, 0);
    printf("daemon %d\n", (int)getpid());
    fflush(stdout);
    if (write(pair[1], "!", 1) != 1)
        _exit(98);
    pause_for_ever();
}

/* Leave a daemon behind. */
static void do_double_fork(char **args)
{
    (void)args;
    start_daemon();
}

/*
 * "hold FIFO": open it, and keep it open in this process and in a daemon. Whoever reads from it
 * sees its end when, and only when, all of us are gone.
 */
static void do_hold(char **args)
{
    int fd = open(args[0], O_WRONLY);

    if (fd < 0)
        _exit(97);
    signal(SIGTERM, SIG_IGN);
    start_daemon();
    if (write(fd, "held\n", 5) != 5)
        _exit(98);
    say_ready();
    pause_for_ever();
}

/* A process that is always another one: each forks and ends. The first stays, deaf. */
static void do_fork_chain(char **args)
{
    (void)args;
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0)
        for (;;) {
            pid_t next = fork();
            if (next > 0)
                _exit(0);
        }
    say_ready();
    pause_for_ever();
}

static int process_count(void)
{
    int count = 0;
    DIR *dir = opendir("/proc");

    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    if (dir)
        closedir(dir);
    return count;
}

/* "orphans N": children of a dead parent must be reaped, or /proc would fill with them. */
static void do_orphans(char **args)
{
    long long count = number_of(args[0]);
    pid_t parent = fork();

    if (parent == 0) {
        for (long long i = 0; i < count; i++)
            if (fork() == 0)
                _exit(0);
        _exit(0);
    }
    waitpid(parent, NULL, 0);
    for (int i = 0; i < 10000 && process_count() > 2; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    printf("left %d\n", process_count());
}

/* "exec FILE ARG...": become it. */
static void do_exec(char **args)
{
    fflush(stdout);
    execv(args[0], args);
    say_result("exec", args[0], -1);
}

const struct verb process_verbs[] = {
    {"bytes", 1, do_bytes},
    {"cat", 0, do_cat},
    {"double-fork", 0, do_double_fork},
    {"echo", 1, do_echo},
    {"exec", 1, do_exec},
    {"exit", 1, do_exit},
    {"fork-chain", 0, do_fork_chain},
    {"hog-stdin", 0, do_hog_stdin},
    {"hold", 1, do_hold},
    {"ignore-term", 0, do_ignore_term},
    {"on-signal", 1, do_on_signal},
    {"orphans", 1, do_orphans},
    {"raise", 1, do_raise},
    {"spam", 1, do_spam},
    {"stop-self", 0, do_stop_self},
    {"winch", 0, do_winch},
    {NULL, 0, NULL},
};
