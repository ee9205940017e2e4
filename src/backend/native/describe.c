/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/describe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "filter/notify.h"

/* What each step is called, and which fact of `enforced` a host does not give on which it fails. */
static const struct {
    const char *name;
    const char *fact; /* NULL: it says nothing about the host */
} steps[] = {
    [STEP_CLONE] = {"clone", "userns"},
    [STEP_PROCESS] = {"process", NULL},
    [STEP_IDS] = {"ids", "userns"},
    [STEP_PRIVILEGES] = {"privileges", NULL},
    [STEP_MOUNTS] = {"mounts", "mountns"},
    [STEP_ENTER] = {"enter", "mountns"},
    [STEP_LANDLOCK] = {"landlock", "landlock"},
    [STEP_DESCRIPTORS] = {"descriptors", NULL},
    [STEP_FILTER] = {"filter", "seccomp"},
    [STEP_NETWORK] = {"network", "netns"},
};
_Static_assert(ARRAY_LEN(steps) == STEP_COUNT, "every step has a name");

const char *native_step_name(enum proto_step step)
{
    return step < STEP_COUNT ? steps[step].name : "unknown";
}

/* Not that the host gives it to nobody, but that there is not enough of something now. */
static bool is_shortage(int error)
{
    return error == EAGAIN || error == EMFILE || error == ENFILE || error == ENOMEM;
}

const char *native_blamed_fact(const struct hutch_error *error)
{
    static const char *const own_steps[] = {"cgroup", "nodump", "seccomp"}; /* as their facts */

    if ((error->code != HUTCH_EUNSUPPORTED && !error->sys_errno) || is_shortage(error->sys_errno))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(own_steps); i++)
        if (str_eq(error->where, own_steps[i]))
            return own_steps[i];
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (str_eq(error->where, steps[i].name))
            return steps[i].fact;
    return NULL;
}

static int describe_clone(int error, struct hutch_error *err)
{
    static const char what[] = "cannot create namespaces";

    if (error == EPERM || error == EACCES)
        return err_sys(err, -error, "clone",
                       "%s: this host refuses user namespaces; look at the sysctls "
                       "kernel.unprivileged_userns_clone and "
                       "kernel.apparmor_restrict_unprivileged_userns, and at the seccomp profile "
                       "of a container around hutch",
                       what);
    if (error == ENOSPC || error == EUSERS)
        return err_sys(err, -error, "clone",
                       "%s: the limit on them is reached; raise the sysctl "
                       "user.max_user_namespaces (or nest less deeply)",
                       what);
    if (error == EINVAL)
        return err_sys(err, -error, "clone",
                       "%s: this kernel lacks one of user, mount, pid, network, ipc, uts and "
                       "cgroup namespaces",
                       what);
    return err_sys(err, -error, "clone", "%s", what);
}

static int describe_mount(const struct plan *plan, uint32_t index, int error,
                          struct hutch_error *err)
{
    if (index >= plan->mount_count)
        return err_sys(err, -error, "mounts", "cannot build the file system");

    const struct plan_mount *mount = &plan->mounts[index];
    char target[160];
    char source[160];
    str_printable(mount->target, target, sizeof target);
    str_printable(mount->source ? mount->source : "", source, sizeof source);

    if (error == EIDRM)
        return err_set(
            err, HUTCH_ESTATE, "mounts",
            "'%s' was replaced or removed on the host, and what %s it in the sandbox went "
            "with it: the sandbox was ended, start it anew",
            target, mount->why == WHY_HIDE ? "hid" : "protected");
    switch (mount->kind) {
    case MOUNT_BIND:
        if (error == ESTALE)
            return err_set(err, HUTCH_ESYSTEM, "mounts",
                           "'%s' was replaced while the sandbox was being set up", source);
        if (error == EACCES && plan->identity.privileged)
            return err_sys(err, -error, "mounts",
                           "cannot attach '%s' at '%s': a sandbox of root has an ordinary user's "
                           "rights, which do not reach it",
                           source, target);
        return err_sys(err, -error, "mounts", "cannot attach '%s' at '%s'", source, target);
    case MOUNT_PROC:
        if (error == EPERM)
            return err_sys(err, -error, "mounts",
                           "cannot mount a new /proc: parts of the present one are covered, as in "
                           "a container; start that with an unmasked /proc");
        return err_sys(err, -error, "mounts", "cannot mount a new /proc");
    case MOUNT_DIR:
    case MOUNT_FILE:
        if (mount->on_host)
            return err_sys(err, -error, "mounts",
                           "cannot make the mount point '%s' in the workspace: nothing but an "
                           "empty directory may be there",
                           target);
        return err_sys(err, -error, "mounts", "cannot make '%s'", target);
    case MOUNT_SEAL: return err_sys(err, -error, "mounts", "cannot make '%s' read-only", target);
    case MOUNT_MASK: return err_sys(err, -error, "mounts", "cannot hide '%s'", target);
    default: return err_sys(err, -error, "mounts", "cannot make '%s'", target);
    }
}

int native_describe_setup(const struct plan *plan, enum proto_step step, uint32_t index, int error,
                          struct hutch_error *err)
{
    switch (step) {
    case STEP_CLONE: return describe_clone(error, err);
    case STEP_MOUNTS: return describe_mount(plan, index, error, err);
    case STEP_PROCESS:
        return err_sys(err, -error, "process", "cannot prepare the sandbox's first process");
    case STEP_NETWORK:
        return err_sys(err, -error, "network",
                       "cannot make the network, or leave privileges with it");
    case STEP_IDS:
        if (error == EPERM || error == EACCES)
            return err_sys(err, -error, "ids",
                           "cannot map user ids: this host gives namespaces but no rights in them; "
                           "see the sysctl kernel.apparmor_restrict_unprivileged_userns");
        return err_sys(err, -error, "ids", "cannot map user ids");
    case STEP_LANDLOCK: return err_sys(err, -error, "landlock", "cannot build the Landlock rules");
    case STEP_DESCRIPTORS:
        return err_sys(err, -error, "descriptors",
                       "cannot close what the sandbox inherited, or watch its protected paths");
    case STEP_FILTER:
        return err_sys(err, -error, "filter", "cannot filter the calls of the first process");
    case STEP_ENTER: return err_sys(err, -error, "enter", "cannot enter the new file system");
    default: return err_sys(err, -error, native_step_name(step), "cannot drop privileges");
    }
}

int native_describe_exec(const struct plan_command *command, enum proto_exec_step step, int error,
                         struct hutch_error *err)
{
    char name[160];

    str_printable(command->argv[0], name, sizeof name);
    switch (step) {
    case EXEC_STEP_EXEC:
        if (error == ENOENT)
            return err_set(err, HUTCH_ENOTFOUND, "exec", "'%s': command not found in the sandbox",
                           name);
        return err_sys(err, -error, "exec", "'%s' cannot be executed", name);
    case EXEC_STEP_ROOM:
        return err_set(
            err, HUTCH_EBUSY, "exec",
            error == EBUSY
                ? "'%s' was not started: %d commands run in the sandbox, and no more can; "
                  "wait for one of them"
                : "'%s' was not started: processes of %d earlier commands still run in "
                  "the sandbox, and it can serve no more; end some of them",
            name, error == EBUSY ? PROTO_RUNS_MAX : PROTO_LISTENERS_MAX);
    case EXEC_STEP_CWD:
        str_printable(command->cwd, name, sizeof name);
        return err_sys(err, -error, "cwd", "cannot enter '%s' in the sandbox", name);
    case EXEC_STEP_TERMINAL:
        return err_sys(err, -error, "tty", "cannot give '%s' its terminal or streams", name);
    case EXEC_STEP_LOCKS:
        return err_sys(err, -error, "seccomp", "cannot put Landlock and the syscall filter on '%s'",
                       name);
    case EXEC_STEP_LIMITS:
        return err_sys(err, -error, "limits", "cannot set the limits of '%s'", name);
    case EXEC_STEP_FORK:
        return err_sys(err, -error, "exec", "cannot start a process for '%s'", name);
    default: return err_sys(err, -error, "exec", "cannot pass '%s' to the sandbox", name);
    }
}

/* The arguments that decided; pointers mean nothing to a reader. */
static void describe_arguments(const char *name, const uint64_t args[3], char *out, size_t size)
{
    static const char *const with_flags[] = {"clone", "unshare"};

    if (str_eq(name, "socket") || str_eq(name, "socketpair")) {
        snprintf(out, size, "family %u, type %u, protocol %u", (unsigned)args[0],
                 (unsigned)args[1] & 0xfU, (unsigned)args[2]);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(with_flags); i++)
        if (str_eq(name, with_flags[i]))
            snprintf(out, size, "flags 0x%llx", (unsigned long long)args[0]);
    if (str_eq(name, "ioctl"))
        snprintf(out, size, "request 0x%x", (unsigned)args[1]);
    else if (str_eq(name, "ptrace") || str_eq(name, "bpf") || str_eq(name, "keyctl") ||
             str_eq(name, "personality"))
        snprintf(out, size, "request 0x%llx", (unsigned long long)args[0]);
}

void native_describe_violation(const struct proto_violation *violation,
                               struct sandbox_violation *ret)
{
    const struct filter_notified *call = filter_notified_find(violation->nr);
    char command[sizeof violation->command + 1] = {0};
    char text[sizeof violation->text + 1] = {0};

    /* Init's strings come from the sandbox, and need not even end. */
    memcpy(command, violation->command, sizeof violation->command);
    memcpy(text, violation->text, sizeof violation->text);
    str_printable(command, ret->command, sizeof ret->command);
    str_printable(text, ret->detail, sizeof ret->detail);
    ret->pid = (int)violation->pid;
    switch (violation->kind) {
    case VIOLATION_SOCKET:
        ret->kind = "socket";
        ret->name = "connect";
        ret->hint = "a unix socket of the host: name its path in network.unix";
        break;
    case VIOLATION_PROTECT:
        ret->kind = "protect";
        ret->name = "create";
        ret->hint = "the path is protected and was removed again: take it out of "
                    "filesystem.protect, or create it before the run";
        break;
    default:
        ret->kind = "syscall";
        ret->name = call ? call->name : "unknown";
        ret->hint = call ? call->hint : "no policy allows it";
        if (!text[0])
            describe_arguments(ret->name, violation->args, ret->detail, sizeof ret->detail);
    }
}
