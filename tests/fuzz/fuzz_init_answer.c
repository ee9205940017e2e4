/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine reads from init. The first byte says whether a command had been passed on, and
 * how much of the message has come; the rest is the message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/native/answer.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_error(const struct hutch_error *error)
{
    char copy[sizeof error->msg];

    require(error->code < 0 && error->sys_errno >= 0);
    require(error->where[0] && error->msg[0]);
    require(str_eq(str_printable(error->msg, copy, sizeof copy), error->msg));
}

static void check_violation(const struct sandbox_violation *violation)
{
    char copy[sizeof violation->detail];

    require(violation->kind && violation->name && violation->hint);
    require(memchr(violation->detail, '\0', sizeof violation->detail));
    require(memchr(violation->command, '\0', sizeof violation->command));
    require(str_eq(str_printable(violation->detail, copy, sizeof copy), violation->detail));
    require(str_eq(str_printable(violation->command, copy, sizeof copy), violation->command));
}

static void check_event(const struct sandbox_event *event, const struct plan_command *command)
{
    size_t steps = 0;

    while (event->setup[steps].name)
        steps++;
    require(steps == STEP_COUNT && event->terminal == -1);
    switch (event->type) {
    case SANDBOX_FAILED: check_error(&event->error); break;
    case SANDBOX_EXEC_FAILED:
        require(command && event->exec_errno >= 0);
        check_error(&event->error);
        break;
    case SANDBOX_STARTED: require(command); break;
    case SANDBOX_EXITED:
        require(command && event->exit.code >= -1 && event->exit.code <= 255);
        require(event->exit.signal >= 0 && event->exit.signal <= 64);
        require((event->exit.code == -1) == (event->exit.signal != 0));
        break;
    case SANDBOX_VIOLATION: check_violation(&event->violation); break;
    default: break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const argv[] = {"\033]0;title\a", NULL};
    static const struct plan_command command = {.argv = argv, .cwd = "/\033[2J"};
    static struct plan_mount mounts[] = {
        {.kind = MOUNT_BIND, .target = "/a", .source = "/b\n"},
        {.kind = MOUNT_PROC, .target = "/p"},
        {.kind = MOUNT_DIR, .target = "/d", .on_host = true},
        {.kind = MOUNT_MASK, .target = "/m"},
        {.kind = MOUNT_SEAL, .target = "/s"},
        {.kind = MOUNT_TMPFS, .target = "/t"},
    };
    const struct plan plan = {.mounts = mounts, .mount_count = ARRAY_LEN(mounts)};
    struct sandbox_event event = {.terminal = -1};
    struct proto_answer answer = {0};

    if (size < 1)
        return 0;
    size_t len = size - 1 < sizeof answer ? size - 1 : sizeof answer;
    memcpy(&answer, data + 1, len);
    const struct plan_command *passed = data[0] & 1 ? &command : NULL;
    if (data[0] & 2)
        len = sizeof answer; /* so that short inputs get past the first check */
    if (answer_read(&plan, passed, &answer, len, &event) == 0)
        check_event(&event, passed);
    return 0;
}
