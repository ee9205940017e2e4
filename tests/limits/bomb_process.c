/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, threads and the time they take. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bomb.h"

#define NS_PER_MS 1000000

static int64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Takes the processor for so long, however many others want it. */
static void burn(int64_t ms)
{
    int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * NS_PER_MS;

    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 10000; i++)
            ;
}

/* ---- Ways to use CPU time: `count` times `ms`. Each adds what was used to *used, in ns. ---- */

struct spin {
    int64_t ms;
    int64_t count;
    _Atomic int64_t *used; /* shared with children: what nobody waits for is in no rusage */
};

static void *burn_in_thread(void *arg)
{
    struct spin *spin = arg;

    burn(spin->ms);
    atomic_fetch_add(spin->used, clock_ns(CLOCK_THREAD_CPUTIME_ID));
    return NULL;
}

static void spin_in_threads(struct spin *spin)
{
    pthread_t *threads = calloc((size_t)spin->count, sizeof *threads);
    int64_t started = 0;

    while (threads && started < spin->count &&
           pthread_create(&threads[started], NULL, burn_in_thread, spin) == 0)
        started++;
    while (started > 0)
        pthread_join(threads[--started], NULL);
    free(threads);
}

/* A child that burns and ends; the descriptor `done` is closed with it. */
static pid_t burn_in_child(struct spin *spin)
{
    pid_t pid = fork();

    if (pid == 0) {
        burn(spin->ms);
        atomic_fetch_add(spin->used, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
        _exit(0);
    }
    return pid;
}

/* All at a time. */
static void spin_in_processes(struct spin *spin)
{
    for (int64_t i = 0; i < spin->count; i++)
        burn_in_child(spin);
    while (wait(NULL) > 0)
        ;
}

/* One after the other: never much in anybody who lives. */
static void spin_in_turns(struct spin *spin)
{
    for (int64_t i = 0; i < spin->count; i++) {
        burn_in_child(spin);
        while (wait(NULL) > 0)
            ;
    }
}

/* The same, and what they used is added to no parent. wait() returns when all are gone. */
static void spin_unwatched(struct spin *spin)
{
    signal(SIGCHLD, SIG_IGN);
    spin_in_turns(spin);
    signal(SIGCHLD, SIG_DFL);
}

/* Children of children who are gone; the pipe's end says that they are gone, too. */
static void spin_in_orphans(struct spin *spin)
{
    int done[2];
    char byte;

    for (int64_t i = 0; i < spin->count; i++) {
        if (pipe(done) < 0)
            return;
        if (fork() == 0) {
            burn_in_child(spin);
            _exit(0);
        }
        close(done[1]);
        while (read(done[0], &byte, 1) > 0)
            ;
        close(done[0]);
        while (wait(NULL) > 0)
            ;
    }
}

/* spin MS [N [HOW]]; says the CPU time, and as "wall" the time it took, in microseconds. */
static void spin(char **args)
{
    static const struct {
        const char *name;
        void (*fn)(struct spin *spin);
    } ways[] = {{"threads", spin_in_threads},
                {"processes", spin_in_processes},
                {"turns", spin_in_turns},
                {"unwatched", spin_unwatched},
                {"orphans", spin_in_orphans}};
    const char *way = args[1] && args[2] ? args[2] : "threads";
    struct spin spin = {.ms = number_of(args[0]), .count = option_of(args[1], 1)};
    int64_t start = clock_ns(CLOCK_MONOTONIC);

    spin.used = mmap(NULL, sizeof *spin.used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0);
    if (spin.used == MAP_FAILED)
        _exit(2);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(way, ways[i].name) == 0)
            ways[i].fn(&spin);
    say("spin", atomic_load(spin.used) / 1000, 0);
    say("wall", (clock_ns(CLOCK_MONOTONIC) - start) / 1000, 0);
}

/* ---- Numbers of processes ---- */

/* forks N: they stay. */
static void make_processes(char **args)
{
    int64_t count = number_of(args[0]);
    int64_t made = 0;
    int error = 0;

    while (made < count) {
        pid_t pid = fork();
        if (pid < 0) {
            error = errno;
            break;
        }
        if (pid == 0)
            for (;;)
                pause();
        made++;
    }
    say("forks", made, error);
}

static void *stay(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* threads N: they stay. */
static void make_threads(char **args)
{
    int64_t count = number_of(args[0]);
    int64_t made = 0;
    int error = 0;
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 * 1024);
    while (made < count && error == 0) {
        error = pthread_create(&thread, &attr, stay, NULL);
        made += error == 0;
    }
    pthread_attr_destroy(&attr);
    say("threads", made, error);
}

/* forkbomb: everybody forks, for ever. */
static void fork_bomb(char **args)
{
    (void)args;
    for (;;)
        fork();
}

/* orphans N: each is left by its parent and ends; at most some at a time. */
static void make_orphans(char **args)
{
    int64_t count = number_of(args[0]);
    int64_t made = 0;

    while (made < count) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(fork() < 0);
        if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
            made++;
        else if (pid < 0 && errno != EAGAIN)
            break;
    }
    say("orphans", made, made < count ? errno : 0);
}

/* ---- Ends ---- */

/* sleep MS */
static void sleep_some(char **args)
{
    int64_t ms = number_of(args[0]);

    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS}, NULL);
}

/* kill SIGNAL: of itself. */
static void kill_itself(char **args)
{
    kill(getpid(), (int)number_of(args[0]));
}

/* exit STATUS */
static void leave(char **args)
{
    exit((int)number_of(args[0]));
}

const struct verb process_verbs[] = {
    {"spin", 1, spin},          {"forks", 1, make_processes}, {"threads", 1, make_threads},
    {"forkbomb", 0, fork_bomb}, {"orphans", 1, make_orphans}, {"sleep", 1, sleep_some},
    {"kill", 1, kill_itself},   {"exit", 1, leave},           {0},
};
