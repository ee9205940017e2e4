/* SPDX-License-Identifier: Apache-2.0 */
#include "api/policy.h"

#include "base/err.h"

int hutch_policy_new(const char *name, struct hutch_policy **ret, struct hutch_error *err)
{
    if (!ret)
        return err_set(err, HUTCH_EINVALID, "ret", "NULL was given");
    struct policy made;
    policy_init(&made);
    struct hutch_policy *policy = arena_alloc(&made.arena, sizeof *policy);
    if (!policy)
        return err_in(err_oom(err), "policy", err);

    policy->policy = made;
    int r = policy_merge_profile(&policy->policy, name ? name : "default", err);
    r = err_in(r, "policy", err);
    if (r < 0) {
        hutch_policy_free(policy);
        return r;
    }
    *ret = policy;
    return 0;
}

void hutch_policy_free(struct hutch_policy *policy)
{
    if (!policy)
        return;
    struct arena arena = policy->policy.arena; /* which the policy itself is in */
    arena_clear(&arena);
}

int hutch_policy_merge(struct hutch_policy *policy, const char *json, size_t len,
                       const char *source, struct hutch_error *err)
{
    if (!policy || !json)
        return err_set(err, HUTCH_EINVALID, policy ? "json" : "policy", "NULL was given");
    int r = policy_merge_json(&policy->policy, json, len, source ? source : "the document", err);
    return err_in(r, "policy", err);
}

int hutch_policy_set(struct hutch_policy *policy, const char *flag, const char *value,
                     const char *origin, struct hutch_error *err)
{
    if (!policy || !flag)
        return err_set(err, HUTCH_EINVALID, policy ? "flag" : "policy", "NULL was given");
    return err_in(policy_set_flag(&policy->policy, flag, value, origin, err), "policy", err);
}

int hutch_policy_to_json(const struct hutch_policy *policy, char **ret, struct hutch_error *err)
{
    if (!policy || !ret)
        return err_set(err, HUTCH_EINVALID, policy ? "ret" : "policy", "NULL was given");
    return policy_to_json(&policy->policy, ret, err);
}

const struct hutch_option *hutch_options(size_t *count)
{
    size_t unused;

    return policy_options(count ? count : &unused);
}

int hutch_schema(char **ret, struct hutch_error *err)
{
    return ret ? policy_schema(ret, err) : err_set(err, HUTCH_EINVALID, "ret", "NULL was given");
}

int hutch_profile_list(struct hutch_profile **ret, size_t *count, struct hutch_error *err)
{
    if (!ret || !count)
        return err_set(err, HUTCH_EINVALID, ret ? "count" : "ret", "NULL was given");
    return profile_list(ret, count, err);
}

int hutch_profile_text(const char *name, char **ret, struct hutch_error *err)
{
    if (!name || !ret)
        return err_set(err, HUTCH_EINVALID, name ? "ret" : "name", "NULL was given");
    return profile_text(name, ret, err);
}
