/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a policy document. What is taken must come back the same from its own JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_error(const struct hutch_error *err)
{
    char copy[sizeof(err->msg)];

    require(err->code < 0 && err->msg[0]);
    /* One line, nothing that acts on a terminal. */
    require(str_eq(str_printable(err->msg, copy, sizeof(copy)), err->msg));
    require(str_eq(str_printable(err->where, copy, sizeof(copy)), err->where));
}

static void check_round_trip(const struct policy *policy)
{
    struct hutch_error err;
    struct policy again;
    str_auto char *text = NULL;
    str_auto char *text_again = NULL;

    require(policy_to_json(policy, &text, &err) == 0);
    policy_init(&again);
    /* Escapes and indentation can make a document of almost the maximum longer than it. */
    if (strlen(text) <= 1 << 20) {
        require(policy_merge_json(&again, text, strlen(text), "again", &err) == 0);
        require(policy_to_json(&again, &text_again, &err) == 0);
        require(str_eq(text, text_again));
    }
    policy_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = {0};
    struct policy policy;

    policy_init(&policy);
    if (policy_merge_json(&policy, (const char *)data, size, "fuzz", &err) == 0)
        check_round_trip(&policy);
    else
        check_error(&err);
    policy_clear(&policy);
    return 0;
}
