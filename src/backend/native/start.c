/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request to a command that runs: the processes that commands begin as, and the answer to who asked.
 *
 * Should: have a process ready before it is asked for, in a sandbox that lasts.
 * Mustn't: wait for a command that others keep from starting, or start one whose locks are not on.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/native/request.h"
#include "backend/native/state.h"
#include "base/fd.h"
#include "sys/clock.h"
#include "sys/terminal.h"

#define SPARES_MAX 5 /* that one command may use up */

/* ---- The spare ---- */

/* A command that takes long to start, for whatever reason, keeps nobody from being watched. */
static void watch_meanwhile(void *arg)
{
    init_look(arg);
}

struct init_spawn init_new_spawn(struct init *init)
{
    return (struct init_spawn){
        .meanwhile = watch_meanwhile,
        .arg = init,
        .plan = init->plan,
        .umask = init->umask,
        .stdio = {-1, -1, -1},
        .terminal = -1,
        .landlock = init->landlock,
        .stack = init->stack,
        .stack_size = STACK_BYTES,
        .listener = -1,
        .go = {FD_GO_READ, FD_GO_WRITE},
        .number = ++init->spares,
    };
}

void init_set_spare(struct init *init, pid_t pid)
{
    init->spare_pid = pid;
    if (init->args->spare)
        __atomic_store_n(init->args->spare, pid, __ATOMIC_RELAXED);
}

/*
 * A command of a sandbox that lasts finds most of its start done: clone, limits and locks, which take
 * longer than all the rest. What is made for nothing costs a process and no memory.
 */
int init_make_spare(struct init *init)
{
    if (!init->plan->lasting || init->spare_pid)
        return 0;
    init->spare = init_new_spawn(init);
    if (!init->standing_known)
        sys_standing_read(0, &init->standing);
    init->standing_known = true;
    init->spare.init = &init->standing;
    int pid = init_spawn_prepare(&init->spare);
    init_set_spare(init, pid < 0 ? 0 : pid);
    return pid < 0 ? pid : 0;
}

void init_drop_spare(struct init *init)
{
    init_set_spare(init, 0);
    if (init->spare.listener >= 0)
        close(init->spare.listener);
}

void init_check_spare(struct init *init)
{
    struct init_spawn *spare = &init->spare;

    if (init->spare_pid && __atomic_load_n(&spare->waits, __ATOMIC_ACQUIRE))
        spare->checked = init_limits_hold(init->plan, spare->init, init->spare_pid);
}

/* Returns the pid, 0 when there is none to use. One that fails or was killed as a spare is not one. */
static pid_t use_spare(struct init *init, struct init_spawn *spawn)
{
    struct init_spawn *spare = &init->spare;
    pid_t pid = init->spare_pid;

    if (!pid)
        return 0;
    spare->cwd = spawn->cwd;
    spare->argv = spawn->argv;
    spare->envp = spawn->envp;
    memcpy(spare->stdio, spawn->stdio, sizeof spare->stdio);
    spare->terminal = spawn->terminal;
    spare->joins = spawn->joins;
    spare->join_count = spawn->join_count;
    init_set_spare(init, 0); /* a command from its first moment on */
    if (!init_spawn_spare(spare, pid)) {
        init->standing_known = false; /* it may be init that somebody outside has changed */
        init_drop_spare(init);
        return 0;
    }
    spawn->listener = spare->listener;
    spawn->error = spare->error;
    spawn->step = spare->step;
    return pid;
}

/*
 * Every command begins as a spare, the first as the one that was there from the beginning. Commands that are
 * there already may kill it. Returns the pid, or -errno with `error` and `step` set.
 */
static int spawn_command(struct init *init, struct init_spawn *spawn)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < SPARES_MAX && (i == 0 || !init_is_over()); i++) {
        r = init_make_spare(init);
        pid_t pid = r < 0 ? 0 : use_spare(init, spawn);
        if (pid)
            return pid;
    }
    spawn->step = EXEC_STEP_FORK;
    spawn->error = r < 0 ? -r : EAGAIN;
    return -spawn->error;
}

/* ---- Commands ---- */

/* NULL: as many commands run as there may be. */
static struct init_run *find_free_run(struct init *init)
{
    for (size_t i = 0; i < PROTO_RUNS_MAX; i++)
        if (init->runs[i].pid == 0)
            return &init->runs[i];
    return NULL;
}

/*
 * Its output streams are held open until the engine has been told that it ended: their end would wake the
 * engine before, for nothing. Takes them, and the listener.
 */
static void remember(struct init *init, struct init_run *ret, const struct proto_request *request,
                     pid_t pid, struct init_spawn *spawn)
{
    *ret = (struct init_run){
        .run = request->run,
        .pid = pid,
        .last = request->last,
        .held = {fd_take(&spawn->stdio[1]), fd_take(&spawn->stdio[2])},
    };
    init->nobodys.told = 0;
    notify_add(&init->notify, fd_take(&spawn->listener), request->run);
}

static void exec_failed(struct init *init, const struct proto_request *request,
                        enum proto_exec_step step, int r)
{
    init_answer(init,
                (struct proto_answer){
                    .type = PROTO_EXEC_FAILED, .run = request->run, .step = step, .error = -r},
                NULL, 0);
    if (request->last)
        _exit(0);
}

/* Start the command, with its streams or terminal in place, and say how that went. */
static void start(struct init *init, const struct proto_request *request, struct init_spawn *spawn)
{
    struct init_run *run = find_free_run(init);
    int master = -1;

    init_must_be_ready(init);
    if (!notify_has_room(&init->notify))
        notify_drop_ended(&init->notify);
    if (!run || !notify_has_room(&init->notify)) {
        exec_failed(init, request, EXEC_STEP_ROOM, run ? -EMFILE : -EBUSY);
        return;
    }
    uint64_t at_ns = sys_clock_ns(CLOCK_MONOTONIC);
    if (request->tty) {
        int r = sys_terminal_open(&master, &spawn->terminal);
        if (r == 0)
            r = sys_terminal_resize(master, request->rows, request->cols);
        if (r < 0) {
            exec_failed(init, request, EXEC_STEP_TERMINAL, r);
            return;
        }
    }
    int pid = spawn_command(init, spawn);
    if (spawn->error) {
        exec_failed(init, request, spawn->step, -spawn->error);
    } else {
        remember(init, run, request, pid, spawn);
        init_answer_well(
            init,
            (struct proto_answer){
                .type = PROTO_STARTED, .run = request->run, .pid = pid, .at_ns = at_ns},
            master);
    }
    if (master >= 0) {
        close(master);
        close(spawn->terminal);
    }
}

static char **make_slots(struct init *init, size_t count)
{
    if (count <= SLOTS_INLINE)
        return init->slots;
    return mmap(NULL, count * sizeof(char *), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
}

static void free_slots(const struct init *init, char **slots, size_t count)
{
    if (slots != MAP_FAILED && slots != init->slots)
        munmap(slots, count * sizeof(char *));
}

/* Map the strings when they came in a memfd, and make room for the pointers to them. */
void init_start(struct init *init, const struct proto_request *request, size_t len, int *fds,
                size_t fd_count)
{
    struct init_spawn spawn = init_new_spawn(init);
    struct request_strings strings = {0};
    size_t streams = request->tty ? 0 : 3;
    char *text = init->in.bytes + sizeof *request;

    int r = request_check_exec(request, len, fd_count);
    if (r < 0) {
        exec_failed(init, request, EXEC_STEP_REQUEST, r);
        return;
    }
    for (size_t i = 0; i < streams; i++)
        spawn.stdio[i] = fd_take(&fds[i]);
    spawn.joins = fds + fd_count - request->joins;
    spawn.join_count = request->joins;
    if (request->in_memfd)
        text = mmap(NULL, request->text_len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[streams], 0);
    size_t slot_count = request_slot_count(request);
    char **slots = make_slots(init, slot_count);

    r = text == MAP_FAILED || slots == MAP_FAILED ? -ENOMEM
                                                  : request_unpack(request, text, slots, &strings);
    spawn.cwd = strings.cwd;
    spawn.argv = strings.argv;
    spawn.envp = strings.envp;
    if (r < 0)
        exec_failed(init, request, EXEC_STEP_REQUEST, r);
    else
        start(init, request, &spawn);
    for (size_t i = 0; i < streams; i++)
        fd_close(&spawn.stdio[i]);
    free_slots(init, slots, slot_count);
    if (request->in_memfd && text != MAP_FAILED)
        munmap(text, request->text_len);
}
