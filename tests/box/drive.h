/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running things in sandboxes: through the library, in this process, or through the command, as a
 * child of it. Arguments are lists that end with NULL: LIST("--layout", "minimal").
 */
#pragma once

#include <sys/types.h>

#include <hutch.h>

#include "harness.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
/* The payload, in a workspace that is the working directory inside. */
#define PAYLOAD(...) LIST("./payload", __VA_ARGS__)

/* ---- The library ---- */

/* A policy from flags and their values; NULL: only the default profile. The caller frees it. */
struct hutch_policy *drive_policy(const char *const *flags);

/* Run and wait. The result lives until the test ends; failing to start ends the test. */
const struct hutch_result *drive_run(const char *const *flags, const char *const *argv);

/* The same, and it must exit with 0; returns its standard output. */
const char *drive_out(const char *const *flags, const char *const *argv);

/* A run that must be refused before anything has run; returns the message. */
const char *drive_refused(const char *const *flags, const char *const *argv);

/* With a command that the caller has filled in. */
const struct hutch_result *drive_command(const char *const *flags,
                                         const struct hutch_command *command);

/* Open a sandbox that lasts, which must work. The caller closes it. */
struct hutch_sandbox *drive_open(const char *const *flags);

/* The same, with somebody to be told of events. */
struct hutch_sandbox *drive_open_told(const char *const *flags, hutch_event_fn *on_event,
                                      void *arg);

/* Run one command in it, which must work, and wait. The caller frees the result. */
struct hutch_result *drive_exec(struct hutch_sandbox *sandbox, const struct hutch_command *command);

/* Expect what the layout `root` leaves in the workspace: its mount points, empty directories. */
void drive_expect_mount_points(void);

/* ---- The command ---- */

struct drive_child {
    pid_t pid;
    int in; /* our ends of its pipes, -1 when closed */
    int out;
    int err;
};

struct drive_end {
    int status;      /* as a shell has it: 128 + N for a signal */
    const char *out; /* NUL-terminated */
    size_t out_len;
    const char *err;
    size_t err_len;
    double ms;
    long max_rss_kb;
};

/* Start `hutch ARGS...`; `before` (may be NULL) runs in the child before it becomes hutch. */
struct drive_child drive_start(const char *const *args, void (*before)(void *arg), void *arg);

/* Send `input` (NULL: nothing), read everything, wait. */
struct drive_end drive_finish(struct drive_child *child, const char *input, size_t len);

/* Both at once. */
struct drive_end drive_cli(const char *const *args);

/* Read from `fd` until `text` has appeared; returns what came. */
const char *drive_read_until(int fd, const char *text);

/* Run a command line outside of any sandbox, for controls and preparations; its status. */
int drive_shell(const char *line);

/* Wait for a child; its status as a shell has it. */
int drive_wait(pid_t pid, long *ret_max_rss_kb);
