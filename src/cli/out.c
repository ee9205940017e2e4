/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/out.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"

enum { LINE_MAX_BYTES = 1024 };

bool out_colour(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (no_color && *no_color)
        return false;
    return term && !str_eq(term, "dumb") && isatty(fileno(stream));
}

/* One call of fprintf, so that lines of programs which share the terminal do not mix. */
static void put_line(const char *text)
{
    char safe[2 * LINE_MAX_BYTES];
    bool colour = out_colour(stderr);

    fprintf(stderr, "%shutch:%s %s\n", colour ? "\033[31m" : "", colour ? "\033[0m" : "",
            str_printable(text, safe, sizeof safe));
}

void out_line(const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_line(text);
}

int out_error(const struct hutch_error *err)
{
    if (err->where[0])
        out_line("%s (at %s)", err->msg, err->where);
    else
        out_line("%s", err->msg);
    return err->code == HUTCH_EINVALID || err->code == HUTCH_EPOLICY ? CLI_USAGE : CLI_FAILED;
}

static void put_safe(const char *text, size_t len)
{
    size_t size = 4 * len + 1; /* every byte may become \xNN */
    char *raw = strndup(text, len);
    char *safe = malloc(size);

    if (!raw || !safe)
        abort();
    fputs(str_printable(raw, safe, size), stdout);
    free(safe);
    free(raw);
}

/* Lines and tabs stay; everything between them is made printable. */
void out_text(const char *text)
{
    char last = '\n';

    while (*text) {
        size_t len = strcspn(text, "\n\t");

        if (len > 0) {
            put_safe(text, len);
            last = text[len - 1];
        }
        text += len;
        if (*text) {
            last = *text++;
            putchar(last);
        }
    }
    if (last != '\n')
        putchar('\n');
}

void out_document(const char *text)
{
    size_t len = strlen(text);

    if (isatty(STDOUT_FILENO)) {
        out_text(text);
        return;
    }
    fputs(text, stdout);
    if (len == 0 || text[len - 1] != '\n')
        putchar('\n');
}

static bool stdout_is_closed;

void out_closed(void)
{
    stdout_is_closed = true;
}

int out_finish(int status, int failed)
{
    int error = ferror(stdout) ? errno : 0; /* of the last write, which failed like the first */

    if (fflush(stdout) != 0)
        error = errno;
    else if (stdout_is_closed)
        error = EBADF;
    if (!error && !ferror(stdout))
        return status;
    out_line("cannot write the output: %s", strerror(error ? error : EIO));
    return failed;
}
