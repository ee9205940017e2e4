/* SPDX-License-Identifier: Apache-2.0 */
#include "run/result.h"

#include <stdlib.h>

/* What hutch_result_free() must free besides the public struct, which comes first. */
struct full_result {
    struct hutch_result result;
    struct arena arena;
    char *output[2];
};

/* More than the heap is asked for: its own first pages take the kernel longer than these. */
#define ONLY_BYTES ((size_t)8 << 10)

struct hutch_result *result_new(bool only)
{
    static const struct hutch_fact no_facts[1];
    static const struct hutch_step no_steps[1];
    static const struct hutch_limit no_limits[1];
    struct arena arena;
    arena_init_for(&arena, only ? ONLY_BYTES : 0);
    struct full_result *full = arena_alloc(&arena, sizeof *full);

    if (!full)
        return NULL;
    full->arena = arena;
    full->result = (struct hutch_result){
        .size = sizeof full->result,
        .exit_code = -1,
        .stdout_data = "",
        .stderr_data = "",
        .enforced = no_facts,
        .setup = no_steps,
        .sandbox = "",
        .peak_processes = HUTCH_UNKNOWN,
        .disk_bytes = HUTCH_UNKNOWN,
        .read_bytes = HUTCH_UNKNOWN,
        .written_bytes = HUTCH_UNKNOWN,
        .limits = no_limits,
    };
    return &full->result;
}

void result_free(struct hutch_result *result)
{
    struct full_result *full = (struct full_result *)result;

    if (!full)
        return;
    free(full->output[0]);
    free(full->output[1]);
    struct arena arena = full->arena; /* which the result itself is in */
    arena_clear(&arena);
}

struct arena *result_arena(struct hutch_result *result)
{
    return &((struct full_result *)result)->arena;
}

void result_give_output(struct hutch_result *result, int stream, char *data, size_t len)
{
    struct full_result *full = (struct full_result *)result;

    full->output[stream - 1] = data;
    if (stream == 1) {
        result->stdout_data = data;
        result->stdout_len = len;
    } else {
        result->stderr_data = data;
        result->stderr_len = len;
    }
}

int result_status(const struct hutch_result *result)
{
    switch (result->reason) {
    case HUTCH_TIMEOUT:
    case HUTCH_CPU_TIME: return 124;
    case HUTCH_MEMORY: return 137;
    case HUTCH_SETUP: return result->exit_code > 0 ? result->exit_code : 125;
    default: return result->signal ? 128 + result->signal : result->exit_code;
    }
}
