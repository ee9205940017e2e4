/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "sys/ret.h"

/* Forks that race with the kill are met by the next pass. */
#define PASSES_MAX 256
#define ANCESTORS_MAX 64

struct relation {
    pid_t parent;
    pid_t session;
};

/* A number and where it ends; -1: there is none. */
static pid_t take_number(const char **at)
{
    pid_t number = 0;

    if (**at < '0' || **at > '9')
        return -1;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        number = number * 10 + (**at - '0');
    return number;
}

/* proc(5): "pid (name) state ppid pgrp session"; the name may have anything in it. */
static bool read_relation(int proc, pid_t pid, struct relation *ret)
{
    char path[32];
    char text[512];
    char *end = num_put(path, (uint64_t)pid, 10);

    memcpy(end, "/stat", sizeof "/stat");
    fd_auto int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len <= 0)
        return false;
    text[len] = '\0';
    const char *at = strrchr(text, ')');
    if (!at || strlen(at) < 5)
        return false;
    at += 4;
    ret->parent = take_number(&at);
    at += *at == ' ';
    if (take_number(&at) < 0)
        return false;
    at += *at == ' ';
    ret->session = take_number(&at);
    return ret->parent >= 0;
}

static bool is_of(int proc, pid_t pid, pid_t leader)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        struct relation relation;
        if (pid == leader)
            return true;
        if (!read_relation(proc, pid, &relation))
            return false;
        if (relation.session == leader)
            return true;
        pid = relation.parent;
    }
    return false;
}

/* Not opendir(), which allocates. */
struct entry {
    uint64_t ino;
    int64_t off;
    uint16_t len;
    uint8_t type;
    char name[];
};

/* Returns how many were signalled. */
static unsigned pass(int proc, pid_t leader, int signal)
{
    _Alignas(struct entry) char names[4096];
    unsigned count = 0;

    for (;;) {
        long len = syscall(SYS_getdents64, proc, names, sizeof names);
        if (len <= 0)
            return count;
        for (long at = 0; at < len;) {
            const struct entry *entry = (const struct entry *)(names + at);
            const char *name = entry->name;
            pid_t pid = take_number(&name);
            at += entry->len;
            if (pid <= 1 || *name || !is_of(proc, pid, leader))
                continue;
            count += kill(pid, signal) == 0;
            if (signal != SIGKILL)
                kill(pid, SIGCONT);
        }
    }
}

void tree_signal(pid_t leader, int signal)
{
    fd_auto int proc = ret_errno(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    if (proc < 0) { /* then at least these */
        kill(-leader, signal);
        return;
    }
    for (int i = 0; i < PASSES_MAX; i++) {
        if (pass(proc, leader, signal) == 0 || signal != SIGKILL)
            return;
        if (lseek(proc, 0, SEEK_SET) < 0)
            return;
    }
}
