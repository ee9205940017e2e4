/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's end of the socket: requests to init, and its answers. What init says is checked like any
 * input: it lives next to the untrusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/native/answer.h"
#include "backend/native/engine.h"
#include "base/err.h"
#include "base/fd.h"
#include "sys/message.h"
#include "sys/ret.h"

/* ---- Commands that are being started ---- */

static int remember(struct native *native, const struct sandbox_exec *exec)
{
    for (size_t i = 0; i < PROTO_RUNS_MAX; i++)
        if (native->starting[i].run == 0) {
            native->starting[i].run = exec->run;
            native->starting[i].command = exec->command;
            native->last_run = exec->run;
            return 0;
        }
    return -EAGAIN;
}

bool native_is_starting(const struct native *native)
{
    for (size_t i = 0; i < PROTO_RUNS_MAX; i++)
        if (native->starting[i].run != 0)
            return true;
    return false;
}

void native_forget(struct sandbox *sandbox, uint32_t run)
{
    struct native *native = (struct native *)sandbox;

    for (size_t i = 0; i < PROTO_RUNS_MAX; i++)
        if (native->starting[i].run == run)
            native->starting[i].run = 0;
}

/* NULL: there never was such a run. One that is forgotten, or runs already, has no name any more. */
static const struct plan_command *find_command(const struct native *native, uint32_t run)
{
    static const char *const argv[] = {"the command", NULL};
    static const struct plan_command other = {.argv = argv, .cwd = "/"};

    for (size_t i = 0; i < PROTO_RUNS_MAX; i++)
        if (run != 0 && native->starting[i].run == run)
            return native->starting[i].command;
    return run != 0 && run <= native->last_run ? &other : NULL;
}

/* ---- Requests ---- */

static void count(const struct plan_command *command, struct proto_request *request)
{
    request->text_len = strlen(command->cwd) + 1;
    for (const char *const *arg = command->argv; *arg; arg++, request->argc++)
        request->text_len += strlen(*arg) + 1;
    for (const char *const *var = command->env; *var; var++, request->envc++)
        request->text_len += strlen(*var) + 1;
}

static void pack(const struct plan_command *command, char *out)
{
    out = stpcpy(out, command->cwd) + 1;
    for (const char *const *arg = command->argv; *arg; arg++)
        out = stpcpy(out, *arg) + 1;
    for (const char *const *var = command->env; *var; var++)
        out = stpcpy(out, *var) + 1;
}

/* Strings that are too long for a packet go into a memfd, *ret_fd. */
static int pack_long(const struct plan_command *command, size_t len, int *ret_fd)
{
    fd_auto int fd = ret_errno(memfd_create("hutch-exec", MFD_CLOEXEC));
    if (fd < 0)
        return fd;
    /* Room that is there: who runs out of memory in a mapping is killed. */
    int r = posix_fallocate(fd, 0, (off_t)len);
    if (r != 0)
        return -r;
    char *text = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (text == MAP_FAILED)
        return -errno;
    pack(command, text);
    munmap(text, len);
    *ret_fd = fd_take(&fd);
    return 0;
}

static int send_exec(struct native *native, const struct sandbox_exec *exec)
{
    struct proto_request request = {
        .type = PROTO_EXEC,
        .run = exec->run,
        .last = exec->last,
        .tty = exec->command->tty,
        .rows = exec->command->rows,
        .cols = exec->command->cols,
    };
    int fds[SYS_MESSAGE_FDS];
    size_t fd_count = 0;
    fd_auto int memfd = -1;
    char packet[sizeof request + PROTO_TEXT_INLINE];
    size_t len = sizeof request;

    count(exec->command, &request);
    for (int i = 0; !request.tty && i < 3; i++)
        fds[fd_count++] = exec->stdio[i];
    if (request.text_len > PROTO_TEXT_INLINE) {
        int r = pack_long(exec->command, request.text_len, &memfd);
        if (r < 0)
            return r;
        fds[fd_count++] = memfd;
        request.in_memfd = 1;
    } else {
        pack(exec->command, packet + len);
        len += request.text_len;
    }
    for (size_t i = 0; i < native->join_count; i++)
        fds[fd_count++] = native->joins[i];
    request.joins = (uint32_t)native->join_count;
    memcpy(packet, &request, sizeof request);
    return sys_message_send(native->base.events_fd, packet, len, fds, fd_count);
}

int native_exec(struct sandbox *sandbox, struct sandbox_exec *exec, struct hutch_error *err)
{
    struct native *native = (struct native *)sandbox;

    native->account_next_ns = 0; /* what was seen last is not this command's */
    int r = remember(native, exec);
    if (r == 0)
        r = send_exec(native, exec);
    for (int i = 0; i < 3; i++)
        fd_close(&exec->stdio[i]);
    if (r == -EAGAIN)
        return err_set(err, HUTCH_EBUSY, "exec", "too many commands are being started at once");
    /* EPIPE: init is gone already, and has said why; next() will tell. */
    if (r < 0 && r != -EPIPE)
        return err_sys(err, r, "exec", "cannot pass the command to the sandbox");
    return 0;
}

int native_signal(struct sandbox *sandbox, uint32_t run, int signal, enum sandbox_scope scope,
                  struct hutch_error *err)
{
    const struct proto_request request = {
        .type = PROTO_SIGNAL, .run = run, .signal = signal, .scope = scope};
    int r = sys_message_send(sandbox->events_fd, &request, sizeof request, NULL, 0);

    if (r < 0 && r != -EPIPE)
        return err_sys(err, r, "signal", "cannot pass signal %d to the sandbox", signal);
    return 0;
}

/* ---- Answers ---- */

/* The first good answer brings what we measure by; one to a command with a terminal brings that. */
static void take_fds(struct native *native, struct sandbox_event *event, const int *fds,
                     size_t count)
{
    bool good = event && (event->type == SANDBOX_READY || event->type == SANDBOX_STARTED);
    size_t wanted = native->plan->lasting ? PROTO_FD_COUNT : PROTO_FD_ROOT;
    size_t used = 0;

    if (good && native->base.proc_fd < 0 && count >= wanted) {
        native->base.proc_fd = fds[PROTO_FD_PROC];
        native->memory = fds[PROTO_FD_MEMORY];
        if (native->plan->lasting) {
            native->base.root_fd = fds[PROTO_FD_ROOT];
            native->mounts = fds[PROTO_FD_MOUNTS];
        }
        used = wanted;
    }
    if (good && event->type == SANDBOX_STARTED && used < count)
        event->terminal = fds[used++];
    for (; used < count; used++)
        close(fds[used]);
}

int native_next(struct sandbox *sandbox, struct sandbox_event *ret, struct hutch_error *err)
{
    struct native *native = (struct native *)sandbox;
    struct proto_answer answer;
    int fds[SYS_MESSAGE_FDS];
    size_t fd_count = 0;
    ssize_t len = sys_message_receive(sandbox->events_fd, 0, &answer, sizeof answer, fds,
                                      &fd_count);

    if (len == -EAGAIN || len == 0 || len == -ECONNRESET)
        return 0; /* the end of the socket says no more than exit_fd does */
    sys_ids_release(&native->holder);
    *ret = (struct sandbox_event){.terminal = -1};
    uint32_t run = len == sizeof answer ? answer.run : 0;
    int r = len < 0
                ? (int)len
                : answer_read(native->plan, find_command(native, run), &answer, (size_t)len, ret);
    if (r == 0 && (ret->type == SANDBOX_STARTED || ret->type == SANDBOX_EXEC_FAILED))
        native_forget(sandbox, run);
    if (r == 0 && ret->type == SANDBOX_STARTED)
        native_cgroup_expect_end(&native->cgroup);
    take_fds(native, r == 0 ? ret : NULL, fds, fd_count);
    if (r < 0)
        return err_sys(err, r, "sandbox", "the sandbox's first process sent something unreadable");
    return 1;
}
