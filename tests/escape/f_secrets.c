/* SPDX-License-Identifier: Apache-2.0 */
/* Group F, second half: keys, environment, files with secrets, and what is left in memory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

static int key_find(char **arg)
{
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", arg[0], 0);

    if (key < 0)
        key = syscall(SYS_request_key, "user", arg[0], NULL, 0);
    return verdict(key >= 0, "found a key of the host");
}

static int key_make(char **arg)
{
    long key = syscall(SYS_add_key, "user", arg[0], "x", 1UL, KEY_SPEC_USER_KEYRING);

    if (key >= 0)
        syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
    return verdict(key >= 0, "left a key in the user's keyring");
}

static int env_has(char **arg)
{
    for (; *arg; arg++)
        if (getenv(*arg))
            return escaped("has %s", *arg);
    return held("none of them is set");
}

/* Only the names that come after us may be in our environment. */
static int env_only(char **arg)
{
    for (char **entry = environ; *entry; entry++) {
        size_t len = strcspn(*entry, "=");
        bool known = false;
        for (char **name = arg; *name; name++)
            known = known || (strlen(*name) == len && strncmp(*name, *entry, len) == 0) ||
                    (strcmp(*name, "LC_*") == 0 && strncmp(*entry, "LC_", 3) == 0);
        if (!known)
            return escaped("has %.*s", (int)len, *entry);
    }
    return held("only what the profile names");
}

/* In no readable page of ours is the word that comes backwards in arg[0]. */
static int memory_has(char **arg)
{
    static char maps[1 << 16];
    static char word[256];
    size_t len = strlen(arg[0]);
    unsigned long from;
    unsigned long to;

    need(len < sizeof word && slurp("/proc/self/maps", maps, sizeof maps) > 0, "maps");
    for (char *line = strtok(maps, "\n"); line; line = strtok(NULL, "\n")) {
        char *end = NULL;
        from = strtoul(line, &end, 16);
        to = strtoul(end + 1, &end, 16);
        /* Not the kernel's own pages, [vvar] and [vdso]. */
        if (strncmp(end, " r", 2) != 0 || strstr(line, "[v"))
            continue;
        for (size_t i = 0; i < len; i++)
            word[i] = arg[0][len - 1 - i];
        for (char *at = (char *)from; (at = memmem(at, to - (uintptr_t)at, word, len)); at++)
            if (at != word)
                return escaped("found it at %p: %.60s", (void *)at, line);
    }
    return held("not in memory");
}

/* Any of the files can be read and is not empty. */
static int read_any(char **arg)
{
    char buf[64];
    int count = 0;

    for (; *arg; arg++, count++)
        if (slurp(*arg, buf, sizeof buf) > 0)
            return escaped("read %s", *arg);
    return held("none of %d files", count);
}

static bool append_to(const char *path, int flags)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0644);
    bool wrote = fd >= 0 && write(fd, "pwned\n", 6) == 6;

    if (fd >= 0)
        close(fd);
    return wrote;
}

/* Any of the files can be written to. */
static int write_any(char **arg)
{
    int count = 0;

    for (; *arg; arg++, count++)
        if (append_to(*arg, 0))
            return escaped("wrote to %s", *arg);
    return held("none of %d files", count);
}

/* Judged from outside: hutch may undo it. */
static int make_all(char **arg)
{
    int count = 0;

    for (; *arg; arg++)
        count += append_to(*arg, O_CREAT);
    return done("made %d of them", count);
}

const struct verb secret_verbs[] = {
    {"key-find", "NAME", 1, key_find},
    {"key-make", "NAME", 1, key_make},
    {"env-has", "NAME...", 1, env_has},
    {"env-only", "NAME...", 1, env_only},
    {"memory-has", "WORD-BACKWARDS", 1, memory_has},
    {"read-any", "FILE...", 1, read_any},
    {"write-any", "FILE...", 1, write_any},
    {"make-all", "FILE...", 1, make_all},
    {0},
};
