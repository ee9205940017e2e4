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
    return done("%ld threads", made);
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

/* Descriptors until there are no more, of every kind that holds kernel memory. */
static int use_descriptors(char **arg)
{
    long count = number(arg[0]);
    long made = 0;
    int pair[2];

    while (made < count && (made % 3 == 0   ? pipe(pair) == 0
                            : made % 3 == 1 ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0
                                            : inotify_init1(IN_CLOEXEC) >= 0))
        made++;
    return done("%ld pipes, sockets and watches, then: %s", made, strerror(errno));
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
    {"use-descriptors", "COUNT", 1, use_descriptors},
    {"print-much", "MIB", 1, print_much},
    {"spin", "COUNT MARK", 2, spin},
    {0},
};
