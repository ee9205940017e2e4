/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/events.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/out.h"

enum { EVENT_FLAG, EVENT_AUDIT }; /* index in events->files */

static int open_file(struct event_file *file, const char *where, struct hutch_error *err)
{
    int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY;

    file->fd = open(file->path, flags, 0600);
    if (file->fd < 0)
        return err_sys(err, -errno, where, "cannot open '%s'", file->path);
    return 0;
}

int events_open(struct events *events, const char *path, struct hutch_error *err)
{
    struct event_file *flag = &events->files[EVENT_FLAG], *audit = &events->files[EVENT_AUDIT];
    const char *log = getenv("HUTCH_AUDIT_LOG");
    int r = 0;

    flag->path = path;
    flag->output = true;
    if (path && str_eq(path, "-")) {
        flag->fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        if (flag->fd < 0)
            r = err_sys(err, -errno, "--events", "cannot write events to standard error");
    } else if (path) {
        r = open_file(flag, "--events", err);
    }
    if (r < 0)
        return r;

    audit->path = log && *log ? log : NULL;
    return audit->path ? open_file(audit, "HUTCH_AUDIT_LOG", err) : 0;
}

void events_close(struct events *events)
{
    for (size_t i = 0; i < ARRAY_LEN(events->files); i++)
        fd_close(&events->files[i].fd);
}

bool events_wanted(const struct events *events)
{
    return events->files[EVENT_FLAG].path || events->files[EVENT_AUDIT].path;
}

/* Returns 0 or an errno. A line is one write where possible: others may write to the file too. */
static int write_line(int fd, const char *line, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, line, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        line += n;
        len -= (size_t)n;
    }
    return 0;
}

void events_write(void *arg, const struct hutch_event *event)
{
    struct events *events = arg;
    str_auto char *json = NULL;
    buf_auto struct buf line;

    buf_init(&line, SIZE_MAX);
    if (hutch_event_to_json(event, &json, NULL) == 0) {
        buf_puts(&line, json);
        buf_puts(&line, "\n");
    }
    for (size_t i = 0; i < ARRAY_LEN(events->files); i++) {
        struct event_file *file = &events->files[i];

        if (!file->path || file->failed)
            continue;
        if (event->type == HUTCH_EVENT_RUN_OUTPUT && !file->output)
            continue;
        file->failed = json && !line.failed ? write_line(file->fd, line.data, line.len) : ENOMEM;
    }
}

void events_report(const struct events *events)
{
    for (size_t i = 0; i < ARRAY_LEN(events->files); i++) {
        const struct event_file *file = &events->files[i];

        if (!file->failed)
            continue;
        out_line("events are missing in '%s': %s", file->path, strerror(file->failed));
    }
}
