/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only in a command that is linked with musl: what libraries built with glibc's FORTIFY_SOURCE call in
 * place of the plain functions. glibc would end the program when `size` of the object is too small;
 * so does this. See docs/decisions/0005-musl.md.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __GLIBC__ /* which has them itself */

/* Names and types are glibc's. */
int __snprintf_chk(char *out, size_t len, int flag, size_t size, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
int __vsnprintf_chk(char *out, size_t len, int flag, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 5, 0)));
int __fprintf_chk(FILE *file, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
char *__strncpy_chk(char *out, const char *text, size_t len, size_t size);

int __vsnprintf_chk(char *out, size_t len, int flag, size_t size, const char *format, va_list args)
{
    (void)flag;
    if (len > size)
        abort();
    return vsnprintf(out, len, format, args);
}

int __snprintf_chk(char *out, size_t len, int flag, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int r = __vsnprintf_chk(out, len, flag, size, format, args);
    va_end(args);
    return r;
}

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    va_list args;

    (void)flag;
    va_start(args, format);
    int r = vfprintf(file, format, args);
    va_end(args);
    return r;
}

char *__strncpy_chk(char *out, const char *text, size_t len, size_t size)
{
    if (len > size)
        abort();
    return strncpy(out, text, len);
}

#endif
