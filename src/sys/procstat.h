/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of processes, from the /proc of any pid namespace: `proc` is a descriptor of its root.
 *
 * Names of processes are chosen by the untrusted and may contain anything. A process may vanish at
 * any time: -ENOENT or -ESRCH. `stat` and `status` can be read of every process, what needs more
 * (exact memory, descriptors) only of those that the caller might trace: else -EACCES or -EPERM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* From /proc/PID/stat. */
struct sys_procstat {
    char state; /* 'Z' and 'X': its first thread has ended, others may live on */
    pid_t parent;
    pid_t session;           /* its leader's; 0 of one outside the /proc's pid namespace */
    bool ending;             /* it gives up what it holds, or has */
    bool unexecuted;         /* forked, and has executed no program since */
    uint64_t user_ticks;     /* of all its threads, ended ones too; sysconf(_SC_CLK_TCK) a second */
    uint64_t system_ticks;   /* likewise */
    uint64_t waited_user;    /* ticks of children it has waited for, and of those they waited for */
    uint64_t waited_system;  /* likewise */
    uint64_t threads;        /* 1 for one that has ended and was not waited for */
    uint64_t start_ticks;    /* since boot: with the pid it tells one process from another */
    uint64_t virtual_bytes;  /* 0 when the first thread has ended */
    uint64_t resident_pages; /* likewise; file pages too */
};

/* Memory that goes away with the process (and with those that share it), in bytes. */
struct sys_procmem {
    uint64_t anon;   /* its own */
    uint64_t shared; /* shared memory and files of any tmpfs, as far as it has them mapped */
    uint64_t swap;   /* of both, swapped out */
};

/* Parse the text of a stat file. -EINVAL when it is not one; *ret is then untouched. */
int sys_procstat_parse(const char *text, struct sys_procstat *ret);
int sys_procstat_read(int proc, pid_t pid, struct sys_procstat *ret);

/*
 * Parse status (`exact` false) or smaps_rollup. -ENODATA when the text tells of no memory, as for
 * processes that have ended.
 */
int sys_procmem_parse(const char *text, bool exact, struct sys_procmem *ret);

/*
 * What the process has mapped; with `exact` a page that several processes share is divided among
 * them, at the cost of a look at every page. All zero for one that has ended. A process whose first
 * thread has ended is asked for by another thread: the kernel shows no memory for the first.
 */
int sys_procmem_read(int proc, pid_t pid, bool exact, struct sys_procmem *ret);

/* The numeric names in a directory of /proc (processes, threads, descriptors), in the kernel's order. */
struct sys_proclist {
    int fd;       /* -1: not open */
    int last;     /* told, or -1 */
    int above;    /* only those are told */
    int64_t here; /* the kernel's place of the entry that was looked at last */
    int64_t next; /* of the one after it; of the last in a buffer that of the end */
    size_t at;
    size_t len;
    _Alignas(8) char buffer[4096];
};

/* Open `path` below `proc`, "." for itself. Close with sys_proclist_close(). */
int sys_proclist_open(struct sys_proclist *list, int proc, const char *path);

/* 1 with the next number, 0 at the end. */
int sys_proclist_next(struct sys_proclist *list, int *ret);

/* After the end: go on with those who came since then and have higher numbers. */
void sys_proclist_again(struct sys_proclist *list);

/* May be called again. */
void sys_proclist_close(struct sys_proclist *list);
