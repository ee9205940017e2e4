/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/passes.h"

/*
 * A policy that never mentions a limit gets these: the strict ones. Only "unlimited", spelled out,
 * lifts a limit.
 */
#define TIMEOUT_MS 120000
#define OUTPUT_BYTES (1U << 20)
#define OPEN_FILES 1024
#define FILE_SIZE_BYTES (1U << 30)

static uint64_t limit(const struct policy *policy, enum policy_id id, uint64_t otherwise)
{
    const struct policy_value *value = &policy->values[id];

    return value->set ? value->number : otherwise;
}

int plan_pass_limits(const struct policy *policy, struct plan *plan, struct hutch_error *err)
{
    (void)err;
    plan->limits = (struct plan_limits){
        .timeout_ms = limit(policy, POLICY_TIMEOUT, TIMEOUT_MS),
        .output_bytes = limit(policy, POLICY_OUTPUT, OUTPUT_BYTES),
        .open_files = limit(policy, POLICY_OPEN_FILES, OPEN_FILES),
        .file_size_bytes = limit(policy, POLICY_FILE_SIZE, FILE_SIZE_BYTES),
    };
    return 0;
}
