/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Schema (draft 2020-12) of a policy document, from policy_fields. */
#include "base/json.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "policy/policy.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"

#define PATTERN_SIZE "^([1-9][0-9]*[KMGTkmgt]?|unlimited)$"
#define PATTERN_DURATION "^([1-9][0-9]*(ms|s|m|h)?|unlimited)$"
#define PATTERN_COUNT "^([1-9][0-9]*|unlimited)$"
#define PATTERN_CPUS "^((0|[1-9][0-9]*)([.][0-9]{1,3})?|unlimited)$"
#define PATTERN_ID "^(0|[1-9][0-9]*)$"

/* "a|b|c" as an array. */
static json_t *words_schema(const char *values)
{
    json_t *words = json_array();

    while (values) {
        size_t len = strcspn(values, "|");

        json_array_append_new(words, json_stringn(values, len));
        values = values[len] ? values + len + 1 : NULL;
    }
    return words;
}

/* A number, or a text with a unit; `pattern` only applies to texts and `minimum` to numbers. */
static json_t *number_schema(const char *type, const char *pattern, double minimum)
{
    json_t *least = minimum < 1 && minimum > 0 ? json_real(minimum)
                                               : json_integer((json_int_t)minimum);

    return json_pack("{s:[s,s], s:s, s:o}", "type", "string", type, "pattern", pattern, "minimum",
                     least);
}

static json_t *text_schema(const char *pattern)
{
    return json_pack("{s:s, s:i, s:s*}", "type", "string", "minLength", 1, "pattern", pattern);
}

static json_t *list_schema(const char *pattern)
{
    return json_pack("{s:s, s:o}", "type", "array", "items", text_schema(pattern));
}

static json_t *type_schema(const struct policy_field *field)
{
    switch (field->type) {
    case TYPE_ENUM: return json_pack("{s:o}", "enum", words_schema(field->values));
    case TYPE_STRING: return text_schema(field->pattern);
    case TYPE_BOOL: return json_pack("{s:s}", "type", "boolean");
    case TYPE_SIZE: return number_schema("integer", PATTERN_SIZE, 1);
    case TYPE_DURATION: return number_schema("integer", PATTERN_DURATION, 1);
    case TYPE_COUNT: return number_schema("integer", PATTERN_COUNT, 1);
    case TYPE_CPUS: return number_schema("number", PATTERN_CPUS, 0.001);
    case TYPE_ID: return number_schema("integer", PATTERN_ID, 0);
    case TYPE_PATH: return json_pack("{s:[s,s], s:i}", "type", "string", "null", "minLength", 1);
    case TYPE_LIST:
    case TYPE_PATHS: return list_schema(field->pattern);
    case TYPE_MAP:
        return json_pack("{s:s, s:{s:s}, s:{s:s}}", "type", "object", "propertyNames", "pattern",
                         field->pattern, "additionalProperties", "type", "string");
    case TYPE_UNIX:
        return json_pack("{s:[{s:o}, o]}", "anyOf", "enum", words_schema(field->values),
                         list_schema(field->pattern));
    }
    return NULL;
}

static json_t *field_schema(const struct policy_field *field)
{
    json_auto_ref json_t *type = type_schema(field);
    json_t *schema = json_pack("{s:s}", "description", field->help);

    if (json_object_update(schema, type) < 0) {
        json_decref(schema);
        return NULL;
    }
    return schema;
}

/* An object that has no keys but those in its "properties", none yet. */
static json_t *object_schema(void)
{
    return json_pack("{s:s, s:b, s:{}}", "type", "object", "additionalProperties", 0, "properties");
}

/* The "properties" that a field belongs to: those of the document, or of its section. Borrowed. */
static json_t *properties_of(json_t *properties, const char *section)
{
    if (!section)
        return properties;
    if (!json_object_get(properties, section) &&
        json_object_set_new(properties, section, object_schema()) < 0)
        return NULL;
    return json_object_get(json_object_get(properties, section), "properties");
}

static json_t *document_key_schema(const char *help)
{
    return json_pack("{s:s, s:s}", "description", help, "type", "string");
}

/* False when out of memory. */
static bool add_properties(json_t *properties)
{
    if (json_object_set_new(properties, "description",
                            document_key_schema("what the policy is for")) < 0 ||
        json_object_set_new(properties, "extends",
                            document_key_schema("the profile that this one starts from")) < 0)
        return false;
    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++) {
        const struct policy_field *field = &policy_fields[i];
        json_t *into = properties_of(properties, field->section);

        if (json_object_set_new(into, field->key, field_schema(field)) < 0)
            return false;
    }
    return true;
}

int policy_schema(char **ret, struct hutch_error *err)
{
    json_auto_ref json_t *root = json_pack("{s:s, s:s}", "$schema", DIALECT, "title",
                                           "hutch policy");
    json_auto_ref json_t *object = object_schema();

    if (json_object_update(root, object) < 0 ||
        !add_properties(json_object_get(root, "properties")))
        return err_oom(err);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (!text)
        return err_oom(err);
    *ret = text;
    return 0;
}
