/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/policy.h"

#include "base/str.h"

static void every_row_is_whole(void **state)
{
    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++) {
        const struct policy_field *field = &policy_fields[i];
        bool words = field->type == TYPE_ENUM || field->type == TYPE_UNIX;
        bool texts = field->type == TYPE_STRING || field->type == TYPE_PATH ||
                     field->type == TYPE_LIST || field->type == TYPE_PATHS ||
                     field->type == TYPE_MAP || field->type == TYPE_UNIX;

        if (!field->key || !field->help || !field->values != !words || !field->check != !texts)
            fail_msg("row %zu is not whole", i);
        if (!field->flag != !field->argument || (!field->flag && field->short_flag) ||
            (!field->flag && field->variable))
            fail_msg("row %zu (%s) has half a flag", i, field->key);
        if (!field->help || strlen(field->help) > 90 || field->help[strlen(field->help) - 1] == '.')
            fail_msg("row %zu (%s): help is one line without a full stop", i, field->key);
    }
}

static void keys_and_flags_are_unique(void **state)
{
    for (size_t i = 0; i < POLICY_FIELD_COUNT; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct policy_field *a = &policy_fields[i];
            const struct policy_field *b = &policy_fields[j];
            bool same_section = a->section && b->section ? str_eq(a->section, b->section)
                                                         : a->section == b->section;

            if (same_section && str_eq(a->key, b->key))
                fail_msg("key %s is there twice", a->key);
            if (a->flag && b->flag && str_eq(a->flag, b->flag))
                fail_msg("flag %s is there twice", a->flag);
        }
    }
}

/* The enums of policy.h are indices into `values`: each word, written out. */
static void enums_follow_their_words(void **state)
{
    static const struct {
        enum policy_id id;
        uint64_t value;
        const char *word;
    } cases[] = {
        {POLICY_LEVEL, LEVEL_NONE, "none"},
        {POLICY_LEVEL, LEVEL_PROCESS, "process"},
        {POLICY_LEVEL, LEVEL_CONTAINER, "container"},
        {POLICY_LEVEL, LEVEL_VM, "vm"},
        {POLICY_LEVEL, LEVEL_WASM, "wasm"},
        {POLICY_LEVEL, 5, "?"},
        {POLICY_LAYOUT, LAYOUT_HOST, "host"},
        {POLICY_LAYOUT, LAYOUT_MINIMAL, "minimal"},
        {POLICY_LAYOUT, LAYOUT_ROOT, "root"},
        {POLICY_NET, NET_NONE, "none"},
        {POLICY_NET, NET_HOST, "host"},
        {POLICY_NET, NET_ALLOW, "allow"},
        {POLICY_GUARD_MODE, GUARD_OFF, "off"},
        {POLICY_GUARD_MODE, GUARD_WARN, "warn"},
        {POLICY_GUARD_MODE, GUARD_DENY, "deny"},
        {POLICY_MEMORY, 0, "?"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char word[32];

        assert_string_equal(policy_enum_name(cases[i].id, cases[i].value, word, sizeof(word)),
                            cases[i].word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(keys_and_flags_are_unique),
        cmocka_unit_test(enums_follow_their_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
