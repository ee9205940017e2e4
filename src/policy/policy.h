/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: what was asked, merged from a profile, a JSON document and flags. Says nothing about this
 * host: paths are kept as written, nothing is looked up.
 *
 * Every setting is a row of policy_fields[] (fields.c). JSON, flags, help, man page and schema are
 * loops over that table; a setting is added there, with its name in enum policy_id.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hutch.h>

#include "base/arena.h"
#include "base/num.h"

enum policy_id {
    POLICY_LEVEL,
    POLICY_BACKEND,
    POLICY_REQUIRE,
    POLICY_LAYOUT,
    POLICY_WORKSPACE,
    POLICY_REPO,
    POLICY_READ,
    POLICY_WRITE,
    POLICY_HIDE,
    POLICY_PROTECT,
    POLICY_NET,
    POLICY_NET_ALLOW,
    POLICY_NET_UNIX,
    POLICY_ENV_INHERIT,
    POLICY_ENV_SET,
    POLICY_ENV_UNSET,
    POLICY_TIMEOUT,
    POLICY_CPU_TIME,
    POLICY_CPUS,
    POLICY_MEMORY,
    POLICY_DISK,
    POLICY_PROCESSES,
    POLICY_OPEN_FILES,
    POLICY_FILE_SIZE,
    POLICY_OUTPUT,
    POLICY_SYSCALLS,
    POLICY_USER,
    POLICY_GROUP,
    POLICY_HOSTNAME,
    POLICY_GUARD_MODE,
    POLICY_GUARD_ALLOW,
    POLICY_GUARD_DENY,
    POLICY_GUARD_STRICT,
    POLICY_FIELD_COUNT,
};

/* Values of the enumerated fields, in the order of their `values` text in fields.c. */
enum policy_level { LEVEL_NONE, LEVEL_PROCESS, LEVEL_CONTAINER, LEVEL_VM, LEVEL_WASM };
enum policy_layout { LAYOUT_HOST, LAYOUT_MINIMAL, LAYOUT_ROOT };
enum policy_net { NET_NONE, NET_HOST, NET_ALLOW };
enum policy_guard { GUARD_OFF, GUARD_WARN, GUARD_DENY };

enum policy_type {
    TYPE_ENUM,     /* number: index into the row's values */
    TYPE_STRING,   /* text */
    TYPE_BOOL,     /* number: 0 or 1 */
    TYPE_SIZE,     /* number: bytes, or NUM_NO_LIMIT */
    TYPE_DURATION, /* number: milliseconds, or NUM_NO_LIMIT */
    TYPE_COUNT,    /* number, or NUM_NO_LIMIT */
    TYPE_CPUS,     /* number: thousandths of a CPU, or NUM_NO_LIMIT */
    TYPE_ID,       /* number: a uid or gid, 0 allowed */
    TYPE_PATH,     /* text; null in JSON clears it */
    TYPE_LIST,     /* items: strings */
    TYPE_PATHS,    /* items: paths, maybe with ~ or globs */
    TYPE_MAP,      /* items: name and value */
    TYPE_UNIX,     /* text "none" or "private", or items: paths */
};

/* One entry of a list or map, with the place that said it. */
struct policy_item {
    const char *name;   /* maps only: the key */
    const char *text;   /* the entry, or the map's value */
    const char *origin; /* "--read", or "/filesystem/read/0 in FILE" */
    bool from_flag; /* a relative path starts at the caller's directory, else at the workspace */
};

struct policy_value {
    bool set;
    uint64_t number;
    const char *text;
    struct policy_item *items;
    size_t count;
    size_t cap;
    const char *origin; /* where it was last set; NULL when never */
    bool from_profile;  /* there, by a profile: nobody asked for just this */
};

struct policy {
    struct arena arena; /* owns every string below */
    struct policy_value values[POLICY_FIELD_COUNT];
};

struct policy_field {
    const char *section; /* "limits", or NULL for a top-level key */
    const char *key;     /* "timeout" */
    enum policy_type type;
    const char *flag;       /* "--timeout", or NULL */
    const char *short_flag; /* "-w", or NULL */
    const char *argument;   /* "T" */
    const char *variable;   /* "HUTCH_TIMEOUT", or NULL */
    const char *values;     /* TYPE_ENUM: "none|host|allow" */
    const char *help;       /* one line, for --help, man page and schema */
    const char *pattern;    /* for the schema: what texts, entries or names look like; or NULL */

    /* Texts, entries and names: why one is refused, as num.h says it; NULL when it is good. */
    const char *(*check)(const char *text);
};

/* One row per enum policy_id, in its order. */
extern const struct policy_field policy_fields[POLICY_FIELD_COUNT];

void policy_init(struct policy *policy);
void policy_clear(struct policy *policy);

/* Merge the profile `name` and, before it, what it extends. */
int policy_merge_profile(struct policy *policy, const char *name, struct hutch_error *err);

/* Merge a document; its "extends", when it has one, is merged before it. */
int policy_merge_json(struct policy *policy, const char *json, size_t len, const char *source,
                      struct hutch_error *err);

/* Apply one flag. `origin` NULL means the flag itself. */
int policy_set_flag(struct policy *policy, const char *flag, const char *value, const char *origin,
                    struct hutch_error *err);

/* The rows of policy_fields that have a flag, and the flags that stand for no single row. */
const struct hutch_option *policy_options(size_t *count);

int policy_to_json(const struct policy *policy, char **ret, struct hutch_error *err);
int policy_schema(char **ret, struct hutch_error *err);

/* Profiles: shipped ones are compiled in; installed ones are files. See profile.c for the order. */
int profile_list(struct hutch_profile **ret, size_t *count, struct hutch_error *err);
int profile_text(const char *name, char **ret, struct hutch_error *err);

/* The word of an enumerated field's value: policy_enum_name(POLICY_NET, NET_HOST) is "host". */
const char *policy_enum_name(enum policy_id id, uint64_t value, char *out, size_t size);
