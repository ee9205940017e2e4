/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/command.h"
#include "api/policy.h"
#include "base/err.h"
#include "plan/plan.h"
#include "run/result.h"
#include "run/run.h"

int api_read_command(const struct hutch_command *given, struct hutch_command *ret,
                     struct hutch_error *err)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    const size_t least = offsetof(struct hutch_command, cwd);

    if (given->size < least)
        return err_set(err, HUTCH_EINVALID, "command",
                       "its size is not set: start from HUTCH_COMMAND_INIT");
    memcpy(&command, given, given->size < sizeof command ? given->size : sizeof command);
    *ret = command;
    return 0;
}

int hutch_explain(const struct hutch_policy *policy, const struct hutch_command *command,
                  enum hutch_format format, char **ret, struct hutch_error *err)
{
    struct hutch_command known;
    struct plan_command planned;
    plan_auto struct plan *plan = NULL;

    if (!policy || !command || !ret)
        return err_null(err, !policy ? "policy" : !command ? "command" : "ret");
    int r = api_read_command(command, &known, err);
    if (r == 0)
        r = plan_build(&policy->policy, &plan, err);
    if (r == 0)
        r = plan_command_build(plan, &known, &plan->arena, &planned, err);
    if (r < 0)
        return r;
    return format == HUTCH_JSON ? plan_explain_json(plan, &planned, ret, err)
                                : plan_explain_text(plan, &planned, ret, err);
}

int hutch_run_start(const struct hutch_policy *policy, const struct hutch_command *command,
                    hutch_event_fn *on_event, void *arg, struct hutch_run **ret,
                    struct hutch_error *err)
{
    struct hutch_command known;

    if (!policy || !command || !ret)
        return err_null(err, !policy ? "policy" : !command ? "command" : "ret");
    int r = api_read_command(command, &known, err);
    return r < 0 ? r
                 : err_in(run_start(&policy->policy, &known, on_event, arg, ret, err), "run", err);
}

int hutch_run_fd(struct hutch_run *run)
{
    return run ? run_fd(run) : HUTCH_EINVALID;
}

int hutch_run_step(struct hutch_run *run, int timeout_ms, struct hutch_error *err)
{
    return run ? err_in(run_step(run, timeout_ms, err), "run", err) : err_null(err, "run");
}

int hutch_run_signal(struct hutch_run *run, int signal, struct hutch_error *err)
{
    if (!run)
        return err_null(err, "run");
    if (signal < 1 || signal > 64)
        return err_set(err, HUTCH_EINVALID, "signal", "%d is not a signal", signal);
    return run_signal(run, signal, err);
}

int hutch_run_resize(struct hutch_run *run, uint16_t rows, uint16_t cols, struct hutch_error *err)
{
    return run ? run_resize(run, rows, cols, err) : err_null(err, "run");
}

int hutch_run_write(struct hutch_run *run, const void *data, size_t len, struct hutch_error *err)
{
    if (!run || (!data && len > 0))
        return err_null(err, run ? "data" : "run");
    return run_write(run, data, len, err);
}

int hutch_run_close_stdin(struct hutch_run *run, struct hutch_error *err)
{
    return run ? run_close_stdin(run, err) : err_null(err, "run");
}

uint32_t hutch_run_id(const struct hutch_run *run)
{
    return run ? run_id(run) : 0;
}

int hutch_run_cancel(struct hutch_run *run, struct hutch_error *err)
{
    return run ? run_cancel(run, err) : err_null(err, "run");
}

int hutch_run_finish(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err)
{
    int r;

    do {
        r = hutch_run_step(run, -1, err);
    } while (r == 0);
    if (r < 0)
        return r;
    return ret ? run_result(run, ret, err) : 0;
}

int hutch_run_result(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err)
{
    if (!run || !ret)
        return err_null(err, run ? "ret" : "run");
    return run_result(run, ret, err);
}

void hutch_run_free(struct hutch_run *run)
{
    run_free(run);
}

void hutch_run_leave(struct hutch_run *run)
{
    run_leave(run);
}

int api_finish(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err)
{
    int r = hutch_run_finish(run, ret, err);

    run_free(run);
    return r;
}

int hutch_run(const struct hutch_policy *policy, const struct hutch_command *command,
              struct hutch_result **ret, struct hutch_error *err)
{
    struct hutch_run *run = NULL;

    if (!ret)
        return err_null(err, "ret");
    int r = hutch_run_start(policy, command, NULL, NULL, &run, err);
    return r < 0 ? r : api_finish(run, ret, err);
}

void hutch_result_free(struct hutch_result *result)
{
    result_free(result);
}

int hutch_result_from_error(const struct hutch_error *error, struct hutch_result **ret,
                            struct hutch_error *err)
{
    if (!error || !ret)
        return err_null(err, error ? "ret" : "error");
    struct hutch_result *result = result_new(false);
    if (!result)
        return err_oom(err);

    result->reason = HUTCH_SETUP;
    result->error = *error;
    result->status = result_status(result);
    *ret = result;
    return 0;
}
