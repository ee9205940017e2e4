/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory with files for one test, gone after it. In tables '@' stands for its path, so that
 * expectations can be written down.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define SCRATCH_TEXT 8192

/* Leave a test that this host cannot run. (cmocka's own skip() is "not ok" in its TAP.) */
#define SKIP(...)                                                                                  \
    do {                                                                                           \
        print_message("# skipped: " __VA_ARGS__);                                                  \
        print_message("\n");                                                                       \
        return;                                                                                    \
    } while (0)

static char scratch[64];

/* `text` with every '@' replaced. The last eight answers stay valid. */
static inline const char *at(const char *text)
{
    static char answers[8][SCRATCH_TEXT];
    static unsigned next;
    char *out = answers[next++ % 8];
    size_t len = 0;

    for (; *text && len < SCRATCH_TEXT - sizeof(scratch); text++) {
        if (*text == '@')
            len += (size_t)snprintf(out + len, SCRATCH_TEXT - len, "%s", scratch);
        else
            out[len++] = *text;
    }
    out[len] = '\0';
    return out;
}

/* The other way round, for what is compared with a table. */
static inline const char *folded(const char *text)
{
    static char answers[8][SCRATCH_TEXT];
    static unsigned next;
    char *out = answers[next++ % 8];
    size_t root = strlen(scratch);
    size_t len = 0;

    while (*text && len < SCRATCH_TEXT - 1) {
        bool here = root && strncmp(text, scratch, root) == 0;
        out[len++] = here ? '@' : *text;
        text += here ? root : 1;
    }
    out[len] = '\0';
    return out;
}

/* Add to the tree: "dir/", "file", "link -> text". Parents come first. */
static inline void scratch_add(const char *entry)
{
    char path[PATH_MAX];
    const char *arrow = strstr(entry, " -> ");
    size_t len = arrow ? (size_t)(arrow - entry) : strlen(entry);
    int r;

    snprintf(path, sizeof(path), "%s/%.*s", scratch, (int)len, entry);
    if (arrow) {
        r = symlink(at(arrow + 4), path);
    } else if (entry[len - 1] == '/') {
        r = mkdir(path, 0755);
    } else {
        fd_auto int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        r = fd;
    }
    if (r < 0)
        fail_msg("cannot make '%s'", path);
}

/* `tree` ends with NULL. */
static inline void scratch_make(const char *const *tree)
{
    snprintf(scratch, sizeof(scratch), "/tmp/hutch-unit-XXXXXX");
    if (!mkdtemp(scratch) || chmod(scratch, 0755) < 0)
        fail_msg("cannot make a scratch directory");
    for (; *tree; tree++)
        scratch_add(*tree);
}

/* A unix socket that nobody listens on. -1: there could be none. */
static inline int scratch_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", at(path));
    int r = bind(sock, (struct sockaddr *)&address, sizeof(address));
    close(sock);
    return r;
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *place)
{
    if (type == FTW_DNR && chmod(path, 0700) < 0)
        return -1;
    return remove(path);
}

/* For a teardown. */
static inline int scratch_remove(void **state)
{
    if (chdir("/") < 0)
        return -1;
    int r = scratch[0] ? nftw(scratch, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS) : 0;
    scratch[0] = '\0';
    return r;
}

static inline int open_fds(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* Run fn in a child that is not root; it returns 0 when all is well. Nothing may be asserted there. */
static inline int as_nobody(int (*fn)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(23456, 23456, 23456) < 0 ||
                               setresuid(23456, 23456, 23456) < 0))
            _exit(99);
        _exit(fn());
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}
