/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/answer.h"

#include <errno.h>
#include <signal.h>

#include "backend/native/describe.h"

#define ERRNO_MAX 4095 /* the kernel's MAX_ERRNO */

static bool is_errno(int32_t error)
{
    return error > 0 && error <= ERRNO_MAX;
}

static bool is_exit(const struct proto_answer *answer)
{
    if (answer->signal)
        return answer->signal > 0 && answer->signal < NSIG && answer->code == -1;
    return answer->code >= 0 && answer->code <= 255;
}

/* Whether the fields that this type of answer uses make sense. */
static bool is_sound(const struct plan_command *command, const struct proto_answer *answer)
{
    switch (answer->type) {
    case PROTO_READY: return true;
    case PROTO_FAILED: return answer->step < STEP_COUNT && is_errno(answer->error);
    case PROTO_STARTED: return command && answer->pid > 1;
    case PROTO_EXEC_FAILED:
        return command && answer->step < EXEC_STEP_COUNT && is_errno(answer->error);
    case PROTO_EXITED: return command && is_exit(answer);
    case PROTO_VIOLATION: return answer->violation.kind <= VIOLATION_PROTECT;
    default: return false;
    }
}

static void set_steps(const struct proto_answer *answer, struct sandbox_event *ret)
{
    _Static_assert(STEP_COUNT < SANDBOX_STEPS_MAX, "the last row has no name");

    for (unsigned i = 0; i < STEP_COUNT; i++)
        ret->setup[i] = (struct hutch_step){.name = native_step_name(i),
                                            .ms = (double)answer->step_ns[i] / 1e6};
    ret->setup[STEP_COUNT] = (struct hutch_step){0};
}

int answer_read(const struct plan *plan, const struct plan_command *command,
                const struct proto_answer *answer, size_t len, struct sandbox_event *ret)
{
    if (len != sizeof *answer || !is_sound(command, answer))
        return -EPROTO;

    ret->run = answer->run;
    ret->at_ns = answer->at_ns;
    set_steps(answer, ret);
    switch (answer->type) {
    case PROTO_FAILED:
        ret->type = SANDBOX_FAILED;
        native_describe_setup(plan, answer->step, answer->index, answer->error, &ret->error);
        break;
    case PROTO_STARTED:
        ret->type = SANDBOX_STARTED;
        ret->pid = answer->pid;
        break;
    case PROTO_EXEC_FAILED:
        ret->type = SANDBOX_EXEC_FAILED;
        ret->exec_errno = answer->step == EXEC_STEP_EXEC ? answer->error : 0;
        native_describe_exec(command, answer->step, answer->error, &ret->error);
        break;
    case PROTO_EXITED:
        ret->type = SANDBOX_EXITED;
        ret->unreported = answer->unreported;
        ret->left = answer->left;
        ret->exit = (struct sys_exit){
            .code = answer->code, .signal = answer->signal, .usage = answer->usage};
        break;
    case PROTO_VIOLATION:
        ret->type = SANDBOX_VIOLATION;
        native_describe_violation(&answer->violation, &ret->violation);
        break;
    default: ret->type = SANDBOX_READY;
    }
    return 0;
}
