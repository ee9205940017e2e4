/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attacker: one program, one verb per attack. A verb says on stdout how it went and returns one
 * of the codes below, which is also the exit status.
 *
 * What a verb does must be harmless where it succeeds, because the control runs it with no lock
 * in the way, as root too: it writes back what it read, opens without writing, passes bad pointers,
 * and limits itself in number and time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    HELD = 0,     /* refused */
    FAILED = 2,   /* the attack itself is broken, or was called wrongly */
    ESCAPED = 10, /* it worked */
    DONE = 11,    /* it was tried; whether it worked can only be seen from outside */
    ABSENT = 77,  /* the kernel does not have what is attacked */
};

#define PRINTF(n) __attribute__((format(printf, n, (n) + 1)))

int held(const char *fmt, ...) PRINTF(1);
int escaped(const char *fmt, ...) PRINTF(1);
int done(const char *fmt, ...) PRINTF(1);
int absent(const char *fmt, ...) PRINTF(1);
/* A step that must work for the attack to mean something: says why not and exits with FAILED. */
#define need(ok, what)                                                                             \
    do {                                                                                           \
        if (!(ok))                                                                                 \
            broken(what);                                                                          \
    } while (0)
void broken(const char *what) __attribute__((noreturn));
/* escaped(what) when it was done, held(what and errno) when not. */
int verdict(bool was_done, const char *what);

struct verb {
    const char *name;
    const char *args; /* for the usage line */
    int least;        /* how many arguments it needs */
    int (*run)(char **arg);
};

/* One table a file; each ends with a row without a name. */
extern const struct verb stage_verbs[];
extern const struct verb path_verbs[];
extern const struct verb init_verbs[];
extern const struct verb root_verbs[];
extern const struct verb proc_verbs[];
extern const struct verb process_verbs[];
extern const struct verb lifetime_verbs[];
extern const struct verb terminal_verbs[];
extern const struct verb resident_verbs[];
extern const struct verb syscall_verbs[];
extern const struct verb filter_verbs[];
extern const struct verb kernel_verbs[];
extern const struct verb ipc_verbs[];
extern const struct verb secret_verbs[];
extern const struct verb load_verbs[];
extern const struct verb net_verbs[];

/* Run the verb arg[0] with the arguments after it. */
int run_verb(char **arg);

/* ---- Shared small things ---- */

/* The whole number in `text`, or exits. */
long number(const char *digits);
/* Run `fn` in a child; its exit status, or 128 plus the signal that ended it. */
int in_child(int (*fn)(void *arg), void *arg);
int status_code(int wait_status);
/* Bytes read from the start of a file (NUL-terminated), or -1. */
ssize_t slurp(const char *path, char *buf, size_t size);
/* Write text to a file that exists. */
bool spill(const char *path, const char *text);
/* The path is there, with what follows made by printf. Returns a static buffer. */
const char *text(const char *fmt, ...) PRINTF(1);
/* Calls `fn` for every name in a directory until it returns something other than 0. */
int each_name(const char *dir, int (*fn)(const char *dir, const char *name, void *arg), void *arg);
/*
 * New user namespace in which this process is root (or, with keep_id, still itself), and more.
 * Where that is refused the process ends with HELD.
 */
void own_namespaces(int flags, bool keep_id);
double now_ms(void);
