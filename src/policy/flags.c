/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/suggest.h"
#include "policy/set.h"

/* Flags that stand for no single row. */
static const struct hutch_option env_option = {
    .flag = "--env",
    .argument = "NAME[=VALUE]",
    .key = "environment.set",
    .help = "pass this variable in, or set it to VALUE",
};
static const struct hutch_option clear_env_option = {
    .flag = "--clear-env",
    .key = "environment.inherit",
    .help = "forget all variables passed in or set so far",
};

enum { OPTION_MAX = POLICY_FIELD_COUNT + 2, KEY_MAX = 32 };

/*
 * Written once, under pthread_once(), and only read from then on. C cannot derive a constant table
 * from another, and a second one written by hand would drift.
 */
static struct {
    pthread_once_t once;
    struct hutch_option rows[OPTION_MAX];
    char keys[OPTION_MAX][KEY_MAX];
    size_t count;
} options = {.once = PTHREAD_ONCE_INIT};

static void add_field(const struct policy_field *field)
{
    char *key = options.keys[options.count];
    char *end = key;

    /* Not by snprintf(), which takes longer than all else here; a test compares keys with their rows. */
    if (field->section)
        end = stpcpy(stpcpy(end, field->section), ".");
    stpcpy(end, field->key);
    options.rows[options.count++] = (struct hutch_option){
        .flag = field->flag,
        .short_flag = field->short_flag,
        .argument = field->argument,
        .key = key,
        .variable = field->variable,
        .values = field->values,
        .help = field->help,
    };
}

static void build_options(void)
{
    for (size_t id = 0; id < POLICY_FIELD_COUNT; id++) {
        if (id == POLICY_ENV_UNSET)
            options.rows[options.count++] = env_option;
        if (policy_fields[id].flag)
            add_field(&policy_fields[id]);
        if (id == POLICY_ENV_UNSET)
            options.rows[options.count++] = clear_env_option;
    }
}

const struct hutch_option *policy_options(size_t *count)
{
    pthread_once(&options.once, build_options);
    *count = options.count;
    return options.rows;
}

static int set_env(struct policy *policy, const char *value, const struct set_source *source,
                   struct hutch_error *err)
{
    const char *equals = strchr(value, '=');

    if (!equals)
        return set_item(policy, POLICY_ENV_INHERIT, value, source, err);
    const char *name = arena_strndup(&policy->arena, value, (size_t)(equals - value));
    if (!name)
        return err_oom(err);
    return set_entry(policy, POLICY_ENV_SET, name, equals + 1, source, err);
}

static int clear_env(struct policy *policy, const struct set_source *source,
                     struct hutch_error *err)
{
    int r = set_nothing(policy, POLICY_ENV_INHERIT, source, err);

    return r < 0 ? r : set_nothing(policy, POLICY_ENV_SET, source, err);
}

/* "userns,seccomp": an empty word is an error, not nothing. */
static int set_words(struct policy *policy, enum policy_id id, const char *value,
                     const struct set_source *source, struct hutch_error *err)
{
    int r;

    do {
        size_t len = strcspn(value, ",");
        const char *word = arena_strndup(&policy->arena, value, len);

        r = word ? set_item(policy, id, word, source, err) : err_oom(err);
        value += len;
    } while (r == 0 && *value++ == ',');
    return r;
}

static bool is_flag(const char *given, const char *flag, const char *short_flag)
{
    return (flag && str_eq(given, flag)) || (short_flag && str_eq(given, short_flag));
}

static int unknown_flag(const char *flag, const char *origin, struct hutch_error *err)
{
    char shown[64];
    size_t count;
    const struct hutch_option *rows = policy_options(&count);
    struct suggest suggest;

    str_printable(flag, shown, sizeof(shown));
    suggest_init(&suggest, flag);
    for (size_t i = 0; i < count; i++)
        suggest_offer(&suggest, rows[i].flag);
    const char *nearest = suggest_best(&suggest);
    if (nearest)
        return err_set(err, HUTCH_EPOLICY, origin, "unknown flag '%s' (did you mean '%s'?)", shown,
                       nearest);
    return err_set(err, HUTCH_EPOLICY, origin, "unknown flag '%s'", shown);
}

static int set_row(struct policy *policy, enum policy_id id, const char *value,
                   const struct set_source *source, struct hutch_error *err)
{
    if (id == POLICY_REQUIRE)
        return set_words(policy, id, value, source, err);
    return set_text(policy, id, value, source, err);
}

int policy_set_flag(struct policy *policy, const char *flag, const char *value, const char *origin,
                    struct hutch_error *err)
{
    char shown[sizeof(err->where)];
    struct set_source source = {
        .origin = str_printable(origin ? origin : flag, shown, sizeof(shown)),
        .from_flag = true,
    };

    if (str_eq(flag, clear_env_option.flag)) {
        if (value)
            return err_set(err, HUTCH_EPOLICY, source.origin, "'%s' takes no value", flag);
        return clear_env(policy, &source, err);
    }
    bool is_env = str_eq(flag, env_option.flag);
    size_t id = 0;
    while (!is_env && id < POLICY_FIELD_COUNT &&
           !is_flag(flag, policy_fields[id].flag, policy_fields[id].short_flag))
        id++;
    if (id == POLICY_FIELD_COUNT)
        return unknown_flag(flag, source.origin, err);
    if (!value)
        return err_set(err, HUTCH_EPOLICY, source.origin, "'%s' needs a value", flag);
    return is_env ? set_env(policy, value, &source, err)
                  : set_row(policy, (enum policy_id)id, value, &source, err);
}
