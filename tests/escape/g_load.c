/* SPDX-License-Identifier: Apache-2.0 */
/* Group G: too much of something. Every verb stops by itself. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"

#define STAY_SECONDS 20

/* Children that stay when we go. */
static int fork_bomb(char **arg)
{
    long count = number(arg[0]);
    long made = 0;

    for (; made < count; made++) {
        pid_t pid = fork();
        if (pid < 0)
            break;
        if (pid == 0) {
            alarm(STAY_SECONDS);
            setsid();
            for (;;)
                pause();
        }
    }
    return done("%ld processes", made);
}

static void *wait_here(void *arg)
{
    pause();
    return arg;
}

static int thread_bomb(char **arg)
{
    long count = number(arg[0]);
    pthread_t thread;
    pthread_attr_t attr;
    long made = 0;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    while (made < count && pthread_create(&thread, &attr, wait_here, NULL) == 0)
        made++;
    return made < count ? held("%ld threads", made) : escaped("%ld threads", made);
}

static int use_memory(char **arg)
{
    size_t bytes = (size_t)number(arg[0]) << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return done("refused: %s", strerror(errno));
    memset(memory, 1, bytes);
    return done("%s MiB", arg[0]);
}

/* COUNT processes at once with as much memory each: none of them has too much. */
static int share_memory(char **arg)
{
    long count = number(arg[0]);
    long filled = 0;
    int ready[2];
    char byte;

    need(pipe(ready) == 0, "pipe");
    for (long i = 0; i < count; i++)
        if (fork() == 0) {
            use_memory(arg + 1);
            (void)!write(ready[1], "", 1);
            usleep(500000);
            _exit(DONE);
        }
    close(ready[1]);
    while (filled < count && read(ready[0], &byte, 1) == 1)
        filled++;
    usleep(300000);
    return filled < count ? held("%ld processes got theirs", filled)
                          : escaped("%ld times %s MiB", filled, arg[1]);
}

/* The kinds that hold kernel memory. Of the last there are few for each user: then another. */
static bool make_descriptors(long turn)
{
    int pair[2];

    if (turn % 3 == 2 && inotify_init1(IN_CLOEXEC) >= 0)
        return true;
    return turn % 3 == 1 ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 : pipe(pair) == 0;
}

/* COUNT times, with as many as one can give oneself. */
static int use_descriptors(char **arg)
{
    long count = number(arg[0]);
    long made = 0;
    struct rlimit limit;

    need(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    need(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    while (made < count && make_descriptors(made))
        made++;
    return verdict(made == count, text("%ld pipes, sockets and watches", made));
}

static int print_much(char **arg)
{
    static char block[1 << 16];

    memset(block, 'y', sizeof block);
    for (long i = number(arg[0]) * 16; i > 0; i--)
        if (write(1, block, sizeof block) < 0)
            return FAILED;
    return HELD;
}

/* Run on every processor and listen to nothing; ends by itself after ten seconds. */
static int spin(char **arg)
{
    long count = number(arg[0]);

    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_IGN);
    for (long i = 1; i < count && fork() > 0;)
        i++;
    for (double end = now_ms() + 10000; now_ms() < end;)
        ;
    return DONE;
}

const struct verb load_verbs[] = {
    {"fork-bomb", "COUNT MARK", 2, fork_bomb},
    {"thread-bomb", "COUNT", 1, thread_bomb},
    {"use-memory", "MIB", 1, use_memory},
    {"share-memory", "COUNT MIB", 2, share_memory},
    {"use-descriptors", "COUNT", 1, use_descriptors},
    {"print-much", "MIB", 1, print_much},
    {"spin", "COUNT MARK", 2, spin},
    {0},
};
