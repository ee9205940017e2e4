/* SPDX-License-Identifier: Apache-2.0 */
#include "api/policy.h"
#include "base/err.h"
#include "policy/recommend.h"

static int check_command(const char *const *argv, struct hutch_error *err)
{
    if (!argv)
        return err_set(err, HUTCH_EINVALID, "argv", "NULL was given");
    if (!argv[0] || !argv[0][0])
        return err_set(err, HUTCH_EINVALID, "argv", "the command is empty");
    return 0;
}

int hutch_suggest(const char *const *argv, struct hutch_suggestion **ret, struct hutch_error *err)
{
    int r = check_command(argv, err);

    if (r < 0)
        return r;
    if (!ret)
        return err_set(err, HUTCH_EINVALID, "ret", "NULL was given");
    struct hutch_suggestion *suggestion = recommend_pack(recommend_find(argv));
    if (!suggestion)
        return err_oom(err);
    *ret = suggestion;
    return 0;
}

int hutch_policy_suggest(struct hutch_policy *policy, const char *const *argv,
                         struct hutch_error *err)
{
    if (!policy)
        return err_set(err, HUTCH_EINVALID, "policy", "NULL was given");
    int r = check_command(argv, err);
    return r < 0 ? r : recommend_apply(&policy->policy, recommend_find(argv), err);
}
