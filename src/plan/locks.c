/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks beside mounts and namespaces: syscall filters, Landlock, unix sockets of the host, core dumps.
 * And whether what the policy requires is there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/suggest.h"
#include "filter/filter.h"
#include "plan/passes.h"
#include "sys/coredump.h"
#include "sys/landlock.h"

/* A failure to read the file: what is about all of it is blamed on who named it. */
static int blame(const struct policy_value *value, struct hutch_error *err)
{
    static const char *const words[] = {"default", "strict"};
    const struct hutch_error before = *err;
    struct suggest suggest;
    char name[120];

    str_printable(value->text, name, sizeof name);
    if (before.where[0] && strncmp(before.where, " in ", 4) != 0 &&
        strncmp(before.where, name, sizeof before.where - 1) != 0)
        return before.code; /* a place in the file */
    suggest_init(&suggest, value->text);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        suggest_offer(&suggest, words[i]);
    const char *nearest = before.sys_errno == ENOENT ? suggest_best(&suggest) : NULL;
    if (nearest)
        err_set(err, before.code, value->origin, "'%s': %s (did you mean '%s'?)", name, before.msg,
                nearest);
    else
        err_set(err, before.code, value->origin, "'%s': %s", name, before.msg);
    err->sys_errno = before.sys_errno;
    return before.code;
}

/* A file is put on top of a floor that no policy can remove. */
static int choose_filter(const struct policy *policy, struct plan *plan, struct hutch_error *err)
{
    const struct policy_value *value = &policy->values[POLICY_SYSCALLS];
    const char *name = value->text ? value->text : "default";
    bool shipped = str_eq(name, "default") || str_eq(name, "strict");

    plan->init_filter = filter_shipped("init");
    plan->filter = filter_shipped(shipped ? name : "floor");
    plan->filter_name = arena_strdup(&plan->arena, name);
    plan->strict = str_eq(name, "strict");
    if (!plan->init_filter || !plan->filter)
        return err_set(err, HUTCH_EUNSUPPORTED, value->origin,
                       "there is no syscall filter for this machine's architecture");
    if (shipped)
        return 0;

    struct filter *user = arena_alloc(&plan->arena, sizeof *user);
    if (!user)
        return err_oom(err);
    int r = filter_from_file(name, &plan->arena, user, err);
    plan->user_filter = user;
    return r < 0 && err ? blame(value, err) : r;
}

static int add_socket(struct resolver *resolver, struct plan *plan, struct plan_entries *entries,
                      const struct policy_item *item, struct hutch_error *err)
{
    struct resolved found;
    char shown[256];
    int r = resolve_existing(resolver, item, &found, err);

    if (r < 0)
        return r;
    fd_auto int fd = found.fd;
    if (!S_ISSOCK(found.st.st_mode))
        return err_set(err, HUTCH_EPOLICY, item->origin, "'%s' is not a socket",
                       str_printable(item->text, shown, sizeof shown));
    void *grown = arena_grow(&plan->arena, plan->sockets, plan->socket_count, &plan->socket_cap,
                             sizeof *plan->sockets);
    if (!grown)
        return err_oom(err);
    plan->sockets = grown;
    plan->sockets[plan->socket_count++] = (struct plan_socket){
        .path = found.path, .dev = found.st.st_dev, .ino = found.st.st_ino};
    plan_entry_add(
        plan, entries,
        (struct plan_mount){.kind = MOUNT_BIND,
                            .why = WHY_READ,
                            .target = found.path,
                            .source = found.path,
                            .origin = item->origin,
                            .source_fd = fd_take(&fd),
                            .dev = found.st.st_dev,
                            .ino = found.st.st_ino,
                            .idmap = plan_needs_idmap(plan, found.path, &found.st, false),
                            .owner_uid = found.st.st_uid,
                            .owner_gid = found.st.st_gid,
                            .links = found.links});
    return 0;
}

int plan_pass_sockets(const struct policy *policy, struct resolver *resolver, struct plan *plan,
                      struct plan_entries *entries, struct hutch_error *err)
{
    const struct policy_value *value = &policy->values[POLICY_NET_UNIX];

    if (value->text && str_eq(value->text, "none"))
        plan->unix_filter = filter_shipped("no-unix");
    for (size_t i = 0; i < value->count; i++) {
        int r = add_socket(resolver, plan, entries, &value->items[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* "landlock>=6": 6 for the word "landlock", 0 without a number; -1 for another word. */
static long wanted_version(const char *want, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(want, word, len) != 0)
        return -1;
    if (want[len] == '\0')
        return 0;
    return strncmp(want + len, ">=", 2) == 0 ? strtol(want + len + 2, NULL, 10) : -1;
}

const char *plan_sampled_limit(const struct plan *plan)
{
    const struct plan_limits *limits = &plan->limits;

    if (limits->memory_means == MEANS_SAMPLED)
        return "memory";
    if (limits->cpu_time_means == MEANS_SAMPLED)
        return "cpu_time";
    return limits->processes_means == MEANS_SAMPLED ? "processes" : NULL;
}

static const char *const always[] = {"userns", "mountns",  "pidns",   "ipcns",
                                     "utsns",  "cgroupns", "seccomp", "nodump"};

static bool is_met(const struct plan *plan, const char *want)
{
    struct plan_limit_row limits[PLAN_LIMIT_ROWS];
    long landlock = wanted_version(want, "landlock");

    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        if (str_eq(want, always[i]))
            return true;
    plan_limit_rows(plan, limits);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        if (str_eq(want, limits[i].name))
            return limits[i].max != NUM_NO_LIMIT;
    if (str_eq(want, "cgroup"))
        return plan->cgroup.version > 0 && !plan_sampled_limit(plan);
    if (str_eq(want, "netns"))
        return plan->net == NET_NONE;
    return landlock >= 0 && plan->landlock_abi > 0 && plan->landlock_abi >= landlock;
}

/* The word that `want` is, or else is near to; NULL: none. */
static const char *nearest_word(const struct plan *plan, const char *want)
{
    static const char *const others[] = {"cgroup", "landlock", "netns"};
    struct plan_limit_row limits[PLAN_LIMIT_ROWS];
    struct suggest suggest;

    if (wanted_version(want, "landlock") >= 0)
        return want;
    plan_limit_rows(plan, limits);
    suggest_init(&suggest, want);
    /* Of words as near as another the first is taken: "cgroup" before "cgroupns". */
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        suggest_offer(&suggest, others[i]);
    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        suggest_offer(&suggest, always[i]);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        suggest_offer(&suggest, limits[i].name);
    return suggest_best(&suggest);
}

static int refuse_requirement(const struct plan *plan, const struct policy_item *item,
                              struct hutch_error *err)
{
    const char *want = item->text;
    const char *word = nearest_word(plan, want);

    if (!word)
        return err_set(err, HUTCH_EUNSUPPORTED, item->origin, "unknown requirement '%s'", want);
    if (!str_eq(word, want))
        return err_set(err, HUTCH_EUNSUPPORTED, item->origin,
                       "unknown requirement '%s' (did you mean '%s'?)", want, word);
    if (str_eq(want, "cgroup") && plan->cgroup.version > 0)
        return err_set(err, HUTCH_EUNSUPPORTED, item->origin,
                       "'cgroup' is required, and the limit on %s would only be sampled: its "
                       "controller cannot be used here",
                       plan_sampled_limit(plan));
    return err_set(err, HUTCH_EUNSUPPORTED, item->origin,
                   "'%s' is required and would not be enforced", want);
}

/*
 * RLIMIT_CORE keeps the memory of a command from files and from programs, but from no socket, and exec makes
 * dumpable again what was not. There is no lock against that, so there is no plan.
 */
static int refuse_dumps(struct hutch_error *err)
{
    int r = sys_coredump_to_socket();

    if (r < 0)
        return err_sys(err, r, "nodump",
                       "cannot tell whether the memory of commands that crash would be sent to a "
                       "service of the host ('@' in kernel.core_pattern); start hutch where "
                       "/proc/sys/kernel/core_pattern can be read");
    if (r > 0)
        return err_set(err, HUTCH_EUNSUPPORTED, "nodump",
                       "kernel.core_pattern begins with '@': the memory of commands that crash "
                       "would be sent to the service that listens there, and nothing could keep it "
                       "from that; have root set it to a file name or a pipe, as with 'sysctl "
                       "kernel.core_pattern=core'");
    return 0;
}

int plan_pass_locks(const struct policy *policy, struct plan *plan, struct hutch_error *err)
{
    const struct policy_value *require = &policy->values[POLICY_REQUIRE];
    int abi = sys_landlock_abi();
    int r = choose_filter(policy, plan, err);

    if (r == 0)
        r = refuse_dumps(err);
    if (r < 0)
        return r;
    plan->landlock_abi = abi > 0 ? abi : 0;
    if (plan->limits.cpus_means == MEANS_AFFINITY)
        plan->pinned_filter = filter_shipped("pinned");
    plan->net = (enum policy_net)policy->values[POLICY_NET].number;
    for (size_t i = 0; i < require->count; i++)
        if (!is_met(plan, require->items[i].text))
            return refuse_requirement(plan, &require->items[i], err);
    return 0;
}
