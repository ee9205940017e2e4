/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rpc/server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/message.h"
#include "cli/signals.h"

enum {
    LINES_AT_ONCE = 64, /* then runs have their turn */
    LAST_MS = 5000,     /* for a client that is done sending to read what it has not */
};

/* What is polled: four of our own, then runs. */
enum { WATCH_IN, WATCH_OUT, WATCH_SIGNALS, WATCH_FILES, WATCH_RUNS };

struct watched {
    struct pollfd fds[WATCH_RUNS + RUNS_MAX];
    struct server_run *runs[WATCH_RUNS + RUNS_MAX];
    nfds_t count;
};

uint64_t server_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool server_is_full(const struct server *server)
{
    return outbox_len(&server->outbox) > OUTBOX_PAUSE;
}

/* Whether it takes more requests. */
static bool may_take(const struct server *server)
{
    return !server_is_full(server) && turn_has_room(server);
}

static bool is_blank(const char *line, size_t len)
{
    while (len > 0 && strchr(" \t\r", line[len - 1]) && line[len - 1])
        len--;
    return len == 0;
}

static void take_line(struct server *server, const char *line, size_t len)
{
    if (is_blank(line, len))
        return;
    server->held = !server_dispatch(server, line, len, false);
    if (server->held)
        lines_unread(&server->lines, line);
}

/* A line that is too long; its beginning is there, and may say whose it is. */
static void refuse_line(struct server *server, const char *line, size_t len)
{
    str_auto char *id = message_early_id(line, len);
    struct hutch_error err;

    err_set(&err, HUTCH_EINVALID, "", "a line has more than %d bytes", MESSAGE_MAX);
    answer_error(&server->outbox, id ? id : "null", RPC_REQUEST, &err);
}

/* Lines that have arrived. Returns whether there may be more of them. */
static bool take_lines(struct server *server)
{
    const char *line;
    size_t len;

    server->held = false;
    for (int i = 0; i < LINES_AT_ONCE && !server->held && may_take(server); i++) {
        switch (lines_next(&server->lines, &line, &len)) {
        case LINES_NONE: return false;
        case LINES_ONE: take_line(server, line, len); break;
        case LINES_TOO_LONG: refuse_line(server, line, len); break;
        }
    }
    return true;
}

/* ---- The loop ---- */

static void watch_runs(const struct server *server, struct watched *watched)
{
    bool full = server_is_full(server);

    for (const struct server_sandbox *row = server->sandboxes; row; row = row->next) {
        bool paused = full && notify_wants_output(row);

        for (struct server_run *run = row->runs; run; run = run->next) {
            if (run->over)
                continue;
            watched->fds[watched->count] = (struct pollfd){
                .fd = paused ? -1 : hutch_run_fd(run->run), .events = POLLIN};
            watched->runs[watched->count++] = run;
        }
    }
}

static void watch(const struct server *server, int signals, struct watched *watched)
{
    bool waits = outbox_len(&server->outbox) > 0;
    bool reads = !server->lines.ended && !server->held && may_take(server);

    watched->fds[WATCH_IN] = (struct pollfd){.fd = reads ? server->in : -1, .events = POLLIN};
    watched->fds[WATCH_OUT] = (struct pollfd){.fd = server->outbox.fd,
                                              .events = waits ? POLLOUT : 0};
    watched->fds[WATCH_SIGNALS] = (struct pollfd){.fd = signals, .events = POLLIN};
    watched->fds[WATCH_FILES] = (struct pollfd){.fd = server->workers.wake_fd, .events = POLLIN};
    watched->count = WATCH_RUNS;
    watch_runs(server, watched);
}

/* How long to wait at most: -1 for ever. */
static int wait_for(const struct server *server)
{
    if (server_is_full(server))
        return server->run_count > 0 ? THROTTLE_MS : -1;
    if (server->drained)
        return 0;
    if (server->held || server->retry)
        return RETRY_MS;
    return server->more_lines && may_take(server) ? 0 : server_wait_timeout(server);
}

/* Runs that have something to do; from time to time also those that are paused. */
static void step_runs(struct server *server, const struct watched *watched)
{
    uint64_t now = server_now_ms();
    bool all = server_is_full(server) && now - server->stepped_ms >= THROTTLE_MS;

    if (all)
        server->stepped_ms = now;
    for (nfds_t i = WATCH_RUNS; i < watched->count; i++) {
        if (all || watched->fds[i].revents)
            run_step_once(watched->runs[i]);
    }
}

/* One turn. Returns 1 to go on, 0 when the client is gone, or a negative code. */
static int turn(struct server *server, int signals, struct hutch_error *err)
{
    struct watched watched;

    watch(server, signals, &watched);
    int n = poll(watched.fds, watched.count, wait_for(server));
    if (n < 0 && errno != EINTR)
        return err_sys(err, -errno, "rpc", "cannot wait for the client");
    if (n < 0)
        return 1;

    if (watched.fds[WATCH_SIGNALS].revents || watched.fds[WATCH_OUT].revents & (POLLERR | POLLNVAL))
        return 0;
    if (watched.fds[WATCH_FILES].revents)
        file_workers_heard(&server->workers);
    step_runs(server, &watched);
    server_settle(server);
    if (watched.fds[WATCH_IN].revents && lines_read(&server->lines, server->in) <= 0)
        lines_finish(&server->lines);
    server->more_lines = take_lines(server);
    server_settle(server);
    if (server->dropped && !server_is_full(server))
        notify_dropped(server);
    bool full = server_is_full(server);
    if (outbox_flush(&server->outbox) < 0)
        return 0;
    server->drained = full && !server_is_full(server);
    return !server->lines.ended || server->more_lines || server->drained ||
           server_has_files(server);
}

/* What is in the outbox gets a little time: the client may have closed its end to say it is done. */
static void flush_last(struct server *server)
{
    uint64_t end = server_now_ms() + LAST_MS;

    while (outbox_flush(&server->outbox) == 0 && outbox_len(&server->outbox) > 0) {
        struct pollfd out = {.fd = server->outbox.fd, .events = POLLOUT};
        uint64_t now = server_now_ms();

        if (now >= end || (poll(&out, 1, (int)(end - now)) < 0 && errno != EINTR))
            return;
    }
}

static void close_all(struct server *server)
{
    server_free_waiters(server);
    server->subscribed = 0; /* nobody is told any more, but the log is */
    for (struct server_sandbox *row = server->sandboxes, *next; row; row = next) {
        next = row->next;
        row->subscribed = 0;
        if (!row->file_call) /* those whose end has to be waited for come last */
            server_free_sandbox(server, row);
    }
    while (server->sandboxes)
        server_free_sandbox(server, server->sandboxes);
}

static int open_workers(struct server *server, struct hutch_error *err)
{
    int r = file_workers_init(&server->workers);

    return r < 0 ? err_sys(err, r, "rpc", "cannot prepare for calls about files") : 0;
}

int server_run(int in, int out, struct hutch_error *err)
{
    struct server server = {.in = in, .audit = EVENTS_INIT};
    signals_auto struct signals signals = SIGNALS_INIT;

    int r = signals_open(&signals, err);
    if (r == 0)
        r = events_open(&server.audit, NULL, err);
    if (r == 0)
        r = open_workers(&server, err);
    if (r < 0)
        return r;
    lines_init(&server.lines, MESSAGE_MAX);
    outbox_init(&server.outbox, out);
    do {
        r = turn(&server, signals.fd, err);
    } while (r > 0);
    close_all(&server);
    flush_last(&server);
    events_report(&server.audit);
    events_close(&server.audit);
    file_workers_clear(&server.workers);
    outbox_clear(&server.outbox);
    lines_clear(&server.lines);
    return r;
}
