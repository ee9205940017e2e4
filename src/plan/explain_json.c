/* SPDX-License-Identifier: Apache-2.0 */
/* The plan as a program reads it: every step, nothing left out. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/num.h"
#include "base/str.h"
#include "plan/explain.h"

static json_t *string(const char *text)
{
    return text ? json_string_lossy(text, strlen(text)) : json_null();
}

static json_t *strings(const char *const *items)
{
    json_t *array = json_array();

    for (; *items; items++)
        json_array_append_new(array, string(*items));
    return array;
}

static json_t *limit(uint64_t value)
{
    return value == NUM_NO_LIMIT ? json_string("unlimited") : json_integer((json_int_t)value);
}

static json_t *mount_json(const struct plan_mount *mount)
{
    json_t *object = json_object();

    json_object_set_new(object, "kind", json_string(plan_kind_name(mount->kind)));
    json_object_set_new(object, "why", json_string(plan_why_name(mount->why)));
    json_object_set_new(object, "target", string(mount->target));
    if (mount->source)
        json_object_set_new(object, "source", string(mount->source));
    if (mount->origin)
        json_object_set_new(object, "origin", string(mount->origin));
    if (mount->kind == MOUNT_BIND || mount->kind == MOUNT_TMPFS)
        json_object_set_new(object, "writable", json_boolean(mount->writable));
    if (mount->kind == MOUNT_BIND)
        json_object_set_new(object, "recursive", json_boolean(mount->recursive));
    if (mount->idmap)
        json_object_set_new(object, "owner", json_integer(mount->owner_uid));
    if (mount->on_host)
        json_object_set_new(object, "stays_in_workspace", json_true());
    return object;
}

static json_t *mounts_json(const struct plan *plan)
{
    json_t *array = json_array();

    for (size_t i = 0; i < plan->mount_count; i++)
        json_array_append_new(array, mount_json(&plan->mounts[i]));
    return array;
}

static json_t *watch_json(const struct plan_watch *watch)
{
    str_auto char *path = NULL;
    const char *directory = str_eq(watch->directory, "/") ? "" : watch->directory;

    if (asprintf(&path, "%s/%s", directory, watch->rest) < 0) {
        path = NULL;
        return NULL;
    }
    return string(path);
}

static json_t *locks_json(const struct plan *plan)
{
    json_t *sockets = json_array();
    json_t *watched = json_array();

    for (size_t i = 0; i < plan->socket_count; i++)
        json_array_append_new(sockets, string(plan->sockets[i].path));
    for (size_t i = 0; i < plan->watch_count; i++)
        json_array_append_new(watched, watch_json(&plan->watches[i]));
    return json_pack("{s:o, s:i, s:s, s:o, s:o}", "syscalls", string(plan->filter_name), "landlock",
                     plan->landlock_abi, "unix", plan->unix_filter ? "none" : "private", "sockets",
                     sockets, "watched", watched);
}

/* Numbers under a name with their unit, and by what means each is kept. */
static json_t *limits_json(const struct plan *plan, const struct plan_command *command)
{
    struct plan_limit_row rows[PLAN_LIMIT_ROWS];
    json_t *object = json_object();
    json_t *means = json_object();

    plan_explain_limits(plan, command, rows);
    for (size_t i = 0; i < PLAN_LIMIT_ROWS; i++) {
        json_object_set_new(object, rows[i].key, limit(rows[i].max));
        if (rows[i].means != MEANS_NONE)
            json_object_set_new(means, rows[i].name, json_string(plan_means_name(rows[i].means)));
    }
    json_object_set_new(object, "means", means);
    return object;
}

int plan_explain_json(const struct plan *plan, const struct plan_command *command, char **ret,
                      struct hutch_error *err)
{
    char layout[16];
    char net[16];
    const struct plan_identity *id = &plan->identity;

    policy_enum_name(POLICY_LAYOUT, plan->layout, layout, sizeof layout);
    policy_enum_name(POLICY_NET, plan->net, net, sizeof net);
    json_auto_ref json_t *root = json_pack(
        "{s:o, s:o, s:b, s:{s:s, s:s}, s:{s:I, s:I, s:I, s:I, s:s}, s:s, s:s, s:o, s:o,"
        " s:o, s:o, s:o}",
        "argv", strings(command->argv), "cwd", string(command->cwd), "tty", (int)command->tty,
        "isolation", "level", "container", "backend", "native", "identity", "user",
        (json_int_t)id->uid, "group", (json_int_t)id->gid, "host_user", (json_int_t)id->host_uid,
        "host_group", (json_int_t)id->host_gid, "hostname", plan->hostname, "network", net,
        "layout", layout, "workspace", string(plan->workspace), "limits",
        limits_json(plan, command), "locks", locks_json(plan), "mounts", mounts_json(plan),
        "environment", strings(command->env));
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    if (!text)
        return err_oom(err);
    *ret = text;
    return 0;
}
