/* SPDX-License-Identifier: Apache-2.0 */
#include "api/sandbox.h"

#include <poll.h>
#include <stddef.h>
#include <string.h>

#include "api/command.h"
#include "api/policy.h"
#include "base/err.h"
#include "base/path.h"
#include "run/box.h"
#include "run/run.h"

int hutch_sandbox_open(const struct hutch_policy *policy, hutch_event_fn *on_event, void *arg,
                       struct hutch_sandbox **ret, struct hutch_error *err)
{
    struct hutch_sandbox *box = NULL;

    if (!policy || !ret)
        return err_null(err, policy ? "ret" : "policy");
    int r = box_new(&policy->policy, true, on_event, arg, &box, err);
    if (r == 0)
        r = box_start(box, err);
    if (r == 0)
        r = box_wait(box, err);
    if (r == 0) {
        box->enforced = box->backend->enforced(box->plan, &box->plan->arena);
        if (!box->enforced)
            r = err_oom(err);
    }
    if (r < 0) {
        box_free(box);
        return err_in(r, "sandbox", err);
    }
    *ret = box;
    return 0;
}

int hutch_sandbox_info(const struct hutch_sandbox *sandbox, struct hutch_sandbox_info *ret,
                       struct hutch_error *err)
{
    if (!sandbox || !ret)
        return err_null(err, sandbox ? "ret" : "sandbox");
    if (ret->size < offsetof(struct hutch_sandbox_info, cwd))
        return err_set(err, HUTCH_EINVALID, "ret",
                       "its size is not set: start from HUTCH_SANDBOX_INFO_INIT");
    const size_t size = ret->size < sizeof *ret ? ret->size : sizeof *ret;
    struct hutch_sandbox_info info = {
        .size = size,
        .id = sandbox->plan->id,
        .cwd = sandbox->plan->workspace,
        .enforced = sandbox->enforced,
        .setup = sandbox->setup,
        .setup_total_ms = sandbox->setup_total_ms,
        .run_count = sandbox->run_count,
        .gone = sandbox->gone || sandbox->error.code,
        .env = sandbox->plan->env,
    };
    memcpy(ret, &info, size);
    return 0;
}

int hutch_sandbox_start(struct hutch_sandbox *sandbox, const struct hutch_command *command,
                        hutch_event_fn *on_event, void *arg, struct hutch_run **ret,
                        struct hutch_error *err)
{
    struct hutch_command known;

    if (!sandbox || !command || !ret)
        return err_null(err, !sandbox ? "sandbox" : !command ? "command" : "ret");
    int r = api_read_command(command, &known, err);
    return r < 0 ? r : run_start_in(sandbox, &known, on_event, arg, ret, err);
}

int hutch_sandbox_exec(struct hutch_sandbox *sandbox, const struct hutch_command *command,
                       struct hutch_result **ret, struct hutch_error *err)
{
    struct hutch_run *run = NULL;

    if (!ret)
        return err_null(err, "ret");
    int r = hutch_sandbox_start(sandbox, command, NULL, NULL, &run, err);
    return r < 0 ? r : api_finish(run, ret, err);
}

void hutch_sandbox_close(struct hutch_sandbox *sandbox)
{
    if (!sandbox)
        return;
    box_emit(sandbox, (struct hutch_event){.type = HUTCH_EVENT_SANDBOX_STOPPED});
    box_free(sandbox);
}

int sandbox_work(struct hutch_sandbox *sandbox, struct work *ret, struct hutch_error *err)
{
    const struct plan_identity *identity = &sandbox->plan->identity;
    struct pollfd end = {.fd = sandbox->sandbox->exit_fd, .events = POLLIN};
    struct work work = WORK_INIT;

    /* Nobody may have stepped since it ended; and a step on another thread may be learning that now. */
    bool gone = __atomic_load_n(&sandbox->gone, __ATOMIC_RELAXED) ||
                __atomic_load_n(&sandbox->error.code, __ATOMIC_RELAXED);
    if (gone || sandbox->sandbox->root_fd < 0 || poll(&end, 1, 0) != 0)
        return err_set(err, HUTCH_ESTATE, "sandbox", "the sandbox has ended");
    work.root = sandbox->sandbox->root_fd;
    work.cwd = sandbox->plan->workspace;
    work.system_dirs = sandbox->plan->system_dirs;
    /* Root, of the host or of a container, reaches more than its sandbox does. */
    if (identity->privileged || identity->host_uid == 0) {
        work.fsuid = identity->host_uid;
        work.fsgid = identity->host_gid;
    }
    *ret = work;
    return 0;
}

void sandbox_file_written(const struct hutch_sandbox *sandbox, const char *path, uint64_t size)
{
    box_emit(sandbox, (struct hutch_event){
                          .type = HUTCH_EVENT_FILE_WRITTEN, .path = path, .file_bytes = size});
}

int sandbox_check_watched(const struct hutch_sandbox *sandbox, const char *path,
                          struct arena *arena, struct hutch_error *err)
{
    const struct plan *plan = sandbox->plan;
    const char *whole = plan->watch_count ? path_normalize(arena, plan->workspace, path) : NULL;

    for (size_t i = 0; whole && i < plan->watch_count; i++) {
        const char *watched = path_join(arena, plan->watches[i].directory, plan->watches[i].rest);
        if (watched && path_is_within(whole, watched))
            return err_set(err, HUTCH_EDENIED, path,
                           "the path is protected: take it out of filesystem.protect, or create it "
                           "before the sandbox is opened");
    }
    return arena_failed(arena) ? err_oom(err) : 0;
}
