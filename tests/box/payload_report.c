/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that say what the program sees of itself and around it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "payload.h"

static void do_ids(char **args)
{
    uid_t uid[3];
    gid_t gid[3];
    gid_t groups[256];

    (void)args;
    getresuid(&uid[0], &uid[1], &uid[2]);
    getresgid(&gid[0], &gid[1], &gid[2]);
    printf("uid %u %u %u\n", uid[0], uid[1], uid[2]);
    printf("gid %u %u %u\n", gid[0], gid[1], gid[2]);
    int count = getgroups(256, groups);
    printf("groups");
    for (int i = 0; i < count; i++)
        printf(" %u", groups[i]);
    printf("\n");
}

/* Lines of a file, all of them or those that begin with `prefix`. */
static void print_lines(const char *path, const char *prefix)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");

    while (file && getline(&line, &size, file) > 0)
        if (strncmp(line, prefix, strlen(prefix)) == 0)
            fputs(line, stdout);
    free(line);
    if (file)
        fclose(file);
}

static void do_caps(char **args)
{
    (void)args;
    print_lines("/proc/self/status", "Cap");
    print_lines("/proc/self/status", "NoNewPrivs");
}

static void do_signals(char **args)
{
    (void)args;
    print_lines("/proc/self/status", "SigBlk");
    print_lines("/proc/self/status", "SigIgn");
    print_lines("/proc/self/status", "SigCgt");
}

static void do_mounts(char **args)
{
    (void)args;
    print_lines("/proc/self/mountinfo", "");
}

static void do_env(char **args)
{
    (void)args;
    for (char **var = environ; *var; var++)
        printf("env %s\n", *var);
}

static void do_fds(char **args)
{
    (void)args;
    for (int fd = 0; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("fd %d\n", fd);
}

static int not_a_dot(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static void describe_node(const char *dir, const char *name)
{
    char path[512];
    char target[256];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (lstat(path, &st) < 0) {
        printf("%s ?\n", path);
        return;
    }
    if (S_ISLNK(st.st_mode)) {
        ssize_t len = readlink(path, target, sizeof target - 1);
        target[len < 0 ? 0 : len] = '\0';
        printf("%s -> %s\n", path, target);
    } else if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) {
        printf("%s %c %u:%u\n", path, S_ISCHR(st.st_mode) ? 'c' : 'b', major(st.st_rdev),
               minor(st.st_rdev));
    } else {
        printf("%s %c %o\n", path, S_ISDIR(st.st_mode) ? 'd' : 'f', st.st_mode & 07777U);
    }
}

static void describe_directory(const char *dir)
{
    struct dirent **names;
    int count = scandir(dir, &names, not_a_dot, alphasort);

    for (int i = 0; i < count; i++) {
        describe_node(dir, names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

static void do_dev(char **args)
{
    (void)args;
    describe_directory("/dev");
    describe_directory("/dev/pts");
    describe_directory("/dev/shm");
}

static int is_pid(const struct dirent *entry)
{
    return entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
}

/* "process PID", and which of them we are. */
static void do_procs(char **args)
{
    struct dirent **names;
    int count = scandir("/proc", &names, is_pid, alphasort);

    (void)args;
    for (int i = 0; i < count; i++) {
        printf("process %s\n", names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    printf("self %d parent %d\n", (int)getpid(), (int)getppid());
}

static void do_hostname(char **args)
{
    struct utsname name;

    (void)args;
    printf("hostname %s\n", uname(&name) == 0 ? name.nodename : verbs_error(errno));
}

static void do_session(char **args)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

    (void)args;
    printf("session %s\n", getsid(0) == getpid() ? "own" : "another's");
    printf("group %s\n", getpgrp() == getpid() ? "own" : "another's");
    printf("terminal %s\n", fd < 0 ? verbs_error(errno) : "yes");
    if (fd >= 0)
        close(fd);
}

static void do_limits(char **args)
{
    static const struct {
        const char *name;
        __rlimit_resource_t what;
    } limits[] = {
        {"open_files", RLIMIT_NOFILE}, {"file_size", RLIMIT_FSIZE}, {"core", RLIMIT_CORE}};

    (void)args;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit = {0};
        getrlimit(limits[i].what, &limit);
        printf("limit %s %llu %llu\n", limits[i].name, (unsigned long long)limit.rlim_cur,
               (unsigned long long)limit.rlim_max);
    }
}

static void do_umask(char **args)
{
    mode_t mask = umask(0);

    (void)args;
    umask(mask);
    printf("umask %03o\n", mask);
}

static void do_tty(char **args)
{
    struct winsize size;

    (void)args;
    for (int fd = 0; fd < 3; fd++)
        printf("isatty %d %s\n", fd, isatty(fd) ? "yes" : "no");
    const char *name = ttyname(0);
    printf("ttyname %s\n", name ? name : "none");
    if (ioctl(0, TIOCGWINSZ, &size) == 0)
        printf("size %u %u\n", size.ws_row, size.ws_col);
}

/* How many bytes other than NUL a file gives, or why it gives none. */
static void say_contents(const char *path)
{
    char text[4096];
    size_t shown = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text);

    if (len < 0) {
        say_result("open", path, -1);
    } else {
        for (ssize_t i = 0; i < len; i++)
            shown += text[i] != '\0';
        printf("open %s: %zu bytes\n", path, shown);
    }
    if (fd >= 0)
        close(fd);
}

/* What the sandbox's first process gives away. With an argument: what process N does. */
static void do_pid1(char **args)
{
    static const char *const files[] = {"environ", "cmdline", "mem", "maps", "auxv", "stack"};
    static const char *const links[] = {"root", "cwd", "exe", "fd/0"};
    const char *pid = args[0] ? args[0] : "1";
    char path[64];
    char target[256];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "/proc/%s/%s", pid, files[i]);
        say_contents(path);
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(path, sizeof path, "/proc/%s/%s", pid, links[i]);
        say_result("readlink", path, readlink(path, target, sizeof target));
    }
    if (!args[0])
        say_result("ptrace", "1", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
}

/* Count, bytes and a checksum (FNV-1a) of what follows, and of the environment. */
static void say_strings(const char *what, char **strings)
{
    size_t count = 0;
    size_t bytes = 0;
    unsigned long long sum = 14695981039346656037ULL;

    for (; *strings; strings++, count++)
        for (const char *p = *strings; *p; p++, bytes++)
            sum = (sum ^ (unsigned char)*p) * 1099511628211ULL;
    printf("%s %zu %zu %llx\n", what, count, bytes, sum);
}

static void do_args(char **args)
{
    say_strings("args", args);
    say_strings("vars", environ);
}

const struct verb report_verbs[] = {
    {"args", 0, do_args},       {"caps", 0, do_caps},
    {"dev", 0, do_dev},         {"env", 0, do_env},
    {"fds", 0, do_fds},         {"hostname", 0, do_hostname},
    {"ids", 0, do_ids},         {"limits", 0, do_limits},
    {"mounts", 0, do_mounts},   {"pid1", 0, do_pid1},
    {"procs", 0, do_procs},     {"session", 0, do_session},
    {"signals", 0, do_signals}, {"tty", 0, do_tty},
    {"umask", 0, do_umask},     {NULL, 0, NULL},
};
