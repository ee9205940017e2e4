/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no backend can enforce yet is refused here, by name, before anything else happens: a setting
 * that is accepted and ignored would be a hole.
 */
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "plan/passes.h"

static int refuse(const struct policy_value *value, struct hutch_error *err, const char *what,
                  const char *instead)
{
    return err_set(err, HUTCH_EUNSUPPORTED, value->origin, "%s is not enforced yet: %s", what,
                   instead);
}

static int check_isolation(const struct policy *policy, struct hutch_error *err)
{
    const struct policy_value *level = &policy->values[POLICY_LEVEL];
    const struct policy_value *backend = &policy->values[POLICY_BACKEND];
    char name[32];
    char what[64];

    if (level->set && level->number != LEVEL_CONTAINER) {
        policy_enum_name(POLICY_LEVEL, level->number, name, sizeof name);
        snprintf(what, sizeof what, "isolation level '%s'", name);
        return refuse(level, err, what, "use 'container'");
    }
    if (backend->set) {
        policy_enum_name(POLICY_BACKEND, backend->number, name, sizeof name);
        if (!str_eq(name, "auto") && !str_eq(name, "native")) {
            snprintf(what, sizeof what, "backend '%s'", name);
            return refuse(backend, err, what, "use 'auto' or 'native'");
        }
    }
    return 0;
}

static int check_network(const struct policy *policy, struct hutch_error *err)
{
    const struct policy_value *net = &policy->values[POLICY_NET];
    const struct policy_value *allow = &policy->values[POLICY_NET_ALLOW];

    if (net->set && net->number == NET_ALLOW)
        return refuse(net, err, "network mode 'allow'", "use 'none' or 'host'");
    if (allow->count > 0)
        return err_set(err, HUTCH_EUNSUPPORTED, allow->items[0].origin,
                       "a list of allowed hosts is not enforced yet: use network 'none' or 'host'");
    return 0;
}

static int check_guard(const struct policy *policy, struct hutch_error *err)
{
    const struct policy_value *mode = &policy->values[POLICY_GUARD_MODE];
    const struct policy_value *strict = &policy->values[POLICY_GUARD_STRICT];
    static const enum policy_id lists[] = {POLICY_GUARD_ALLOW, POLICY_GUARD_DENY};

    if (mode->set && mode->number != GUARD_OFF)
        return refuse(mode, err, "the guard", "leave it out, or say 'off'");
    if (strict->set && strict->number)
        return refuse(strict, err, "the guard", "leave it out, or say 'false'");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (policy->values[lists[i]].count > 0)
            return refuse(&policy->values[lists[i]], err, "the guard", "leave its lists empty");
    return 0;
}

int plan_pass_support(const struct policy *policy, struct hutch_error *err)
{
    int r = check_isolation(policy, err);

    if (r == 0)
        r = check_network(policy, err);
    return r < 0 ? r : check_guard(policy, err);
}
