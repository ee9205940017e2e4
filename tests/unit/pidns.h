/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test program that is PID 1 of namespaces of its own, like init in a sandbox: its /proc lists its
 * children and nobody else's, and it has a tmpfs in which nobody else writes. As root and as anybody.
 */
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of PID 1: descriptors of its /proc and its tmpfs, and a way to the tmpfs. */
static int pidns_proc = -1;
static int pidns_tmpfs = -1;
#define PIDNS_TMPFS "/tmp"

static inline bool pidns_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return good;
}

/* The caller's own ids stay what they are. */
static inline bool pidns_unshare(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    int flags = CLONE_NEWNS | CLONE_NEWPID;

    if (uid == 0)
        return unshare(flags) == 0;
    prctl(PR_SET_DUMPABLE, 1);
    if (unshare(flags | CLONE_NEWUSER) < 0)
        return false;
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    if (!pidns_write("/proc/self/uid_map", map) || !pidns_write("/proc/self/setgroups", "deny"))
        return false;
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    return pidns_write("/proc/self/gid_map", map);
}

static inline bool pidns_mount(void)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", PIDNS_TMPFS, "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,mode=1777") < 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return false;
    pidns_proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pidns_tmpfs = open(PIDNS_TMPFS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return pidns_proc >= 0 && pidns_tmpfs >= 0;
}

/* The status of a child, or -1 when a signal ended it. */
static inline int pidns_wait(pid_t pid)
{
    int status = -1;

    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/*
 * Run `tests` as PID 1; returns its answer. A host without such namespaces skips them all. It takes a
 * process between, since after the namespace has ended nothing more can be started in this one.
 */
static inline int pidns_run(int (*tests)(void))
{
    enum { NO_NAMESPACES = 99 };
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!pidns_unshare())
            _exit(NO_NAMESPACES);
        pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            int r = pidns_mount() ? tests() : NO_NAMESPACES;
            fflush(NULL);
            _exit(r);
        }
        _exit(pidns_wait(pid));
    }
    int r = pidns_wait(pid);
    if (r != NO_NAMESPACES)
        return r;
    printf("1..0 # SKIP no namespaces of one's own here\n");
    return 0;
}
