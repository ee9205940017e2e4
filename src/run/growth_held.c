/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files without a name that a process of the sandbox holds.
 *
 * Descriptors are looked at thread by thread, because a process whose first thread has ended seems to
 * have none, and because a thread can have descriptors of its own. Nothing tells how large a file is
 * that is only mapped, so that one makes the process one that hides.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/growth_state.h"
#include "sys/ret.h"

#define INIT 1

/* Who maps so much that the text of it is longer could hide anything in it. */
#define MAPS_MAX (1U << 20)
#define MAPS_SIZE 8192

/*
 * Who has vanished or is about to holds nothing; the kernel closes its descriptors to us as it does
 * those of a process that hides them. Of a thread too: it has a directory that is only not listed.
 */
static bool is_ending(const struct growth *growth, int tid)
{
    struct sys_procstat stat;

    return sys_procstat_read(growth->proc, tid, &stat) < 0 || stat.ending;
}

static void open_threads(struct growth *growth)
{
    char path[32];

    snprintf(path, sizeof path, "%d/task", growth->walk->pid);
    int r = sys_proclist_open(&growth->walk->threads, growth->proc, path);
    if (r < 0 && r != -ENOENT && r != -ESRCH)
        growth_set_unseen(growth);
}

static void open_files(struct growth *growth)
{
    char path[64];

    snprintf(path, sizeof path, "%d/task/%d/fd", growth->walk->pid, growth->walk->tid);
    int r = sys_proclist_open(&growth->walk->files, growth->proc, path);
    if (r < 0 && r != -ENOENT && r != -ESRCH && !is_ending(growth, growth->walk->tid))
        growth_set_unseen(growth);
}

static void look_at_file(struct growth *growth, int number)
{
    char name[16];
    struct statx st;

    snprintf(name, sizeof name, "%d", number);
    int r = growth_look(growth->walk->files.fd, name, 0, &st);
    if (r < 0) {
        if (r != -ENOENT && r != -ESRCH && !is_ending(growth, growth->walk->tid))
            growth_set_unseen(growth);
        return;
    }
    if (st.stx_nlink != 0)
        return;
    struct filesystem *fs = growth_filesystem(growth, growth_device(&st));
    if (fs)
        growth_count(growth, fs, &st);
}

/* "START-END MODE OFFSET MAJOR:MINOR INODE PATH (deleted)": mapped, without a name, and not met yet. */
static bool is_hidden(struct growth *growth, const char *line)
{
    static const char deleted[] = " (deleted)";
    size_t len = strlen(line);

    if (len < sizeof deleted || strcmp(line + len - (sizeof deleted - 1), deleted) != 0)
        return false;
    for (int field = 1; field < 4; field++) {
        line += strcspn(line, " ");
        line += *line == ' ';
    }
    char *end;
    unsigned long major_id = strtoul(line, &end, 16);
    unsigned long minor_id = *end == ':' ? strtoul(end + 1, &end, 16) : 0;
    ino_t ino = strtoull(end, NULL, 10);
    dev_t dev = makedev(major_id, minor_id);
    return ino && growth_filesystem(growth, dev) && growth_remember(growth, dev, ino);
}

/* Complete lines of `text`; returns how many bytes they are. */
static size_t look_at_lines(struct growth *growth, char *text)
{
    char *line = text;

    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (is_hidden(growth, line))
            growth_set_unseen(growth);
    }
    return (size_t)(line - text);
}

/* Returns whether there was anything: the first thread that ended has no memory any more. */
static bool look_at_maps(struct growth *growth)
{
    char text[MAPS_SIZE + 1];
    char path[64];
    size_t len = 0;
    size_t total = 0;
    ssize_t got = 0;

    snprintf(path, sizeof path, "%d/task/%d/maps", growth->walk->pid, growth->walk->tid);
    fd_auto int fd = ret_errno(openat(growth->proc, path, O_RDONLY | O_CLOEXEC));
    if (fd < 0) {
        if (fd != -ENOENT && fd != -ESRCH && !is_ending(growth, growth->walk->tid))
            growth_set_unseen(growth);
        return false;
    }
    while (len < MAPS_SIZE && total < MAPS_MAX &&
           (got = read(fd, text + len, MAPS_SIZE - len)) > 0) {
        total += (size_t)got;
        text[len + (size_t)got] = '\0';
        size_t done = look_at_lines(growth, text);
        len = len + (size_t)got - done;
        memmove(text, text + done, len);
    }
    if (got < 0 || len == MAPS_SIZE || total >= MAPS_MAX) /* or made to be unreadable */
        growth_set_unseen(growth);
    return total > 0;
}

static bool is_ours(const struct growth *growth, pid_t pid)
{
    return pid == INIT ||
           (growth->spare && pid == __atomic_load_n(growth->spare, __ATOMIC_RELAXED));
}

/* One descriptor, or one list opened. Returns 1 when all processes were seen. */
static int step_processes(struct growth *growth)
{
    int number;

    if (growth->walk->files.fd >= 0) {
        if (sys_proclist_next(&growth->walk->files, &number) > 0) {
            look_at_file(growth, number);
            return 0;
        }
        sys_proclist_close(&growth->walk->files);
        if (!growth->walk->maps_seen)
            growth->walk->maps_seen = look_at_maps(growth);
        return 0;
    }
    if (growth->walk->threads.fd >= 0) {
        if (sys_proclist_next(&growth->walk->threads, &growth->walk->tid) > 0)
            open_files(growth);
        else
            sys_proclist_close(&growth->walk->threads);
        return 0;
    }
    int r = sys_proclist_next(&growth->walk->processes, &growth->walk->pid);
    if (r <= 0)
        return r < 0 ? r : 1;
    growth->walk->maps_seen = false;
    if (!is_ours(growth, growth->walk->pid))
        open_threads(growth);
    return 0;
}

int growth_held_step(struct growth *growth)
{
    if (growth->walk->processes.fd < 0 &&
        (growth->proc < 0 || sys_proclist_open(&growth->walk->processes, growth->proc, ".") < 0)) {
        growth_set_unseen(growth);
        return 1;
    }
    int r = step_processes(growth);
    if (r < 0)
        growth_set_unseen(growth);
    return r != 0;
}
