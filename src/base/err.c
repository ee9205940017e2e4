/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/*
 * Everything passes str_printable() here, once more, so that no caller can let bytes of a file name
 * or a document reach somebody's terminal as escape sequences.
 */
__attribute__((format(printf, 5, 0))) static void fill(struct hutch_error *err, int code,
                                                       int sys_errno, const char *where,
                                                       const char *fmt, va_list args)
{
    char raw[2 * sizeof(err->msg)];

    if (!err)
        return;
    /* Formatted first: the arguments may point into *err itself. */
    vsnprintf(raw, sizeof(raw), fmt, args);
    if (where != err->where)
        str_printable(where ? where : "", err->where, sizeof(err->where));
    str_printable(raw, err->msg, sizeof(err->msg));
    err->code = code;
    err->sys_errno = sys_errno;
}

int err_set(struct hutch_error *err, int code, const char *where, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, code, 0, where, fmt, args);
    va_end(args);
    return code;
}

static const char *reason_of(int sys_errno)
{
    /* Of a process that works well until it has many sandboxes open. */
    if (sys_errno == EMFILE)
        return "too many open files: the limit of this process is too low (ulimit -n)";
    return strerror(sys_errno);
}

/* The reason comes last and is never cut: what is before it gives way. */
static void add_reason(struct hutch_error *err, int sys_errno)
{
    const char *reason = reason_of(sys_errno);
    const size_t room = strlen(": ") + strlen(reason) + 1;
    size_t len = strlen(err->msg);

    if (room > sizeof(err->msg) / 2)
        return;
    if (len > sizeof(err->msg) - room) {
        len = sizeof(err->msg) - room;
        memset(err->msg + len - strlen("..."), '.', strlen("..."));
    }
    snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", reason);
}

int err_sys(struct hutch_error *err, int r, const char *where, const char *fmt, ...)
{
    int code = r == -ENOMEM ? HUTCH_ENOMEM : HUTCH_ESYSTEM;
    va_list args;

    va_start(args, fmt);
    fill(err, code, -r, where, fmt, args);
    va_end(args);
    if (err)
        add_reason(err, -r);
    return code;
}

int err_oom(struct hutch_error *err)
{
    err_set(err, HUTCH_ENOMEM, NULL, "out of memory");
    if (err)
        err->sys_errno = ENOMEM;
    return HUTCH_ENOMEM;
}

int err_in(int r, const char *where, struct hutch_error *err)
{
    if (r < 0 && err && !err->where[0])
        str_printable(where, err->where, sizeof err->where);
    return r;
}

int err_null(struct hutch_error *err, const char *name)
{
    return err_set(err, HUTCH_EINVALID, name, "NULL was given");
}
