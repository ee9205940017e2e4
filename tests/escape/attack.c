/* SPDX-License-Identifier: Apache-2.0 */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TABLES = 16 };
static const struct verb *const tables[TABLES] = {
    stage_verbs,    path_verbs,     init_verbs,    root_verbs,     proc_verbs,   process_verbs,
    lifetime_verbs, terminal_verbs, syscall_verbs, filter_verbs,   kernel_verbs, ipc_verbs,
    secret_verbs,   load_verbs,     net_verbs,     resident_verbs,
};

/* ---- Saying how it went ---- */

__attribute__((format(printf, 3, 0))) static int say(int code, const char *word, const char *fmt,
                                                     va_list args)
{
    printf("%s: ", word);
    vprintf(fmt, args);
    putchar('\n');
    fflush(stdout);
    return code;
}

#define SAYS(name, code, word)                                                                     \
    int name(const char *fmt, ...)                                                                 \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, fmt);                                                                       \
        int ret = say(code, word, fmt, args);                                                      \
        va_end(args);                                                                              \
        return ret;                                                                                \
    }

SAYS(held, HELD, "held")
SAYS(escaped, ESCAPED, "ESCAPED")
SAYS(done, DONE, "done")
SAYS(absent, ABSENT, "absent")

void broken(const char *what)
{
    printf("failed: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(FAILED);
}

int verdict(bool was_done, const char *what)
{
    return was_done ? escaped("%s", what) : held("%s: %s (errno %d)", what, strerror(errno), errno);
}

/* ---- Shared small things ---- */

long number(const char *digits)
{
    char *end = NULL;
    long value = strtol(digits, &end, 0);

    need(end != digits && *end == '\0', digits);
    return value;
}

int status_code(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

int in_child(int (*fn)(void *arg), void *arg)
{
    int status = 0;
    pid_t pid = fork();

    need(pid >= 0, "fork");
    if (pid == 0)
        _exit(fn(arg));
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    return status_code(status);
}

ssize_t slurp(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t len = 0;
    ssize_t n = 0;

    if (fd < 0)
        return -1;
    while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
        len += (size_t)n;
    int saved = errno;
    close(fd);
    errno = saved;
    buf[len] = '\0';
    return n < 0 && len == 0 ? -1 : (ssize_t)len;
}

bool spill(const char *path, const char *content)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(content);

    if (fd < 0)
        return false;
    bool ok = write(fd, content, len) == (ssize_t)len;
    int saved = errno;
    close(fd);
    errno = saved;
    return ok;
}

const char *text(const char *fmt, ...)
{
    static char ring[8][4096];
    static unsigned turn;
    char *buf = ring[turn++ % 8];
    va_list args;

    va_start(args, fmt);
    vsnprintf(buf, sizeof ring[0], fmt, args);
    va_end(args);
    return buf;
}

int each_name(const char *dir, int (*fn)(const char *dir, const char *name, void *arg), void *arg)
{
    DIR *list = opendir(dir);
    struct dirent *entry;
    int ret = 0;

    while (list && ret == 0 && (entry = readdir(list)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            ret = fn(dir, entry->d_name, arg);
    if (list)
        closedir(list);
    return ret;
}

void own_namespaces(int flags, bool keep_id)
{
    unsigned uid = geteuid();
    unsigned gid = getegid();

    if (unshare(CLONE_NEWUSER | flags) < 0)
        exit(held("unshare: %s (errno %d)", strerror(errno), errno));
    spill("/proc/self/setgroups", "deny");
    need(spill("/proc/self/uid_map", text("%u %u 1", keep_id ? uid : 0, uid)), "uid_map");
    need(spill("/proc/self/gid_map", text("%u %u 1", keep_id ? gid : 0, gid)), "gid_map");
    if (flags & CLONE_NEWNS)
        need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "make mounts private");
}

double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- Verbs ---- */

static const struct verb *find_verb(const char *name)
{
    for (size_t t = 0; t < TABLES; t++)
        for (const struct verb *verb = tables[t]; verb->name; verb++)
            if (strcmp(verb->name, name) == 0)
                return verb;
    return NULL;
}

static int usage(void)
{
    puts("usage: attack VERB [ARG...]; the verbs are:");
    for (size_t t = 0; t < TABLES; t++)
        for (const struct verb *verb = tables[t]; verb->name; verb++)
            printf("  %s %s\n", verb->name, verb->args);
    return FAILED;
}

int run_verb(char **arg)
{
    const struct verb *verb = arg[0] ? find_verb(arg[0]) : NULL;
    int count = 0;

    while (arg[0] && arg[count + 1])
        count++;
    if (!verb || count < verb->least) {
        printf("failed: '%s' is no verb, or needs more arguments\n", arg[0] ? arg[0] : "");
        return FAILED;
    }
    return verb->run(arg + 1);
}

int main(int argc, char **argv)
{
    return argc < 2 ? usage() : run_verb(argv + 1);
}
