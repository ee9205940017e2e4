/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "cli/options.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/command.h"
#include "cli/rpc/params.h"
#include "cli/rpc/server.h"

int policy_from_params(const json_t *params, struct hutch_policy **ret, struct hutch_error *err)
{
    const json_t *document = params_get(params, "policy");
    struct hutch_policy *policy;

    int r = options_new_policy(params_string(params, "profile"), NULL, &policy, err);
    if (r != 0)
        return r;
    if (document) {
        str_auto char *text = json_dumps(document, JSON_REAL_PRECISION(15));

        if (!text)
            abort();
        r = hutch_policy_merge(policy, text, strlen(text), "policy", err);
    }
    if (r < 0)
        hutch_policy_free(policy);
    else
        *ret = policy;
    return r;
}

int method_policy_explain(struct server *server, const struct call *call, struct hutch_error *err)
{
    command_auto struct command command = {0};
    json_auto_ref json_t *plan = NULL;
    str_auto char *text = NULL;
    struct hutch_policy *policy;

    int r = command_from_params(call->params, &command, err);
    if (r == 0)
        r = policy_from_params(call->params, &policy, err);
    if (r != 0)
        return r;
    r = hutch_explain(policy, &command.command, HUTCH_JSON, &text, err);
    hutch_policy_free(policy);
    if (r == 0)
        r = json_parse_object(text, strlen(text), SIZE_MAX, "plan", &plan, err); /* to one line */
    if (r == 0)
        answer_json(&server->outbox, call->id, json_incref(plan));
    return r;
}
