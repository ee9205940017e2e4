/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of the command under limits, looked at from outside: its JSON result, its events, what the
 * bomb inside said, how much memory the supervisor had, and what is left. Built on the frame of the
 * box tests, with `bomb` for its payload.
 *
 * Everything here is bounded: bombs are small, and times are as short as they can be told apart.
 * Where everything is slower (an emulated machine), LIMITS_SLOW says how many times.
 */
#pragma once

#include <jansson.h>

#include "../box/drive.h"

/* The bomb, in a workspace that is the working directory inside. */
#define BOMB(...) LIST("./payload", __VA_ARGS__)

#define KIB (1024.0)
#define MIB (1024.0 * 1024.0)

struct limit_run {
    struct drive_child child;
    const char *events_path;
    int status;      /* of hutch, as a shell has it */
    double ms;       /* from its start to its end */
    double hwm_kb;   /* the most memory the supervisor had, as far as was seen */
    const char *out; /* what hutch printed; with --json that was parsed */
    const char *err;
    json_t *result; /* NULL: hutch did not print one */
    json_t *events; /* an array */
};

/* ---- Running. The flags come before "--json"; NULL: none. ---- */

struct limit_run limit_start(const char *const *flags, const char *const *argv);
void limit_finish(struct limit_run *run);
/* Both. What it returns lives until the test ends. */
struct limit_run limit_run(const char *const *flags, const char *const *argv);

/* The same without events: what the bomb prints would be among them. */
struct limit_run limit_run_quietly(const char *const *flags, const char *const *argv);

/*
 * The same, with a second sandbox beside it that has the same limits, stays below them and must not
 * notice anything.
 */
struct limit_run limit_run_beside(const char *const *flags, const char *const *argv);

/* A run that must be refused with 125, and nothing run; returns what was on standard error. */
const char *limit_refused(const char *const *flags);

/* ---- Looking ---- */

/* The result's reason; "" when there is none. */
const char *limit_reason(const struct limit_run *run);
/* A number of "usage"; -1 when it is not there. */
double limit_usage(const struct limit_run *run, const char *name);
/* A word of "enforced"; "false" and "true" for those, "" when it is not there. */
const char *limit_enforced(const struct limit_run *run, const char *name);
/* What was printed inside; "" when it is not there. */
const char *limit_stdout(const struct limit_run *run);
/* What the bomb said that a verb got, or -1; and the error it named, or "". */
double limit_said(const struct limit_run *run, const char *verb);
const char *limit_said_error(const struct limit_run *run, const char *verb);
/* How many events of a type there are; `limit` NULL: of any limit. */
int limit_events(const struct limit_run *run, const char *type, const char *limit);
/* When the first one was, in ms since 1970; -1: never. */
double limit_event_time(const struct limit_run *run, const char *type, const char *limit);

/* ---- Checking ---- */

/* How it must have ended. */
void limit_check_end(const struct limit_run *run, const char *reason, int status, const char *file,
                     int line);
#define CHECK_END(run, reason, status)                                                             \
    limit_check_end((run), (reason), (status), __FILE__, __LINE__)

/* Within 10 % of `want`, and `more` for what nobody can keep from using. */
void limit_check_near(double want, double got, double more, const char *what, const char *file,
                      int line);
#define CHECK_NEAR(want, got, more)                                                                \
    limit_check_near((want), (got), (more), #got, __FILE__, __LINE__)

void limit_check_bound(double got, double bound, bool most, const char *what, const char *file,
                       int line);
#define CHECK_MOST(most, got)                                                                      \
    limit_check_bound((double)(got), (most), true, #got, __FILE__, __LINE__)
#define CHECK_LEAST(least, got)                                                                    \
    limit_check_bound((double)(got), (least), false, #got, __FILE__, __LINE__)

/* No more than one warning, one "exceeded" after it, and the run over within a moment of that. */
void limit_check_exceeded(const struct limit_run *run, const char *limit);
/* No cgroup of this run and no big supervisor: for every run that was a bomb. */
void limit_check_clean(const struct limit_run *run);

/* ---- Where we are ---- */

/* How many times slower than usual everything is: 1 and more. */
double limit_slow(void);
/* "v2", "v1" or "false": what a sandbox with limits has here. */
const char *limit_tier(void);
/* Whether the user's systemd makes the groups; LIMITS_BY_SYSTEMD says so. */
bool limit_by_systemd(void);
/* A note for whoever reads the log. */
void limit_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The directories called `name`, as a group or a scope, in all hierarchies of control groups; their number, at most `max`. */
size_t limit_cgroups(const char *name, const char **ret, size_t max);
