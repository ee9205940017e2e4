/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runner needs outside: namespaces in which a control succeeds, hosts with a certain
 * mount, supervisors that make the mistake which is attacked, and processes to be attacked.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

/* The rest of the arguments is a program, or one of our own verbs. */
static int go_on(char **arg)
{
    if (arg[0][0] != '/')
        return run_verb(arg);
    execv(arg[0], arg);
    need(false, arg[0]);
    return FAILED;
}

/* ---- Namespaces of the attacker's own ---- */

static int own_ns(char **arg)
{
    own_namespaces(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWCGROUP | CLONE_NEWUTS,
                   false);
    return go_on(arg);
}

/* A network namespace in which every address has a route: to loopback. */
static int routed(char **arg)
{
    struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    struct rtentry route = {.rt_flags = RTF_UP, .rt_dev = (char[]){"lo"}};
    struct sockaddr_in any = {.sin_family = AF_INET};

    own_namespaces(CLONE_NEWNET, false);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    need(ioctl(fd, SIOCSIFFLAGS, &up) == 0, "bring lo up");
    memcpy(&route.rt_dst, &any, sizeof any);
    memcpy(&route.rt_genmask, &any, sizeof any);
    need(ioctl(fd, SIOCADDRT, &route) == 0, "add a route");
    close(fd);
    return go_on(arg);
}

/* ---- A host with a certain mount. For root a mount namespace is enough. ---- */

static void stage_mounts(void)
{
    if (geteuid() != 0) {
        own_namespaces(CLONE_NEWNS, true);
        return;
    }
    need(unshare(CLONE_NEWNS) == 0, "unshare");
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "make mounts private");
}

static void tmpfs_with_file(const char *dir)
{
    need(mount("none", dir, "tmpfs", 0, "mode=777") == 0, "mount tmpfs");
    int fd = open(text("%s/inner", dir), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    need(fd >= 0 && fchmod(fd, 0666) == 0 && write(fd, "inner\n", 6) == 6, "make a file");
    close(fd);
}

static int with_tmpfs(char **arg)
{
    stage_mounts();
    tmpfs_with_file(arg[0]);
    return go_on(arg + 1);
}

/* The program sees a mount on `arg[0]`; this process, its parent, still sees what is below. */
static int hidden_behind(char **arg)
{
    int status = 0;

    stage_mounts();
    pid_t pid = fork();
    if (pid == 0) {
        need(unshare(CLONE_NEWNS) == 0, "unshare");
        need(mount("none", arg[0], "tmpfs", 0, NULL) == 0, "mount tmpfs");
        _exit(go_on(arg + 1));
    }
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    return status_code(status);
}

/* Copy a child's output on, and call `then` once when its first line has come. */
static void relay(int from, void (*then)(void *arg), void *arg)
{
    char buf[4096];
    ssize_t n;

    while ((n = read(from, buf, sizeof buf)) > 0) {
        need(write(1, buf, (size_t)n) == n, "write");
        if (then && memchr(buf, '\n', (size_t)n)) {
            then(arg);
            then = NULL;
        }
    }
}

struct late {
    const char *dir;
    int go;
};

static void mount_late(void *arg)
{
    struct late *late = arg;

    tmpfs_with_file(late->dir);
    need(write(late->go, "\n", 1) == 1, "say go");
    close(late->go);
}

/*
 * A mount that appears on the host while the program runs, in a tree whose mounts are shared: when
 * the program has said its first line, mount on `sub` in the directory, and let it read a line.
 */
static int late_mount(char **arg)
{
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    int status = 0;

    stage_mounts();
    need(mount("none", arg[0], "tmpfs", 0, "mode=755") == 0, "mount tmpfs");
    need(mount(NULL, arg[0], NULL, MS_SHARED, NULL) == 0, "make it shared");
    need(mkdir(text("%s/sub", arg[0]), 0755) == 0, "mkdir");
    need(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        _exit(go_on(arg + 1));
    }
    close(in[0]);
    close(out[1]);
    relay(out[0], mount_late, &(struct late){text("%s/sub", arg[0]), in[1]});
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    return status_code(status);
}

/* As a tool does that gives a new mount namespace and forgets about propagation. */
static int slave_ns(char **arg)
{
    need(unshare(CLONE_NEWNS) == 0, "unshare");
    return go_on(arg);
}

/* Exchange two names until stdin ends: whoever looks twice sees two different things. */
static int exchange(char **arg)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char target[4096] = "";
    long count = 0;

    need(readlink(arg[1], target, sizeof target - 1) > 0, "a link");
    puts("ready");
    fflush(stdout);
    alarm(60);
    for (; poll(&input, 1, 0) == 0; count++)
        for (int i = 0; i < 64; i++)
            if (syscall(SYS_renameat2, AT_FDCWD, arg[0], AT_FDCWD, arg[1], 2 /* exchange */) < 0) {
                /* Somebody has removed one of them. */
                need(errno == ENOENT, "renameat2");
                mkdir(arg[0], 0777);
                (void)!symlink(target, arg[1]);
            }
    return done("exchanged %ld times", count * 64);
}

/* A directory of the host as every descriptor from 3 to 64, left open. */
static int leak(char **arg)
{
    int fd = open(arg[0], O_RDONLY | O_DIRECTORY);

    need(fd >= 0, arg[0]);
    for (int number = 3; number <= 64; number++)
        need(number == fd || dup2(fd, number) == number, "dup2");
    execv(arg[1], arg + 1);
    need(false, arg[1]);
    return FAILED;
}

/* ---- In a namespace of one's own: locks that are undone by the verb that follows ---- */

static int ro_bind(char **arg)
{
    /* The tree is bound with the mounts in it, but only its top becomes read-only. */
    need(mount(arg[0], arg[0], NULL, MS_BIND | MS_REC, NULL) == 0, "bind");
    need(mount(NULL, arg[0], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0, "read-only");
    return go_on(arg + 1);
}

static int cover(char **arg)
{
    need(mount("none", arg[0], "tmpfs", 0, NULL) == 0, "mount tmpfs");
    return go_on(arg + 1);
}

/* Mask arg[1] with arg[0] as a tool does that goes by name, then write to what masks it. */
static int mask_by_name(char **arg)
{
    need(mount(arg[0], arg[1], NULL, MS_BIND, NULL) == 0, "bind");
    return verdict(spill(arg[1], "pwned\n"), "wrote through the mask");
}

/* chroot with a descriptor of a directory outside left open, as runc did (CVE-2024-21626). */
static int leaky_chroot(char **arg)
{
    int fd = (int)number(arg[0]);

    need(chroot(arg[1]) == 0, "chroot");
    need(fchdir(fd) == 0, "fchdir");
    return go_on(arg + 2);
}

/* ---- Supervisors that make the mistake ---- */

/* As bwrap does: a dumpable process between us and the program sends the status by an eventfd. */
static int naive_init(char **arg)
{
    int status = 0;
    uint64_t value = 0;
    int event = eventfd(0, 0);
    pid_t middle = fork();

    if (middle == 0) {
        pid_t pid = fork();
        if (pid == 0) {
            close(event);
            _exit(go_on(arg));
        }
        need(waitpid(pid, &status, 0) == pid, "waitpid");
        value = (uint64_t)status_code(status) + 1;
        _exit(write(event, &value, sizeof value) == sizeof value ? 0 : FAILED);
    }
    need(read(event, &value, sizeof value) == sizeof value, "read eventfd");
    need(waitpid(middle, &status, 0) == middle, "waitpid");
    return (int)value - 1;
}

/* Takes the first child that ends for the one it has started. */
static int naive_wait(char **arg)
{
    int status = 0;

    if (fork() == 0)
        _exit(go_on(arg));
    need(wait(&status) > 0, "wait");
    return status_code(status);
}

static int lazy_pid_1(void *arg)
{
    int status = 0;
    pid_t pid;

    need(mount("none", "/proc", "proc", 0, NULL) == 0, "mount proc");
    pid = fork();
    if (pid == 0)
        _exit(go_on(arg));
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    return status_code(status);
}

/* A process 1 that waits for its own child only: what is orphaned stays a zombie. */
static int lazy_init(char **arg)
{
    own_namespaces(CLONE_NEWNS | CLONE_NEWPID, false);
    return in_child(lazy_pid_1, arg);
}

/* A session keyring with one key in it, for the program and its children. */
static int key_with(char **arg)
{
    need(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0, "join a session keyring");
    long key = syscall(SYS_add_key, "user", arg[0], "secret", 6UL, KEY_SPEC_SESSION_KEYRING);
    need(key >= 0, "add a key");
    /* Readable by its uid, also for a process that does not possess it. */
    need(syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x3f3f3f3f) == 0, "open the key up");
    return go_on(arg + 1);
}

/* ---- Somebody to attack ---- */

/* Stay until stdin ends. The mark is in the command line, where find-process looks. */
static int linger(char **arg)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char byte;

    (void)arg;
    signal(SIGTERM, SIG_IGN);
    alarm(60);
    puts("ready");
    fflush(stdout);
    do
        poll(&input, 1, -1);
    while (read(0, &byte, 1) > 0);
    return 0;
}

const struct verb stage_verbs[] = {
    {"own-ns", "VERB...", 1, own_ns},
    {"routed", "VERB...", 1, routed},
    {"with-tmpfs", "DIR PROGRAM...", 2, with_tmpfs},
    {"hidden-behind", "DIR PROGRAM...", 2, hidden_behind},
    {"late-mount", "DIR PROGRAM...", 2, late_mount},
    {"slave-ns", "PROGRAM...", 1, slave_ns},
    {"ro-bind", "DIR VERB...", 2, ro_bind},
    {"cover", "DIR VERB...", 2, cover},
    {"mask-by-name", "SOURCE TARGET", 2, mask_by_name},
    {"leaky-chroot", "FD DIR VERB...", 3, leaky_chroot},
    {"naive-init", "PROGRAM...", 1, naive_init},
    {"naive-wait", "PROGRAM...", 1, naive_wait},
    {"lazy-init", "PROGRAM...", 1, lazy_init},
    {"key-with", "NAME PROGRAM...", 2, key_with},
    {"exchange", "A B", 2, exchange},
    {"leak", "DIR PROGRAM...", 2, leak},
    {"linger", "MARK", 1, linger},
    {0},
};
