/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/procstat.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "sys/dirent.h"
#include "sys/ret.h"

/* include/linux/sched.h */
#define K_PF_EXITING 0x4
#define K_PF_FORKNOEXEC 0x40

#define PATH_ROOM 64 /* "PID/task/TID/smaps_rollup" */

/* ---- stat ---- */

/* Positions in proc_pid_stat(5), counted from 1; the name is 2 and the state 3. */
enum stat_field {
    FIELD_PARENT = 4,
    FIELD_SESSION = 6,
    FIELD_FLAGS = 9,
    FIELD_USER = 14,
    FIELD_SYSTEM,
    FIELD_WAITED_USER,
    FIELD_WAITED_SYSTEM,
    FIELD_THREADS = 20,
    FIELD_START = 22,
    FIELD_VIRTUAL,
    FIELD_RESIDENT,
    FIELD_END,
};

/* A space and a number, which may be negative: that one is 0 to us. Returns what follows, or NULL. */
static const char *take_number(const char *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (*text++ != ' ')
        return NULL;
    bool negative = *text == '-';
    text += negative;
    if (*text < '0' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    *ret = negative ? 0 : value;
    return text;
}

int sys_procstat_parse(const char *text, struct sys_procstat *ret)
{
    uint64_t field[FIELD_END];
    /* The name may contain ')' and what looks like all the rest, but nothing after it does. */
    const char *at = strrchr(text, ')');

    if (!at || at[1] != ' ' || !at[2])
        return -EINVAL;
    char state = at[2];
    at += 3;
    for (int i = FIELD_PARENT; i < FIELD_END; i++) {
        at = take_number(at, &field[i]);
        if (!at)
            return -EINVAL;
    }
    *ret = (struct sys_procstat){
        .state = state,
        .parent = (pid_t)field[FIELD_PARENT],
        .session = (pid_t)field[FIELD_SESSION],
        .ending = state == 'Z' || state == 'X' || field[FIELD_FLAGS] & K_PF_EXITING,
        .unexecuted = field[FIELD_FLAGS] & K_PF_FORKNOEXEC,
        .user_ticks = field[FIELD_USER],
        .system_ticks = field[FIELD_SYSTEM],
        .waited_user = field[FIELD_WAITED_USER],
        .waited_system = field[FIELD_WAITED_SYSTEM],
        .threads = field[FIELD_THREADS],
        .start_ticks = field[FIELD_START],
        .virtual_bytes = field[FIELD_VIRTUAL],
        .resident_pages = field[FIELD_RESIDENT],
    };
    return 0;
}

static int read_text(int proc, const char *path, char *text, size_t size)
{
    fd_auto int fd = ret_errno(openat(proc, path, O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return fd;
    ssize_t len = read(fd, text, size - 1);
    if (len < 0)
        return -errno;
    text[len] = '\0';
    return (int)len;
}

/* "PID/name", or "PID/task/TID/name" with a `tid`. */
static const char *put_path(char out[PATH_ROOM], pid_t pid, pid_t tid, const char *name)
{
    char *end = num_put(out, (uint64_t)pid, 10);

    if (tid > 0) {
        memcpy(end, "/task/", 6);
        end = num_put(end + 6, (uint64_t)tid, 10);
    }
    *end++ = '/';
    memcpy(end, name, strlen(name) + 1);
    return out;
}

int sys_procstat_read(int proc, pid_t pid, struct sys_procstat *ret)
{
    char path[PATH_ROOM];
    char text[1024]; /* 52 numbers and a name of 64 bytes at most */
    int r = read_text(proc, put_path(path, pid, 0, "stat"), text, sizeof text);

    return r < 0 ? r : sys_procstat_parse(text, ret);
}

/* ---- Memory ---- */

/* The number of kB on the line "name:   123 kB"; no name is ever part of another line's start. */
static bool find_kb(const char *text, const char *name, uint64_t *ret_bytes)
{
    size_t len = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) != 0 || line[len] != ':')
            continue;
        const char *digit = line + len + 1 + strspn(line + len + 1, " \t");
        uint64_t value = 0;
        for (; *digit >= '0' && *digit <= '9'; digit++)
            value = value * 10 + (uint64_t)(*digit - '0');
        *ret_bytes = value * 1024;
        return true;
    }
    return false;
}

int sys_procmem_parse(const char *text, bool exact, struct sys_procmem *ret)
{
    struct sys_procmem memory = {0};

    if (!find_kb(text, exact ? "Pss_Anon" : "RssAnon", &memory.anon))
        return -ENODATA;
    find_kb(text, exact ? "Pss_Shmem" : "RssShmem", &memory.shared);
    find_kb(text, exact ? "SwapPss" : "VmSwap", &memory.swap);
    *ret = memory;
    return 0;
}

static int read_memory(int proc, pid_t pid, pid_t tid, bool exact, struct sys_procmem *ret)
{
    char path[PATH_ROOM];
    char text[4096];
    int r = read_text(proc, put_path(path, pid, tid, exact ? "smaps_rollup" : "status"), text,
                      sizeof text);

    /* -ESRCH: smaps_rollup of one without memory. */
    if (r == -ESRCH && exact)
        return -ENODATA;
    return r < 0 ? r : sys_procmem_parse(text, exact, ret);
}

/* Threads share their memory, so the first that has any tells. */
static int read_from_threads(int proc, pid_t pid, bool exact, struct sys_procmem *ret)
{
    struct sys_proclist threads;
    char path[PATH_ROOM];
    int tid;
    int r = sys_proclist_open(&threads, proc, put_path(path, pid, 0, "task"));

    if (r < 0)
        return r;
    *ret = (struct sys_procmem){0};
    while ((r = sys_proclist_next(&threads, &tid)) > 0)
        if (tid != pid && read_memory(proc, pid, tid, exact, ret) == 0)
            break;
    sys_proclist_close(&threads);
    return r < 0 ? r : 0;
}

int sys_procmem_read(int proc, pid_t pid, bool exact, struct sys_procmem *ret)
{
    int r = read_memory(proc, pid, 0, exact, ret);

    return r == -ENODATA ? read_from_threads(proc, pid, exact, ret) : r;
}

/* ---- Lists ---- */

int sys_proclist_open(struct sys_proclist *list, int proc, const char *path)
{
    list->at = list->len = 0;
    list->here = list->next = 0;
    list->last = list->above = -1;
    list->fd = ret_errno(openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return list->fd < 0 ? list->fd : 0;
}

static bool is_number(const char *name, int *ret)
{
    int value = 0;

    for (; *name >= '0' && *name <= '9'; name++) {
        if (value > (INT_MAX - 9) / 10)
            return false;
        value = value * 10 + (*name - '0');
    }
    *ret = value;
    return *name == '\0';
}

int sys_proclist_next(struct sys_proclist *list, int *ret)
{
    for (;;) {
        if (list->at >= list->len) {
            int r = ret_errno(syscall(SYS_getdents64, list->fd, list->buffer, sizeof list->buffer));
            if (r <= 0)
                return r;
            list->at = 0;
            list->len = (size_t)r;
        }
        const struct sys_dirent *entry = (const struct sys_dirent *)(list->buffer + list->at);
        list->at += entry->len;
        list->here = list->next;
        list->next = entry->next;
        if (is_number(entry->name, ret) && *ret > list->above) {
            list->last = *ret;
            return 1;
        }
    }
}

/* At the end there is never anything more for the kernel, so that we have to go back to the last one. */
void sys_proclist_again(struct sys_proclist *list)
{
    list->above = list->last;
    list->next = list->here;
    lseek(list->fd, list->here, SEEK_SET);
}

void sys_proclist_close(struct sys_proclist *list)
{
    fd_close(&list->fd);
}
