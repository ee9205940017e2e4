/* SPDX-License-Identifier: Apache-2.0 */
/* Group B, second half: what /proc and /sys tell and take. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

/* ---- Reading ---- */

/* Kernel addresses that are all zero tell nothing. */
static bool all_zero(const char *buf)
{
    for (const char *p = buf; *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : "")
        for (const char *digit = p; isxdigit((unsigned char)*digit); digit++)
            if (*digit != '0')
                return false;
    return true;
}

/* Any of the files can be opened and has something in it. */
static int proc_read(char **arg)
{
    static char buf[1 << 16];
    bool there = false;

    for (; *arg; arg++) {
        ssize_t n = slurp(*arg, buf, sizeof buf);
        there = there || access(*arg, F_OK) == 0;
        if (n <= 0 || (strstr(*arg, "kallsyms") && all_zero(buf)))
            continue;
        return escaped("read %s", *arg);
    }
    return there ? held("unreadable or empty") : absent("none of them is here");
}

/* A process that is not ours, by a word in its command line. */
static int has_mark(const char *dir, const char *name, void *arg)
{
    char buf[4096];

    if (!isdigit((unsigned char)*name) || strtol(name, NULL, 10) == getpid())
        return 0;
    ssize_t n = slurp(text("%s/%s/cmdline", dir, name), buf, sizeof buf);
    return n > 0 && memmem(buf, (size_t)n, arg, strlen(arg)) ? (int)strtol(name, NULL, 10) : 0;
}

/* The mark comes backwards, so that our own ancestors' command lines do not have it. */
static int find_process(char **arg)
{
    char mark[128];
    size_t len = strlen(arg[0]);

    need(len < sizeof mark, "a shorter mark");
    for (size_t i = 0; i < len; i++)
        mark[i] = arg[0][len - 1 - i];
    mark[len] = '\0';
    int pid = each_name("/proc", has_mark, mark);
    return pid ? escaped("sees process %d of the host", pid) : held("not in /proc");
}

/* Links of other processes that lead out of our own root. */
static int through(const char *proc, const char *name, void *arg)
{
    static const char *const links[] = {"root", "cwd", "fd/3", "fd/4", "fd/5"};
    char buf[64];

    if (!isdigit((unsigned char)*name) || strtol(name, NULL, 10) == getpid())
        return 0;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (slurp(text("%s/%s/%s%s", proc, name, links[i], (char *)arg), buf, sizeof buf) > 0)
            return escaped("read it through %s/%s/%s", proc, name, links[i]);
    return 0;
}

static int proc_walk(char **arg)
{
    return each_name("/proc", through, arg[0]) ? ESCAPED : held("no link leads to %s", arg[0]);
}

/* ---- Writing ---- */

/* Writes back what is there: harmless where it works. */
static int write_back(char **arg)
{
    char buf[4096];

    for (; *arg; arg++) {
        int fd = open(*arg, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (slurp(*arg, buf, sizeof buf) > 0 && write(fd, buf, strlen(buf)) > 0)
            return escaped("wrote to %s", *arg);
        close(fd);
    }
    return held("%s (errno %d)", strerror(errno), errno);
}

/* Opens for writing and leaves it at that. */
static int open_to_write(char **arg)
{
    bool there = false;

    for (; *arg; arg++) {
        if (open(*arg, O_WRONLY | O_CLOEXEC) >= 0)
            return escaped("opened %s for writing", *arg);
        there = there || access(*arg, F_OK) == 0;
    }
    return there ? held("%s (errno %d)", strerror(errno), errno) : absent("none of them is here");
}

/* Any setting below a directory of /proc/sys that can be opened for writing. */
static int writable_below(const char *dir, const char *name, void *arg)
{
    const char *path = text("%s/%s", dir, name);
    char copy[4096];
    struct stat st;

    snprintf(copy, sizeof copy, "%s", path);
    if (lstat(copy, &st) < 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return each_name(copy, writable_below, arg);
    /* Opening some files of binfmt_misc or with side effects is still only opening. */
    return S_ISREG(st.st_mode) && open(copy, O_WRONLY | O_CLOEXEC) >= 0
               ? escaped("%s can be written", copy)
               : 0;
}

static int writable_settings(char **arg)
{
    return each_name(arg[0], writable_below, NULL) ? ESCAPED
                                                   : held("no file in %s can be written", arg[0]);
}

static int lower_oom(void *arg)
{
    (void)arg;
    return spill("/proc/self/oom_score_adj", "-900") ? ESCAPED : HELD;
}

/* Be the last to be killed when memory is short. In a child: the setting ends with it. */
static int oom_score(char **arg)
{
    char map[64] = "";

    (void)arg;
    if (in_child(lower_oom, NULL) == ESCAPED)
        return escaped("lowered oom_score_adj");
    /* Root of the host without that one capability, as in some containers. */
    slurp("/proc/self/uid_map", map, sizeof map);
    return geteuid() == 0 && strstr(map, "4294967295") ? absent("root may not do it here either")
                                                       : held("oom_score_adj cannot be lowered");
}

const struct verb proc_verbs[] = {
    {"proc-read", "FILE...", 1, proc_read},
    {"find-process", "MARK-BACKWARDS", 1, find_process},
    {"proc-walk", "PATH", 1, proc_walk},
    {"write-back", "FILE...", 1, write_back},
    {"open-to-write", "FILE...", 1, open_to_write},
    {"writable-settings", "DIR", 1, writable_settings},
    {"oom-score", "", 0, oom_score},
    {0},
};
