/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this host can enforce, found out by running something. What is there, and by what means, is what the
 * plan of that run and its backend say; what is missing is what it failed with. There is no list here of what
 * a sandbox is made of.
 */
#include <errno.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/held.h"
#include "api/policy.h"
#include "backend/backend.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "plan/plan.h"
#include "sys/sysctl.h"

/* ---- Trying ---- */

/* It takes a few milliseconds. */
#define TRUE_MS 10000

/* One try of a sandbox. */
struct trial {
    struct hutch_policy *policy;
    struct hutch_result *result; /* NULL: nothing came of it */
    struct hutch_error error;    /* code 0: it ran */
    struct plan *plan;           /* NULL: it could not even be planned */
};

static void trial_clear(struct trial *trial)
{
    hutch_result_free(trial->result);
    plan_free(trial->plan);
    hutch_policy_free(trial->policy);
    *trial = (struct trial){0};
}
#define trial_auto __attribute__((cleanup(trial_clear)))

/* Every lock is on before a command is looked for: one that is not found has had them all. */
static int judge_result(const struct hutch_result *result, struct hutch_error *err)
{
    const bool found = result->error.code != HUTCH_ENOTFOUND;

    *err = (struct hutch_error){0};
    if (result->reason == HUTCH_SETUP && found)
        *err = result->error;
    else if (result->status != 0 && found)
        err_set(err, HUTCH_ESYSTEM, "run", "'true' ended with status %d (%s) in a sandbox",
                result->status, hutch_reason_name(result->reason));
    return err->code;
}

static int run_true(struct trial *trial, bool in_memory, const char *cpus)
{
    const char *const flags[][2] = {
        {"--cpus", cpus}, {"--layout", "minimal"}, {"--workspace", "tmpfs"}};
    struct hutch_command command = HUTCH_COMMAND_INIT;
    int r = hutch_policy_new(NULL, &trial->policy, &trial->error);

    for (size_t i = 0; r == 0 && i < (in_memory ? ARRAY_LEN(flags) : 1); i++)
        r = hutch_policy_set(trial->policy, flags[i][0], flags[i][1], NULL, &trial->error);
    if (r < 0)
        return r;
    command.argv = (const char *const[]){"true", NULL};
    command.timeout_ms = TRUE_MS;
    r = hutch_run(trial->policy, &command, &trial->result, &trial->error);
    return r < 0 ? r : judge_result(trial->result, &trial->error);
}

static void try_sandbox(struct trial *trial, bool in_memory)
{
    struct hutch_error err = {0};
    /* Fewer processors than any host has: where nothing can share one out, a whole one. */
    int r = run_true(trial, in_memory, "0.5");

    if (r == HUTCH_EUNSUPPORTED && str_eq(trial->error.where, "--cpus")) {
        trial_clear(trial);
        run_true(trial, in_memory, "1");
    }
    /* Only now: a plan has many descriptors, and there may not be enough for two. */
    r = trial->policy ? plan_build(&trial->policy->policy, &trial->plan, &err) : 0;
    if (r < 0 && !trial->error.code)
        trial->error = err;
}

/* ---- Blaming ---- */

/* What would give this caller user namespaces, where a setting of the kernel is what refuses them. */
static const char *userns_help(const struct hutch_error *error)
{
    static const struct {
        const char *name, *off, *help;
        bool for_root;
    } settings[] = {
        {"user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000", true},
        {"kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1",
         false},
        {"kernel/apparmor_restrict_unprivileged_userns", "1",
         "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for hutch "
         "that allows userns",
         false},
    };
    char text[16];

    for (size_t i = 0; error->sys_errno && i < ARRAY_LEN(settings); i++)
        if ((settings[i].for_root || geteuid() != 0) &&
            sys_sysctl_read(settings[i].name, text, sizeof text) == 0 &&
            str_eq(text, settings[i].off))
            return settings[i].help;
    return error->sys_errno == EPERM
               ? "in a container, start that with a seccomp profile that allows user namespaces"
               : NULL;
}

/* The error says it too, in a sentence for who does not ask the doctor. */
static const char *nodump_help(const struct hutch_error *error)
{
    return error->sys_errno ? "a /proc without subset=pid, and with nothing over /proc/sys"
                            : "sysctl kernel.core_pattern=core";
}

static const char *help_with(const char *fact, const struct hutch_error *error)
{
    if (str_eq(fact, "userns"))
        return userns_help(error);
    return str_eq(fact, "nodump") ? nodump_help(error) : NULL;
}

static struct plan_remark blame(const char *fact, const struct hutch_error *error)
{
    return (struct plan_remark){
        .state = HUTCH_HOST_MISSING,
        .reason = error->msg,
        .help = help_with(fact, error),
    };
}

/* ---- Telling ---- */

struct facts {
    struct arena *arena;
    struct hutch_host_fact **rows;
    size_t count;
    size_t cap;
};

/* Does nothing when out of memory, which the arena remembers. */
static void add_fact(struct facts *facts, const char *name, const char *value,
                     const struct plan_remark *remark)
{
    struct arena *arena = facts->arena;
    struct hutch_host_fact *row = arena_alloc(arena, sizeof *row);
    void *grown = arena_grow(arena, facts->rows, facts->count, &facts->cap, sizeof(void *));

    if (!row || !grown)
        return;
    *row = (struct hutch_host_fact){
        .size = sizeof *row,
        .name = arena_strdup(arena, name),
        .value = value ? arena_strdup(arena, value) : NULL,
        .state = remark->state,
        .reason = remark->reason ? arena_strdup(arena, remark->reason) : NULL,
        .help = remark->help ? arena_strdup(arena, remark->help) : NULL,
    };
    facts->rows = grown;
    facts->rows[facts->count++] = row;
}

/* What says something about the policy alone. */
static bool is_chosen(const char *fact)
{
    static const char *const chosen[] = {"backend", "level", "unix", "protect"};

    for (size_t i = 0; i < ARRAY_LEN(chosen); i++)
        if (str_eq(fact, chosen[i]))
            return true;
    return false;
}

static void add_enforced(struct facts *facts, const struct trial *trial,
                         const struct hutch_fact *fact)
{
    const char *blamed = backend_blamed_fact(&trial->error);
    struct plan_remark remark = {.state = HUTCH_HOST_UNKNOWN};

    if (blamed && str_eq(fact->name, blamed)) {
        remark = blame(blamed, &trial->error);
        add_fact(facts, fact->name, "false", &remark);
        return;
    }
    if (trial->plan)
        remark = plan_remark_on(trial->plan, fact->name);
    if (remark.state == HUTCH_HOST_UNKNOWN && !trial->error.code)
        remark.state = HUTCH_HOST_OK; /* a run has shown it */
    add_fact(facts, fact->name, remark.state == HUTCH_HOST_UNKNOWN ? NULL : fact->value, &remark);
}

static void add_workspace(struct facts *facts, const struct trial *trial,
                          const struct hutch_error *in_directory)
{
    struct plan_remark remark = {.state = HUTCH_HOST_OK};

    if (trial->error.code) {
        remark.state = HUTCH_HOST_UNKNOWN;
        add_fact(facts, "workspace", NULL, &remark);
    } else if (in_directory->code) {
        remark.state = HUTCH_HOST_MISSING;
        remark.reason = in_directory->msg;
        remark.help = "another directory (-w DIR), or a workspace in memory (-w tmpfs)";
        add_fact(facts, "workspace", "false", &remark);
    } else {
        add_fact(facts, "workspace", "true", &remark);
    }
}

/* All that a run had, or would have had; without a plan nothing is known but what is to blame for that. */
static const struct hutch_fact *enforced_facts(const struct trial *trial, struct arena *arena)
{
    const struct backend *backend;

    if (trial->result)
        return trial->result->enforced;
    if (trial->plan && backend_choose(trial->plan, &backend, NULL) == 0)
        return backend->enforced(trial->plan, arena);
    struct hutch_fact *alone = arena_alloc(arena, 2 * sizeof *alone);
    if (alone)
        alone->name = backend_blamed_fact(&trial->error);
    return alone;
}

static int fill_host(struct hutch_host *host, const struct trial *trial,
                     const struct hutch_error *in_directory, struct hutch_error *err)
{
    struct facts facts = {.arena = held_arena(host)};
    const struct hutch_fact *fact = enforced_facts(trial, facts.arena);
    struct utsname kernel;

    if (uname(&kernel) < 0)
        return err_sys(err, -errno, "doctor", "cannot ask for the kernel's version");
    for (; fact && fact->name; fact++)
        if (!is_chosen(fact->name))
            add_enforced(&facts, trial, fact);
    add_workspace(&facts, trial, in_directory);
    *host = (struct hutch_host){
        .size = sizeof *host,
        .ok = trial->error.code == 0,
        .error = trial->error,
        .kernel = arena_strdup(facts.arena, kernel.release),
        .machine = arena_strdup(facts.arena, kernel.machine),
        /* With room for one more, which is NULL. */
        .facts = arena_grow(facts.arena, facts.rows, facts.count, &facts.cap, sizeof(void *)),
    };
    return arena_failed(facts.arena) ? err_oom(err) : 0;
}

int hutch_doctor(struct hutch_host **ret, struct hutch_error *err)
{
    trial_auto struct trial trial = {0};
    held_auto struct hutch_host *host = held_new(sizeof *host);

    if (!ret)
        return err_null(err, "ret");
    if (!host)
        return err_oom(err);
    try_sandbox(&trial, false);
    const struct hutch_error in_directory = trial.error;
    if (in_directory.code) {
        trial_clear(&trial);
        try_sandbox(&trial, true);
    }
    if (trial.error.code == HUTCH_ENOMEM)
        return err_oom(err);
    int r = fill_host(host, &trial, &in_directory, err);
    if (r < 0)
        return r;
    *ret = host;
    host = NULL;
    return 0;
}

void hutch_host_free(struct hutch_host *host)
{
    held_free(host);
}
