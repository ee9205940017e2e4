/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/policy.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/str.h"

static json_t *load_schema(void)
{
    str_auto char *text = NULL;
    struct hutch_error err;
    json_t *root = NULL;

    assert_int_equal(policy_schema(&text, &err), 0);
    assert_int_equal(json_parse_object(text, strlen(text), 1 << 20, "schema", &root, &err), 0);
    return root;
}

static json_t *property(json_t *schema, const char *name)
{
    return json_object_get(json_object_get(schema, "properties"), name);
}

static void every_field_has_its_place(void **state)
{
    json_auto_ref json_t *root = load_schema();

    assert_string_equal(json_string_value(json_object_get(root, "$schema")),
                        "https://json-schema.org/draft/2020-12/schema");
    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++) {
        const struct policy_field *field = &policy_fields[i];
        json_t *section = field->section ? property(root, field->section) : root;
        json_t *found = property(section, field->key);

        if (!found)
            fail_msg("no %s", field->key);
        assert_string_equal(json_string_value(json_object_get(found, "description")), field->help);
        assert_true(json_is_false(json_object_get(section, "additionalProperties")));
    }
    assert_non_null(property(root, "extends"));
    assert_non_null(property(root, "description"));
}

static void values_are_described(void **state)
{
    json_auto_ref json_t *root = load_schema();
    json_t *memory = property(property(root, "limits"), "memory");
    json_t *mode = property(property(root, "network"), "mode");
    json_t *hide = property(property(root, "filesystem"), "hide");
    json_t *repo = property(property(root, "filesystem"), "repo");
    json_t *set = property(property(root, "environment"), "set");

    assert_string_equal(json_string_value(json_object_get(memory, "pattern")),
                        "^([1-9][0-9]*[KMGTkmgt]?|unlimited)$");
    assert_int_equal(json_integer_value(json_object_get(memory, "minimum")), 1);
    assert_int_equal(json_array_size(json_object_get(mode, "enum")), 3);
    assert_string_equal(json_string_value(json_array_get(json_object_get(mode, "enum"), 2)),
                        "allow");
    assert_string_equal(json_string_value(json_object_get(hide, "type")), "array");
    assert_null(json_object_get(json_object_get(hide, "items"), "pattern"));
    assert_string_equal(json_string_value(json_array_get(json_object_get(repo, "type"), 1)),
                        "null");
    assert_non_null(json_object_get(set, "propertyNames"));
    assert_non_null(json_object_get(property(property(root, "network"), "unix"), "anyOf"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_its_place),
        cmocka_unit_test(values_are_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
