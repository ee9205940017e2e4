/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

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

int err_sys(struct hutch_error *err, int r, const char *where, const char *fmt, ...)
{
    int code = r == -ENOMEM ? HUTCH_ENOMEM : HUTCH_ESYSTEM;
    va_list args;

    va_start(args, fmt);
    fill(err, code, -r, where, fmt, args);
    va_end(args);
    return code;
}

int err_oom(struct hutch_error *err)
{
    return err_sys(err, -ENOMEM, NULL, "out of memory");
}

int err_null(struct hutch_error *err, const char *name)
{
    return err_set(err, HUTCH_EINVALID, name, "NULL was given");
}
