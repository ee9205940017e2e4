/* SPDX-License-Identifier: Apache-2.0 */
/* What account.c and account_claims.c share. For these files only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/native/account.h"
#include "sys/procstat.h"

struct cpu {
    uint64_t user; /* ticks */
    uint64_t system;
};

struct seen {
    pid_t pid;
    pid_t parent;
    uint64_t start_ticks;
    struct cpu own;    /* zero for init */
    struct cpu waited; /* of children it has waited for */
    struct cpu
        growth[2]; /* of `waited`, in the last walk and in this one: what claims are met from */
    uint64_t virtual_bytes;
    uint64_t resident_pages;
    struct sys_procmem memory;
    bool known; /* for as long as resident_pages stays what it is */
    bool echo;  /* its memory is its parent's */
};

struct claim {
    pid_t pid;
    pid_t parent;
    uint64_t start_ticks;
    struct cpu open; /* not met yet */
    bool again;      /* stands for the second walk */
};

struct sums {
    struct cpu cpu;
    struct sys_procmem memory;
    uint64_t threads;
    uint64_t with_memory; /* processes */
    uint64_t largest;     /* of one of them, without what is shared memory */
    bool exact;           /* what they share is divided among them */
    bool sure;            /* and not by more at one time than at another */
};

struct account {
    struct account_args args;
    uint64_t ticks_per_second;
    uint64_t page_bytes;
    size_t table_max;
    struct seen *last; /* by rising pid */
    size_t last_count;
    struct seen *now;
    size_t now_count;
    struct claim *claims; /* those of the walk before, then those of this one, each by rising pid */
    size_t claim_count;
    size_t older_claims;
    struct cpu lost;
    struct cpu told; /* the largest sum ever returned */
    uint64_t peak_memory;
    uint64_t peak_threads;
    int64_t credit_ns;      /* of processor time; below 0: to be waited for */
    uint64_t credited_ns;   /* until when it has been given */
    uint64_t next_exact_ns; /* no look at every page for a peak's sake before */
};

static inline void cpu_add(struct cpu *to, struct cpu other)
{
    to->user += other.user;
    to->system += other.system;
}

/* account.c: NULL when it is not in the table. */
struct seen *account_find(struct seen *table, size_t count, pid_t pid);

/*
 * account_claims.c: after a walk, see to the CPU time of those who are missing. Returns what is still open of it:
 * that counts, but may yet be met.
 */
struct cpu account_settle(struct account *account);
