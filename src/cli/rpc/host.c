/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/server.h"

int method_host_doctor(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct hutch_host *host;
    str_auto char *text = NULL;

    int r = hutch_doctor(&host, err);
    if (r != 0)
        return r;
    r = hutch_host_to_json(host, &text, err);
    hutch_host_free(host);
    if (r == 0)
        answer_text(&server->outbox, call->id, text);
    return r;
}
