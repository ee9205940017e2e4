/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about pairs of unix datagram sockets, which are made on behalf. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payload.h"

#define PAGE 4096
#define HIGH (UINT64_C(1) << 32)
#define THREADS 8
#define ROUNDS 50

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = -3; /* itself, and two that are none */

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

static void close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

/* One message comes out as it went in, and no other with it. */
static bool passes(const int pair[2], const char *text)
{
    char data[16];
    ssize_t len = (ssize_t)strlen(text);

    return recv(pair[1], data, sizeof data, 0) == len && memcmp(data, text, (size_t)len) == 0;
}

static void do_pair_messages(char **args)
{
    static const char *const texts[] = {"one", "", "three"};
    int pair[2];
    bool ok = socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0;

    (void)args;
    for (size_t i = 0; ok && i < 3; i++)
        ok = send(pair[0], texts[i], strlen(texts[i]), 0) == (ssize_t)strlen(texts[i]);
    for (size_t i = 0; ok && i < 3; i++)
        ok = passes(pair, texts[i]);
    say_result("pair", "messages", ok ? 0 : -1);
    close_pair(pair);
}

/* By the call itself: the kernel takes int, whatever the upper halves are. */
static void say_kind(const char *name, uint64_t domain, uint64_t type, uint64_t protocol)
{
    int pair[2] = {-7, -7};

    if (syscall(SYS_socketpair, domain, type, protocol, pair) < 0) {
        printf("kind %s: %s%s\n", name, verbs_error(errno), pair[0] == -7 ? "" : " written");
        return;
    }
    printf("kind %s: ok%s%s\n", name,
           (fcntl(pair[0], F_GETFD) & fcntl(pair[1], F_GETFD) & FD_CLOEXEC) ? " cloexec" : "",
           (fcntl(pair[0], F_GETFL) & fcntl(pair[1], F_GETFL) & O_NONBLOCK) ? " nonblock" : "");
    close_pair(pair);
}

static void do_pair_kinds(char **args)
{
    (void)args;
    say_kind("plain", AF_UNIX, SOCK_DGRAM, 0);
    say_kind("raw", AF_UNIX, SOCK_RAW, 0);
    say_kind("cloexec", AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    say_kind("nonblock", AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    say_kind("both", AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    say_kind("high", HIGH | AF_UNIX, HIGH | SOCK_DGRAM, HIGH);
    say_kind("protocol", AF_UNIX, SOCK_DGRAM, AF_UNIX);
    say_kind("other protocol", AF_UNIX, SOCK_DGRAM, 17);
    say_kind("other flag", AF_UNIX, SOCK_DGRAM | 0x100, 0);
}

/* Nowhere to write the numbers to: nothing may be left of the pair. */
static void do_pair_places(char **args)
{
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int before = count_fds();

    (void)args;
    mprotect(pages + PAGE, PAGE, PROT_READ);
    munmap(pages + 2 * PAGE, PAGE);
    say_result("place", "none", syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, NULL));
    say_result("place", "kernel", syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, -PAGE));
    say_result("place", "read-only", syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, pages + PAGE));
    say_result("place", "half", syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, pages + PAGE - 4));
    say_result("place", "unmapped",
               syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, pages + 2 * PAGE));
    printf("place left behind: %d\n", count_fds() - before);
    say_result("place", "good", syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, pages + PAGE - 8));
}

/* As many as there may be, with room for one more descriptor at the end, and with none. */
static void do_pair_limit(char **args)
{
    struct rlimit limit;
    int used = count_fds();
    int pair[2];

    (void)args;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (unsigned odd = 0; odd < 2; odd++) {
        int made = 0;

        limit.rlim_cur = (rlim_t)used + 10 + odd;
        setrlimit(RLIMIT_NOFILE, &limit);
        while (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0)
            made++;
        int error = errno;
        limit.rlim_cur++; /* to be able to look */
        setrlimit(RLIMIT_NOFILE, &limit);
        printf("limit %u: %d pairs, %s, %d left behind\n", odd, made, verbs_error(error),
               count_fds() - used - 2 * made);
        close_range((unsigned)used, ~0U, 0);
    }
}

static void *make_pairs(void *arg)
{
    int pair[2];

    for (int i = 0; i < ROUNDS; i++) {
        if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0 || send(pair[0], "x", 1, 0) != 1 ||
            !passes(pair, "x"))
            return arg;
        close_pair(pair);
    }
    return NULL;
}

/* Many at once, in one process; and callers that are killed meanwhile. */
static void do_pair_crowd(char **args)
{
    pthread_t threads[THREADS];
    int before = count_fds();
    int failed = 0;
    int pair[2];
    void *r;

    (void)args;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_pairs, threads);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();
        if (pid == 0)
            for (;;)
                if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0)
                    close_pair(pair);
        usleep((useconds_t)(i * 20));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &r);
        failed += r != NULL;
    }
    printf("crowd: %d failed, %d left behind\n", failed, count_fds() - before);
}

static void do_datagram_socket(char **args)
{
    (void)args;
    say_result("socket", "datagram", socket(AF_UNIX, SOCK_DGRAM, 0));
}

const struct verb pair_verbs[] = {
    {"datagram-socket", 0, do_datagram_socket},
    {"pair-crowd", 0, do_pair_crowd},
    {"pair-kinds", 0, do_pair_kinds},
    {"pair-limit", 0, do_pair_limit},
    {"pair-messages", 0, do_pair_messages},
    {"pair-places", 0, do_pair_places},
    {NULL, 0, NULL},
};
