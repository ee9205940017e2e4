/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan as a person reads it. Everything the code will see and everything that limits it is on
 * the page; values that come from outside are printed with escapes, never raw.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "plan/explain.h"

#define TEXT_MAX (4U << 20)

const char *plan_why_name(enum mount_why why)
{
    static const char *const names[] = {
        [WHY_LAYOUT] = "layout",       [WHY_DEVICE] = "device", [WHY_MASK] = "masked",
        [WHY_WORKSPACE] = "workspace", [WHY_REPO] = "repo",     [WHY_HOME] = "home",
        [WHY_READ] = "read",           [WHY_WRITE] = "write",   [WHY_PIN] = "pinned",
        [WHY_PROTECT] = "protect",     [WHY_HIDE] = "hide",
    };

    return names[why];
}

const char *plan_kind_name(enum mount_kind kind)
{
    static const char *const names[] = {
        [MOUNT_BIND] = "bind",     [MOUNT_TMPFS] = "tmpfs", [MOUNT_PROC] = "proc",
        [MOUNT_DEVPTS] = "devpts", [MOUNT_MASK] = "mask",   [MOUNT_EMPTY] = "empty",
        [MOUNT_DIR] = "directory", [MOUNT_FILE] = "file",   [MOUNT_LINK] = "link",
        [MOUNT_SEAL] = "seal",
    };

    return names[kind];
}

void plan_explain_limits(const struct plan *plan, const struct plan_command *command,
                         struct plan_limit_row ret[PLAN_LIMIT_ROWS])
{
    struct plan here = *plan;

    here.limits.timeout_ms = command->timeout_ms;
    plan_limit_rows(&here, ret);
}

static void put(struct buf *out, const char *text)
{
    char shown[512];

    buf_puts(out, str_printable(text, shown, sizeof shown));
}

/* A word as a shell would need it. */
static void put_word(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./_-";

    if (word[0] && word[strspn(word, plain)] == '\0') {
        put(out, word);
        return;
    }
    char shown[512];
    buf_puts(out, "'");
    for (const char *c = str_printable(word, shown, sizeof shown); *c; c++) {
        if (*c == '\'')
            buf_puts(out, "'\\''");
        else
            buf_add(out, c, 1);
    }
    buf_puts(out, "'");
}

static const char *access_word(const struct plan_mount *mount)
{
    switch (mount->kind) {
    case MOUNT_MASK: return "hidden";
    case MOUNT_EMPTY: return "empty";
    case MOUNT_LINK: return "link";
    case MOUNT_DIR: return "mkdir";
    case MOUNT_TMPFS:
        return mount->why == WHY_HIDE ? "hidden" : mount->writable ? "memory" : "empty";
    case MOUNT_PROC:
    case MOUNT_DEVPTS: return "own";
    default: return mount->writable ? "write" : "read";
    }
}

/* Steps that only prepare others, and the usual devices, would bury what matters. */
static bool is_detail(const struct plan_mount *mount)
{
    return mount->kind == MOUNT_SEAL || mount->kind == MOUNT_FILE ||
           (mount->kind == MOUNT_DIR && !mount->on_host) || mount->why == WHY_DEVICE ||
           mount->why == WHY_MASK;
}

static void put_files(struct buf *out, const struct plan *plan)
{
    char layout[16];

    policy_enum_name(POLICY_LAYOUT, plan->layout, layout, sizeof layout);
    buf_printf(out, "files        layout %s; nosuid and nodev everywhere\n", layout);
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        if (is_detail(mount))
            continue;
        buf_printf(out, "  %-9s  ", access_word(mount));
        put(out, mount->target);
        if (mount->source && !str_eq(mount->source, mount->target)) {
            buf_puts(out, mount->kind == MOUNT_LINK ? " -> " : "  from ");
            put(out, mount->source);
        }
        if (mount->kind == MOUNT_DIR)
            buf_puts(out, "  (mount point, stays in the workspace)");
        if (mount->why != WHY_LAYOUT)
            buf_printf(out, "  (%s%s%s)", plan_why_name(mount->why), mount->origin ? ", " : "",
                       mount->origin ? mount->origin : "");
        buf_puts(out, "\n");
    }
    buf_puts(out, "  own        /dev with null zero full random urandom tty pts ptmx shm\n");
}

static void put_locks(struct buf *out, const struct plan *plan)
{
    buf_puts(out, "syscalls     filter ");
    put(out, plan->filter_name);
    buf_puts(out, "\n");
    if (plan->landlock_abi > 0)
        buf_printf(out, "landlock     version %d\n", plan->landlock_abi);
    else
        buf_puts(out, "landlock     not on this kernel\n");
    buf_printf(out, "unix sockets %s\n", plan->unix_filter ? "none" : "the sandbox's own");
    for (size_t i = 0; i < plan->socket_count; i++) {
        buf_puts(out, "  connect    ");
        put(out, plan->sockets[i].path);
        buf_puts(out, "\n");
    }
    for (size_t i = 0; i < plan->watch_count; i++) {
        buf_puts(out, i == 0 ? "watched      " : "             ");
        if (!str_eq(plan->watches[i].directory, "/"))
            put(out, plan->watches[i].directory);
        buf_puts(out, "/");
        put(out, plan->watches[i].rest);
        buf_puts(out, "\n");
    }
}

static const char *limit_text(const struct plan_limit_row *row, char out[NUM_TEXT_MAX])
{
    if (row->max == NUM_NO_LIMIT)
        return "unlimited";
    switch (row->unit) {
    case UNIT_MS: return num_format_duration(row->max, out);
    case UNIT_BYTES: return num_format_size(row->max, out);
    case UNIT_MILLI: return num_format_cpus(row->max, out);
    case UNIT_COUNT: break;
    }
    snprintf(out, NUM_TEXT_MAX, "%" PRIu64, row->max);
    return out;
}

static void put_limits(struct buf *out, const struct plan *plan, const struct plan_command *command)
{
    struct plan_limit_row rows[PLAN_LIMIT_ROWS];
    char text[NUM_TEXT_MAX];

    plan_explain_limits(plan, command, rows);
    for (size_t i = 0; i < PLAN_LIMIT_ROWS; i++) {
        buf_printf(out, "%-12s %-10s %s", i == 0 ? "limits" : "", rows[i].name,
                   limit_text(&rows[i], text));
        if (rows[i].means != MEANS_NONE)
            buf_printf(out, " (%s)", plan_means_name(rows[i].means));
        buf_puts(out, "\n");
    }
    if (plan->cgroup.version > 0)
        buf_printf(out, "             in a control group (v%d)%s\n", plan->cgroup.version,
                   plan->cgroup.unit ? " that the user's systemd makes" : "");
}

int plan_explain_text(const struct plan *plan, const struct plan_command *command, char **ret,
                      struct hutch_error *err)
{
    const struct plan_identity *id = &plan->identity;
    buf_auto struct buf out;
    buf_init(&out, TEXT_MAX);

    buf_puts(&out, "command     ");
    for (const char *const *arg = command->argv; *arg; arg++) {
        buf_puts(&out, " ");
        put_word(&out, *arg);
    }
    buf_puts(&out, "\ndirectory    ");
    put(&out, command->cwd);
    buf_printf(&out, "\nterminal     %s\n", command->tty ? "its own" : "none");
    buf_puts(&out, "isolation    level container, backend native: user, mount, pid, ipc, uts and "
                   "cgroup namespaces\n");
    buf_printf(&out, "identity     user %u, group %u; outside user %u, group %u\n", id->uid,
               id->gid, id->host_uid, id->host_gid);
    buf_printf(&out, "             host name %s, no capabilities, no new privileges\n",
               plan->hostname);
    buf_printf(&out, "network      %s\n",
               plan->net == NET_HOST ? "the host's" : "none but its own loopback");
    put_locks(&out, plan);
    put_limits(&out, plan, command);
    put_files(&out, plan);
    buf_puts(&out, "environment\n");
    for (const char *const *var = command->env; *var; var++) {
        buf_puts(&out, "  ");
        put(&out, *var);
        buf_puts(&out, "\n");
    }
    *ret = buf_take(&out);
    return *ret ? 0 : err_oom(err);
}
