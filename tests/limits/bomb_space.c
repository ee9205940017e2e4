/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, files, descriptors, output. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bomb.h"

#define CHUNK (INT64_C(1) << 20)
#define PAGE 4096

/* Touch `bytes` of new memory, which stays; returns how many it got. */
static int64_t touch(int64_t bytes)
{
    int64_t done = 0;

    while (done < bytes) {
        int64_t step = bytes - done < CHUNK ? bytes - done : CHUNK;
        char *chunk = mmap(NULL, (size_t)step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           -1, 0);
        if (chunk == MAP_FAILED)
            break;
        for (int64_t i = 0; i < step; i += PAGE)
            *(volatile char *)(chunk + i) = 1;
        done += step;
    }
    return done;
}

/* memory BYTES */
static void use_memory(char **args)
{
    int64_t bytes = number_of(args[0]);
    int64_t got = touch(bytes);

    say("memory", got, got < bytes ? errno : 0);
}

/* memory-tree BYTES N: in all, by N processes, none of which has much. */
static void use_memory_in_tree(char **args)
{
    int64_t bytes = number_of(args[0]);
    int64_t count = number_of(args[1]);
    int ready[2];
    char byte;

    if (pipe(ready) < 0)
        _exit(2);
    for (int64_t i = 0; i < count; i++)
        if (fork() == 0) {
            touch(bytes / count);
            if (write(ready[1], "", 1) == 1)
                pause();
            _exit(0);
        }
    close(ready[1]);
    for (int64_t i = 0; i < count; i++)
        if (read(ready[0], &byte, 1) != 1)
            break;
    close(ready[0]);
    say("memory-tree", bytes / count * count, 0);
}

static void pause_ms(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* fill PATH BYTES [MS]: write a file, with a pause after each MiB. */
static void fill(char **args)
{
    static char chunk[CHUNK];
    int64_t bytes = number_of(args[1]);
    int64_t pause = option_of(args[2], 0);
    int64_t done = 0;
    int error = 0;
    int fd = open(args[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    memset(chunk, 'x', sizeof chunk);
    while (fd >= 0 && done < bytes) {
        int64_t step = bytes - done < CHUNK ? bytes - done : CHUNK;
        ssize_t len = write(fd, chunk, (size_t)step);
        if (len < 0)
            break;
        done += len;
        if (pause > 0)
            pause_ms(pause);
    }
    if (fd < 0 || done < bytes)
        error = errno;
    if (fd >= 0)
        close(fd);
    say("fill", done, error);
}

/* sparse PATH BYTES: a file that says it has so many, and has one. */
static void make_sparse(char **args)
{
    int64_t bytes = number_of(args[1]);
    int fd = open(args[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool ok = fd >= 0 && pwrite(fd, "x", 1, bytes - 1) == 1;

    say("sparse", ok ? bytes : 0, ok ? 0 : errno);
    if (fd >= 0)
        close(fd);
}

/* remove PATH */
static void remove_file(char **args)
{
    say("remove", 1, unlink(args[0]) < 0 ? errno : 0);
}

/* patient: what is too large for a file is an error, no signal. */
static void be_patient(char **args)
{
    (void)args;
    signal(SIGXFSZ, SIG_IGN);
}

/* descriptors N: those it began with count. */
static void use_descriptors(char **args)
{
    int64_t count = number_of(args[0]);
    int highest = 2;

    while (highest + 1 < count) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            break;
        highest = fd;
    }
    say("descriptors", highest + 1, highest + 1 < count ? errno : 0);
}

static bool put(const char *data, int64_t len)
{
    while (len > 0) {
        ssize_t done = write(STDOUT_FILENO, data, (size_t)len);
        if (done < 0)
            return false;
        data += done;
        len -= done;
    }
    return true;
}

/* output BYTES: first a line "begin", last a line "end"; no other word about it. */
static void write_output(char **args)
{
    static char chunk[CHUNK];
    static const char begin[] = "begin\n";
    static const char end[] = "end\n";
    int64_t left = number_of(args[0]) - (int64_t)(sizeof begin + sizeof end) + 2;

    for (size_t i = 0; i < sizeof chunk; i++)
        chunk[i] = i % 64 == 63 ? '\n' : 'x';
    bool ok = put(begin, sizeof begin - 1);
    while (ok && left > 0) {
        int64_t step = left < CHUNK ? left : CHUNK;
        ok = put(chunk + CHUNK - step, step);
        left -= step;
    }
    if (!ok || !put(end, sizeof end - 1))
        exit(3);
}

const struct verb space_verbs[] = {
    {"memory", 1, use_memory},
    {"memory-tree", 2, use_memory_in_tree},
    {"fill", 2, fill},
    {"sparse", 2, make_sparse},
    {"remove", 1, remove_file},
    {"patient", 0, be_patient},
    {"descriptors", 1, use_descriptors},
    {"output", 1, write_output},
    {0},
};
