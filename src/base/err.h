/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling a struct hutch_error, in the one expression that also returns its code.
 * Filled once, at the lowest level that knows the user's words; callers pass it up untouched.
 * `err` may be NULL everywhere. Any thread.
 */
#pragma once

#include <hutch.h>

/* Fill *err and return `code`. `where` may be NULL. */
int err_set(struct hutch_error *err, int code, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * For a failed system call: `r` is its -errno, whose text comes behind the message. Returns HUTCH_ESYSTEM
 * (HUTCH_ENOMEM for -ENOMEM).
 */
int err_sys(struct hutch_error *err, int r, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

int err_oom(struct hutch_error *err);

/* Return `r`, a code. An error that does not say where it happened gets `where`, the step that this was. */
int err_in(int r, const char *where, struct hutch_error *err);

/* The argument `name` is NULL and may not be. */
int err_null(struct hutch_error *err, const char *name);
