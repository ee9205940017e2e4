/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/random.h>
#include <unistd.h>

#include "base/err.h"
#include "plan/passes.h"

/*
 * A root caller's sandbox runs as an id that owns nothing on the host and that no other sandbox
 * has: 24 random bits above ids that systemd, containers and login accounts use.
 */
#define ROOT_CALLER_BASE 0x70000000U
#define ROOT_CALLER_MASK 0x00ffffffU

static uint64_t value_or(const struct policy *policy, enum policy_id id, uint64_t otherwise)
{
    const struct policy_value *value = &policy->values[id];

    return value->set ? value->number : otherwise;
}

int plan_pass_identity(const struct policy *policy, struct plan *plan, struct hutch_error *err)
{
    static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789";
    struct plan_identity *identity = &plan->identity;
    unsigned char random[20];

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return err_set(err, HUTCH_ESYSTEM, NULL, "cannot get random bytes");
    for (size_t i = 0; i < sizeof plan->id - 1; i++)
        plan->id[i] = alphabet[random[i] % (sizeof alphabet - 1)];

    identity->uid = (uid_t)value_or(policy, POLICY_USER, 1000);
    identity->gid = (gid_t)value_or(policy, POLICY_GROUP, 1000);
    identity->privileged = geteuid() == 0;
    identity->host_uid = geteuid();
    identity->host_gid = getegid();
    if (identity->privileged) {
        uint32_t bits = random[16] | (uint32_t)random[17] << 8 | (uint32_t)random[18] << 16;
        identity->host_uid = ROOT_CALLER_BASE | (bits & ROOT_CALLER_MASK);
        identity->host_gid = identity->host_uid;
    }

    const struct policy_value *hostname = &policy->values[POLICY_HOSTNAME];
    plan->hostname = arena_strdup(&plan->arena, hostname->text ? hostname->text : "hutch");
    return plan->hostname ? 0 : err_oom(err);
}
