/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document → the policy. First every key is looked at, so that a mistyped one is an error and
 * never a setting that is missing; then the rows of policy_fields are taken in their order.
 */
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/suggest.h"
#include "policy/merge.h"
#include "policy/set.h"

/* Keys of a document that are no settings. */
static const char *const document_keys[] = {"extends", "description"};

enum { PLACE_MAX = sizeof(((struct hutch_error *)NULL)->where), POINTER_MOST = 80 };

/* A place in a document: "/limits/memory in policy.json". */
struct place {
    char pointer[PLACE_MAX];
    char text[PLACE_MAX];
};

struct document {
    struct policy *policy;
    char suffix[PLACE_MAX]; /* " in policy.json", printable */
    size_t suffix_len;
    bool is_profile;
    struct hutch_error *err;
};

/*
 * Copied by hand: this runs for every entry of every profile, on every start. The pointer is what
 * finds the mistake, so a long source gives way to it.
 */
static const char *place_text(const struct document *doc, struct place *place)
{
    size_t len = strnlen(place->pointer, POINTER_MOST);
    size_t room = sizeof(place->text) - 1 - len;
    size_t suffix = doc->suffix_len < room ? doc->suffix_len : room;

    memcpy(place->text, place->pointer, len);
    memcpy(place->text + len, doc->suffix, suffix);
    place->text[len + suffix] = '\0';
    return place->text;
}

static void place_push(struct place *place, const char *component)
{
    json_pointer_push(place->pointer, sizeof(place->pointer), component);
}

/* The same for a component that somebody else wrote. */
static void place_push_foreign(struct place *place, const char *component)
{
    char shown[PLACE_MAX];

    place_push(place, str_printable(component, shown, sizeof(shown)));
}

static void place_of_section(struct place *place, const char *section)
{
    place->pointer[0] = '\0';
    if (section)
        place_push(place, section);
}

static bool in_section(const struct policy_field *field, const char *section)
{
    if (!section || !field->section)
        return section == field->section;
    return str_eq(section, field->section);
}

static bool is_section(const char *name)
{
    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++) {
        if (policy_fields[i].section && str_eq(policy_fields[i].section, name))
            return true;
    }
    return false;
}

static bool is_key(const char *section, const char *key)
{
    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++) {
        if (in_section(&policy_fields[i], section) && str_eq(policy_fields[i].key, key))
            return true;
    }
    for (size_t i = 0; !section && i < ARRAY_LEN(document_keys); i++) {
        if (str_eq(document_keys[i], key))
            return true;
    }
    return !section && is_section(key);
}

static int unknown_key(const struct document *doc, const char *section, const char *key)
{
    struct place place;
    struct suggest suggest;
    char shown[64];

    place_of_section(&place, section);
    place_push_foreign(&place, key);
    str_printable(key, shown, sizeof(shown));
    suggest_init(&suggest, key);
    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++) {
        const struct policy_field *field = &policy_fields[i];

        if (in_section(field, section))
            suggest_offer(&suggest, field->key);
        else if (!section)
            suggest_offer(&suggest, field->section);
        if (field->section && !in_section(field, section) && str_eq(field->key, key))
            return err_set(doc->err, HUTCH_EPOLICY, place_text(doc, &place),
                           "unknown key '%s' (did you mean '%s.%s'?)", shown, field->section, key);
    }
    for (size_t i = 0; !section && i < ARRAY_LEN(document_keys); i++)
        suggest_offer(&suggest, document_keys[i]);
    const char *nearest = suggest_best(&suggest);
    if (nearest)
        return err_set(doc->err, HUTCH_EPOLICY, place_text(doc, &place),
                       "unknown key '%s' (did you mean '%s'?)", shown, nearest);
    return err_set(doc->err, HUTCH_EPOLICY, place_text(doc, &place), "unknown key '%s'", shown);
}

static int wrong_type(const struct document *doc, struct place *place, const char *wanted,
                      const json_t *value)
{
    return err_set(doc->err, HUTCH_EPOLICY, place_text(doc, place), "must be %s, not %s", wanted,
                   json_kind(value));
}

static const char *type_wanted(enum policy_type type)
{
    switch (type) {
    case TYPE_ENUM:
    case TYPE_STRING: return "a string";
    case TYPE_BOOL: return "true or false";
    case TYPE_SIZE: return "a size such as \"64M\"";
    case TYPE_DURATION: return "a duration such as \"30s\"";
    case TYPE_COUNT:
    case TYPE_CPUS: return "a number";
    case TYPE_ID: return "an id";
    case TYPE_PATH: return "a path or null";
    case TYPE_LIST:
    case TYPE_PATHS: return "an array of strings";
    case TYPE_MAP: return "an object of strings";
    case TYPE_UNIX: return "a string or an array of paths";
    }
    return "something else";
}

static int check_keys(const struct document *doc, json_t *root)
{
    const char *key;
    const char *inner;
    json_t *value;
    json_t *ignored;

    json_object_foreach(root, key, value)
    {
        if (!is_key(NULL, key))
            return unknown_key(doc, NULL, key);
        if (!is_section(key))
            continue;
        if (!json_is_object(value)) {
            struct place place;

            place_of_section(&place, key);
            return wrong_type(doc, &place, "an object", value);
        }
        json_object_foreach(value, inner, ignored)
        {
            if (!is_key(key, inner))
                return unknown_key(doc, key, inner);
        }
    }
    return 0;
}

static int apply_list(const struct document *doc, enum policy_id id, struct place *place,
                      json_t *list)
{
    size_t len = strlen(place->pointer);
    struct set_source source = {.origin = place_text(doc, place), .from_profile = doc->is_profile};
    json_t *entry;
    size_t i;

    int r = set_list(doc->policy, id, &source, doc->err);
    json_array_foreach(list, i, entry)
    {
        if (r < 0)
            break;
        snprintf(place->pointer + len, sizeof(place->pointer) - len, "/%zu", i);
        if (!json_is_string(entry))
            return wrong_type(doc, place, "a string", entry);
        source.origin = place_text(doc, place);
        r = set_item(doc->policy, id, json_string_value(entry), &source, doc->err);
    }
    return r;
}

static int apply_map(const struct document *doc, enum policy_id id, struct place *place,
                     json_t *map)
{
    size_t len = strlen(place->pointer);
    struct set_source source = {.origin = place_text(doc, place), .from_profile = doc->is_profile};
    const char *name;
    json_t *entry;

    int r = set_list(doc->policy, id, &source, doc->err);
    json_object_foreach(map, name, entry)
    {
        if (r < 0)
            break;
        place->pointer[len] = '\0';
        place_push_foreign(place, name);
        if (!json_is_string(entry))
            return wrong_type(doc, place, "a string", entry);
        source.origin = place_text(doc, place);
        r = set_entry(doc->policy, id, name, json_string_value(entry), &source, doc->err);
    }
    return r;
}

static bool takes_numbers(enum policy_type type)
{
    return type == TYPE_SIZE || type == TYPE_DURATION || type == TYPE_COUNT || type == TYPE_CPUS ||
           type == TYPE_ID;
}

/*
 * A value that stands alone. Numbers are read as the text they would be in quotes, so that there is
 * one parser; jansson writes them with a '.' in every locale, and 15 digits keep 0.1 as it is.
 */
static int apply_single(const struct document *doc, enum policy_id id, struct place *place,
                        json_t *value)
{
    enum policy_type type = policy_fields[id].type;
    struct set_source source = {.origin = place_text(doc, place), .from_profile = doc->is_profile};
    char number[64];
    const char *text = NULL;

    if (json_is_null(value) && type == TYPE_PATH)
        return set_nothing(doc->policy, id, &source, doc->err);
    if (json_is_string(value) && type != TYPE_BOOL)
        text = json_string_value(value);
    if (json_is_boolean(value) && type == TYPE_BOOL)
        text = json_is_true(value) ? "true" : "false";
    if (json_is_number(value) && takes_numbers(type)) {
        size_t len = json_dumpb(value, number, sizeof(number) - 1,
                                JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

        number[len < sizeof(number) ? len : 0] = '\0';
        text = number;
    }
    if (!text)
        return wrong_type(doc, place, type_wanted(type), value);
    return set_text(doc->policy, id, text, &source, doc->err);
}

static int apply_field(const struct document *doc, enum policy_id id, json_t *value)
{
    const struct policy_field *field = &policy_fields[id];
    struct place place;

    place_of_section(&place, field->section);
    place_push(&place, field->key);
    switch (field->type) {
    case TYPE_LIST:
    case TYPE_PATHS:
    case TYPE_UNIX:
        if (json_is_array(value))
            return apply_list(doc, id, &place, value);
        if (field->type != TYPE_UNIX)
            return wrong_type(doc, &place, type_wanted(field->type), value);
        return apply_single(doc, id, &place, value);
    case TYPE_MAP:
        if (!json_is_object(value))
            return wrong_type(doc, &place, type_wanted(field->type), value);
        return apply_map(doc, id, &place, value);
    default: return apply_single(doc, id, &place, value);
    }
}

static int apply_fields(const struct document *doc, json_t *root)
{
    int r = 0;

    for (size_t id = 0; id < POLICY_FIELD_COUNT && r == 0; id++) {
        const struct policy_field *field = &policy_fields[id];
        json_t *section = field->section ? json_object_get(root, field->section) : root;
        json_t *value = json_object_get(section, field->key);

        if (value)
            r = apply_field(doc, (enum policy_id)id, value);
    }
    return r;
}

/* The keys that are no settings: what the document extends comes before it. */
static int apply_document_keys(const struct document *doc, json_t *root,
                               const struct merge_chain *chain)
{
    json_t *extends = json_object_get(root, "extends");
    struct place place;

    for (size_t i = 0; i < ARRAY_LEN(document_keys); i++) {
        json_t *value = json_object_get(root, document_keys[i]);

        place_of_section(&place, document_keys[i]);
        if (value && !json_is_string(value))
            return wrong_type(doc, &place, "a string", value);
    }
    if (!extends)
        return 0;
    place_of_section(&place, "extends");
    return merge_profile(doc->policy, json_string_value(extends), place_text(doc, &place), chain,
                         doc->err);
}

int merge_document(struct policy *policy, const char *json, size_t len, const char *source,
                   const struct merge_chain *chain, struct hutch_error *err)
{
    struct document doc = {
        .policy = policy, .suffix = " in ", .is_profile = chain != NULL, .err = err};
    json_auto_ref json_t *root = NULL;

    str_printable(source, doc.suffix + 4, sizeof(doc.suffix) - 4);
    doc.suffix_len = strlen(doc.suffix);
    int r = json_parse_object(json, len, POLICY_JSON_MAX, source, &root, err);
    if (r < 0)
        return r;
    r = check_keys(&doc, root);
    if (r < 0)
        return r;
    r = apply_document_keys(&doc, root, chain);
    if (r < 0)
        return r;
    return apply_fields(&doc, root);
}

int policy_merge_json(struct policy *policy, const char *json, size_t len, const char *source,
                      struct hutch_error *err)
{
    return merge_document(policy, json, len, source, NULL, err);
}
