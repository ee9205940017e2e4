/* SPDX-License-Identifier: Apache-2.0 */
/* The policy → a document that, merged into an empty policy, gives the same one. */
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/policy.h"

/* File names need not be UTF-8, but JSON must be: a changed name would be another file. */
static bool is_utf8(const struct policy_value *value)
{
    if (value->text && !str_is_utf8(value->text, strlen(value->text)))
        return false;
    for (size_t i = 0; i < value->count; i++) {
        const struct policy_item *item = &value->items[i];

        if (!str_is_utf8(item->text, strlen(item->text)) ||
            (item->name && !str_is_utf8(item->name, strlen(item->name))))
            return false;
    }
    return true;
}

static json_t *number_to_json(enum policy_type type, uint64_t number)
{
    char text[NUM_TEXT_MAX];

    if (number == NUM_NO_LIMIT)
        return json_string("unlimited");
    if (type == TYPE_SIZE)
        return json_string(num_format_size(number, text));
    if (type == TYPE_DURATION)
        return json_string(num_format_duration(number, text));
    if (type != TYPE_CPUS)
        return json_integer((json_int_t)number);
    if (number % 1000 == 0)
        return json_integer((json_int_t)(number / 1000));
    return json_real((double)number / 1000);
}

static json_t *items_to_json(const struct policy_value *value, bool map)
{
    json_t *out = map ? json_object() : json_array();

    for (size_t i = 0; i < value->count && out; i++) {
        const struct policy_item *item = &value->items[i];
        json_t *text = json_string(item->text);

        if ((map ? json_object_set_new(out, item->name, text) : json_array_append_new(out, text))) {
            json_decref(out);
            out = NULL;
        }
    }
    return out;
}

static json_t *value_to_json(enum policy_id id, const struct policy_value *value)
{
    enum policy_type type = policy_fields[id].type;
    char word[32];

    switch (type) {
    case TYPE_ENUM: return json_string(policy_enum_name(id, value->number, word, sizeof(word)));
    case TYPE_BOOL: return json_boolean(value->number);
    case TYPE_STRING:
    case TYPE_PATH: return json_string(value->text);
    case TYPE_UNIX: return value->text ? json_string(value->text) : items_to_json(value, false);
    case TYPE_LIST:
    case TYPE_PATHS:
    case TYPE_MAP: return items_to_json(value, type == TYPE_MAP);
    default: return number_to_json(type, value->number);
    }
}

/* The object that holds the keys of `section`, made when needed first. Borrowed from `root`. */
static json_t *section_of(json_t *root, const char *section)
{
    if (!section)
        return root;
    if (!json_object_get(root, section) && json_object_set_new(root, section, json_object()) < 0)
        return NULL;
    return json_object_get(root, section);
}

int policy_to_json(const struct policy *policy, char **ret, struct hutch_error *err)
{
    json_auto_ref json_t *root = json_object();

    for (size_t id = 0; id < POLICY_FIELD_COUNT && root; id++) {
        const struct policy_field *field = &policy_fields[id];
        const struct policy_value *value = &policy->values[id];

        if (!value->set)
            continue;
        if (!is_utf8(value))
            return err_set(err, HUTCH_EPOLICY, value->origin,
                           "'%s' has a text that is not UTF-8 and that JSON cannot hold",
                           field->key);
        json_t *section = section_of(root, field->section);
        json_t *made = value_to_json((enum policy_id)id, value);
        if (json_object_set_new(section, field->key, made) < 0)
            return err_oom(err);
    }
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (!text)
        return err_oom(err);
    *ret = text;
    return 0;
}
