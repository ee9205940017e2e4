/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "plan/passes.h"

/*
 * A root caller's sandbox runs as an id that owns nothing on the host and that no other sandbox
 * has: 24 random bits above ids that systemd, containers and login accounts use.
 */
#define ROOT_CALLER_BASE 0x70000000U
#define ROOT_CALLER_MASK 0x00ffffffU

/* PROC_USER_INIT_INO of the kernel: the user namespace that every system begins with. */
#define FIRST_USER_NAMESPACE 0xeffffffdU

static uint64_t value_or(const struct policy *policy, enum policy_id id, uint64_t otherwise)
{
    const struct policy_value *value = &policy->values[id];

    return value->set ? value->number : otherwise;
}

static bool in_first_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/user", &st) < 0 || st.st_ino == FIRST_USER_NAMESPACE;
}

/* Everywhere, /proc belongs to the root of the host: who sees it as its own is that root. */
static bool is_root_of_host(void)
{
    struct stat st;

    return stat("/proc", &st) < 0 || st.st_uid == 0;
}

/*
 * Root of the host gives its sandbox another id. Root of a container is an ordinary user of the host,
 * and its sandbox has its id like anybody's: no other could reach a workspace there, since only who
 * has mounted a file system may map its ids.
 */
static int choose_host_ids(struct plan_identity *identity, uint32_t bits, struct hutch_error *err)
{
    identity->host_uid = geteuid();
    identity->host_gid = getegid();
    if (identity->host_uid != 0)
        return 0;
    if (in_first_namespace()) {
        identity->privileged = true;
        identity->host_uid = ROOT_CALLER_BASE | (bits & ROOT_CALLER_MASK);
        identity->host_gid = identity->host_uid;
        return 0;
    }
    if (is_root_of_host())
        return err_set(err, HUTCH_EUNSUPPORTED, "ids",
                       "root of this user namespace is root of the host, as whom no sandbox runs: "
                       "run hutch outside of the namespace, or as another user in it");
    return 0;
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
    uint32_t bits = random[16] | (uint32_t)random[17] << 8 | (uint32_t)random[18] << 16;
    int r = choose_host_ids(identity, bits, err);
    if (r < 0)
        return r;

    const struct policy_value *hostname = &policy->values[POLICY_HOSTNAME];
    plan->hostname = arena_strdup(&plan->arena, hostname->text ? hostname->text : "hutch");
    return plan->hostname ? 0 : err_oom(err);
}
