/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/set.h"

#include <string.h>

#include "base/err.h"
#include "base/str.h"

/* Entries are compared with those before them; this bounds what a document of a megabyte costs. */
enum { ENTRIES_MOST = 4096 };

/* (uid_t)-1 means "no change" to the kernel. */
#define ID_MOST (UINT64_C(0xffffffff) - 1)

/* Enough to know the value by, and short enough to leave room for the reason. */
enum { SHOWN_TEXT = 96 };

void policy_init(struct policy *policy)
{
    *policy = (struct policy){0};
    arena_init_for(&policy->arena, (size_t)20 << 10); /* as the default profile does */
}

void policy_clear(struct policy *policy)
{
    arena_clear(&policy->arena);
    *policy = (struct policy){0};
}

static int refuse(const struct set_source *source, const char *text, const char *reason,
                  struct hutch_error *err)
{
    char shown[SHOWN_TEXT];

    return err_set(err, HUTCH_EPOLICY, source->origin, "'%s' %s",
                   str_printable(text, shown, sizeof(shown)), reason);
}

static int refuse_word(const struct set_source *source, const char *text, const char *values,
                       struct hutch_error *err)
{
    char shown[SHOWN_TEXT];

    return err_set(err, HUTCH_EPOLICY, source->origin, "'%s' is not one of %s",
                   str_printable(text, shown, sizeof(shown)), values);
}

static const char *keep(struct policy *policy, const struct set_source *source, const char *text)
{
    return source->constant ? text : arena_strdup(&policy->arena, text);
}

static int mark_set(struct policy *policy, enum policy_id id, const struct set_source *source,
                    struct hutch_error *err)
{
    struct policy_value *value = &policy->values[id];

    value->origin = keep(policy, source, source->origin);
    value->from_profile = source->from_profile;
    value->set = true;
    return arena_failed(&policy->arena) ? err_oom(err) : 0;
}

int set_list(struct policy *policy, enum policy_id id, const struct set_source *source,
             struct hutch_error *err)
{
    policy->values[id].text = NULL; /* TYPE_UNIX: a list takes the place of a word */
    return mark_set(policy, id, source, err);
}

int set_nothing(struct policy *policy, enum policy_id id, const struct set_source *source,
                struct hutch_error *err)
{
    struct policy_value *value = &policy->values[id];
    int r = mark_set(policy, id, source, err);

    value->set = false;
    value->text = NULL;
    value->count = 0;
    return r;
}

static int store_number(struct policy *policy, enum policy_id id, uint64_t number,
                        const struct set_source *source, struct hutch_error *err)
{
    policy->values[id].number = number;
    return mark_set(policy, id, source, err);
}

static int store_text(struct policy *policy, enum policy_id id, const char *text,
                      const struct set_source *source, struct hutch_error *err)
{
    struct policy_value *value = &policy->values[id];

    value->text = keep(policy, source, text);
    value->count = 0; /* TYPE_UNIX: a word takes the place of a list */
    return mark_set(policy, id, source, err);
}

/* `key` is the name of a map's item, the text of a list's. */
static void drop_item(struct policy_value *value, const char *key)
{
    size_t kept = 0;

    for (size_t i = 0; i < value->count; i++) {
        const struct policy_item *item = &value->items[i];

        if (!str_eq(item->name ? item->name : item->text, key))
            value->items[kept++] = *item;
    }
    value->count = kept;
}

/*
 * What was said last about a variable wins, whichever of the three lists it was said in. A variable
 * both inherited and set is set.
 */
static void settle_variable(struct policy *policy, enum policy_id id, const char *name)
{
    struct policy_value *values = policy->values;

    if (id == POLICY_ENV_INHERIT || id == POLICY_ENV_SET)
        drop_item(&values[POLICY_ENV_UNSET], name);
    if (id == POLICY_ENV_INHERIT || id == POLICY_ENV_UNSET)
        drop_item(&values[POLICY_ENV_SET], name);
    if (id == POLICY_ENV_UNSET)
        drop_item(&values[POLICY_ENV_INHERIT], name);
}

/* The item that a new one takes the place of, or NULL. */
static struct policy_item *find_item(struct policy_value *value, const struct policy_item *wanted)
{
    for (size_t i = 0; i < value->count; i++) {
        struct policy_item *item = &value->items[i];

        if (wanted->name ? str_eq(item->name, wanted->name)
                         : str_eq(item->text, wanted->text) && item->from_flag == wanted->from_flag)
            return item;
    }
    return NULL;
}

static int store_item(struct policy *policy, enum policy_id id, const char *name, const char *text,
                      const struct set_source *source, struct hutch_error *err)
{
    struct policy_value *value = &policy->values[id];
    struct policy_item item = {.name = name, .text = text, .from_flag = source->from_flag};
    struct policy_item *place = source->distinct ? NULL : find_item(value, &item);

    if (!place && value->count == ENTRIES_MOST)
        return err_set(err, HUTCH_EPOLICY, source->origin, "more than %d entries", ENTRIES_MOST);
    if (!place) {
        struct policy_item *items = arena_grow(&policy->arena, value->items, value->count,
                                               &value->cap, sizeof(*items));
        if (!items)
            return err_oom(err);
        value->items = items;
        place = &items[value->count++];
    }
    item.name = name ? keep(policy, source, name) : NULL;
    item.text = keep(policy, source, text);
    item.origin = keep(policy, source, source->origin);
    *place = item;
    value->text = NULL; /* as in set_list() */
    value->origin = item.origin;
    value->from_profile = source->from_profile;
    value->set = true;
    settle_variable(policy, id, name ? name : text);
    return arena_failed(&policy->arena) ? err_oom(err) : 0;
}

int set_word_index(const char *values, const char *word)
{
    size_t len = strlen(word);

    for (int i = 0; values; i++) {
        if (strcspn(values, "|") == len && strncmp(values, word, len) == 0)
            return i;
        values = strchr(values, '|');
        values = values ? values + 1 : NULL;
    }
    return -1;
}

static const char *parse_id(const char *text, uint64_t *ret)
{
    static const char reason[] = "is not an id: use a whole number from 0 to 4294967294";

    if (str_eq(text, "0")) {
        *ret = 0;
        return NULL;
    }
    return num_parse_count(text, ret) || *ret > ID_MOST ? reason : NULL;
}

static const char *parse_number(enum policy_type type, const char *text, uint64_t *ret)
{
    switch (type) {
    case TYPE_SIZE: return num_parse_size(text, ret);
    case TYPE_DURATION: return num_parse_duration(text, ret);
    case TYPE_COUNT: return num_parse_count(text, ret);
    case TYPE_CPUS: return num_parse_cpus(text, ret);
    default: return parse_id(text, ret);
    }
}

/* Words of the row, "false" and "true" for a truth value. */
static int set_word(struct policy *policy, enum policy_id id, const char *text,
                    const struct set_source *source, struct hutch_error *err)
{
    const struct policy_field *field = &policy_fields[id];
    const char *values = field->type == TYPE_BOOL ? "false|true" : field->values;
    int index = set_word_index(values, text);

    if (index < 0)
        return refuse_word(source, text, values, err);
    if (field->type == TYPE_UNIX)
        return store_text(policy, id, text, source, err);
    return store_number(policy, id, (uint64_t)index, source, err);
}

static int set_number(struct policy *policy, enum policy_id id, const char *text,
                      const struct set_source *source, struct hutch_error *err)
{
    uint64_t number = 0;
    const char *reason = parse_number(policy_fields[id].type, text, &number);

    return reason ? refuse(source, text, reason, err)
                  : store_number(policy, id, number, source, err);
}

static int set_string(struct policy *policy, enum policy_id id, const char *text,
                      const struct set_source *source, struct hutch_error *err)
{
    const char *reason = policy_fields[id].check(text);

    return reason ? refuse(source, text, reason, err) : store_text(policy, id, text, source, err);
}

int set_item(struct policy *policy, enum policy_id id, const char *text,
             const struct set_source *source, struct hutch_error *err)
{
    const char *reason = policy_fields[id].check(text);

    return reason ? refuse(source, text, reason, err)
                  : store_item(policy, id, NULL, text, source, err);
}

int set_text(struct policy *policy, enum policy_id id, const char *text,
             const struct set_source *source, struct hutch_error *err)
{
    switch (policy_fields[id].type) {
    case TYPE_ENUM:
    case TYPE_BOOL:
    case TYPE_UNIX: return set_word(policy, id, text, source, err);
    case TYPE_SIZE:
    case TYPE_DURATION:
    case TYPE_COUNT:
    case TYPE_CPUS:
    case TYPE_ID: return set_number(policy, id, text, source, err);
    case TYPE_STRING:
    case TYPE_PATH: return set_string(policy, id, text, source, err);
    case TYPE_LIST:
    case TYPE_PATHS: return set_item(policy, id, text, source, err);
    case TYPE_MAP: break;
    }
    return err_set(err, HUTCH_EINTERNAL, source->origin, "a map has no single text");
}

int set_entry(struct policy *policy, enum policy_id id, const char *name, const char *text,
              const struct set_source *source, struct hutch_error *err)
{
    const char *reason = policy_fields[id].check(name);

    if (reason)
        return refuse(source, name, reason, err);
    return store_item(policy, id, name, text, source, err);
}
