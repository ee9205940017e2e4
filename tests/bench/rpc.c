/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of `hutch rpc`, as thin as one can be: requests are made before the clock runs, an answer is
 * looked at and not parsed. So what is measured is the server and the two pipes.
 */
#include "bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

static pid_t server;
static int to = -1;
static int from = -1;
static char sandbox[64];
static char answer[64 << 10];

/* It ends with its input. */
static pid_t hang_up(void)
{
    pid_t pid = server;

    if (pid) {
        close(to);
        close(from);
        server = 0;
    }
    return pid;
}

/* For those who die, and not because of how it ends. */
static void end_server(void)
{
    pid_t pid = hang_up();

    if (pid)
        waitpid(pid, NULL, 0);
}

void rpc_close(void)
{
    pid_t pid = hang_up();

    if (pid)
        finish(pid, "hutch rpc");
}

static void start_server(const struct bench *bench)
{
    const char *const argv[] = {bench->hutch, "rpc", NULL};
    int in[2];
    int out[2];

    make_pipe(in);
    make_pipe(out);
    server = start(argv, bench->empty, in[0], out[1], -1);
    close(in[0]);
    close(out[1]);
    to = in[1];
    from = out[0];
}

static char *make_line(const char *method, json_t *params)
{
    json_t *request = json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", 1, "method", method,
                                "params", params);
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    char *line;

    if (!text || asprintf(&line, "%s\n", text) < 0)
        die("cannot make a request '%s'", method);
    free(text);
    json_decref(request);
    return line;
}

char *rpc_line(const char *method, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    json_t *params = json_vpack_ex(NULL, 0, format, args);
    va_end(args);
    if (!params || json_object_set_new(params, "sandbox", json_string(sandbox)) < 0)
        die("cannot make the parameters of '%s'", method);
    return make_line(method, params);
}

void rpc_call(const char *line, const char *wanted)
{
    size_t len = strlen(line);
    size_t used = 0;

    if (write(to, line, len) != (ssize_t)len)
        die("cannot write to hutch rpc: %s", strerror(errno));
    do {
        ssize_t n = used < sizeof answer - 1 ? read(from, answer + used, sizeof answer - 1 - used)
                                             : -1;
        if (n <= 0)
            die("no answer of hutch rpc to %.200s", line);
        used += (size_t)n;
    } while (answer[used - 1] != '\n');
    answer[used] = '\0';
    if (!strstr(answer, wanted))
        die("hutch rpc answered %.400s to %.200s", answer, line);
}

void rpc_open(const struct bench *bench, const char *workspace)
{
    atexit(end_server);
    start_server(bench);
    char *line = make_line("sandbox.open",
                           json_pack("{s:s, s:{s:{s:s}}}", "profile", "default", "policy",
                                     "filesystem", "workspace", workspace));
    rpc_call(line, "\"result\"");
    free(line);

    json_t *opened = json_loads(answer, 0, NULL);
    const char *id = NULL;
    if (json_unpack(opened, "{s:{s:s}}", "result", "sandbox", &id) < 0 ||
        snprintf(sandbox, sizeof sandbox, "%s", id) >= (int)sizeof sandbox)
        die("hutch rpc answered %.400s", answer);
    json_decref(opened);
}
