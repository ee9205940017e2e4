/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/docgen.h"

#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/options.h"
#include "cli/rpc/methods.h"

void docgen_escaped(const char *text)
{
    for (; *text; text++) {
        if (strchr("*_\\#[]|<>", *text))
            putchar('\\');
        putchar(*text);
    }
}

static void put_marked(char mark, const char *text)
{
    putchar(mark);
    docgen_escaped(text);
    putchar(mark);
}

/* "a|b|c" as: One of *a*, *b*, *c*. */
static void put_values(const char *values)
{
    printf(" One of ");
    while (*values) {
        int len = (int)strcspn(values, "|");

        printf("*%.*s*", len, values);
        values += len;
        if (*values) {
            values++;
            printf(", ");
        }
    }
    putchar('.');
}

/* Help lines begin small and end without a full stop; a man page wants sentences. */
static void put_sentence(const char *text)
{
    size_t len = strlen(text);
    bool stopped = len && text[len - 1] == '.';

    if (*text >= 'a' && *text <= 'z')
        putchar(*text++ - 'a' + 'A');
    docgen_escaped(text);
    if (!stopped)
        putchar('.');
}

static void put_man_option(const struct hutch_option *option)
{
    if (option->short_flag) {
        put_marked('*', option->short_flag);
        printf(", ");
    }
    put_marked('*', option->flag);
    if (option->argument) {
        putchar(' ');
        put_marked('_', option->argument);
    }
    printf("\n\t");
    put_sentence(option->help);
    if (option->values)
        put_values(option->values);
    if (strchr(option->key, '.') || str_eq(option->key, "syscalls")) {
        printf(" Policy key ");
        put_marked('*', option->key);
        putchar('.');
    }
    if (option->variable) {
        printf(" Default from ");
        put_marked('*', option->variable);
        putchar('.');
    }
    printf("\n\n");
}

static int print_man(struct hutch_error *err)
{
    const struct hutch_option *option;
    const char *section = "";

    for (size_t i = 0; (option = options_at(i)); i++) {
        const char *next = options_section(option);

        if (!str_eq(section, next))
            printf("## %s\n\n", next);
        section = next;
        put_man_option(option);
    }
    return 0;
}

static int print_flags(struct hutch_error *err)
{
    const struct hutch_option *option;

    for (size_t i = 0; (option = options_at(i)); i++) {
        puts(option->flag);
        if (option->short_flag)
            puts(option->short_flag);
    }
    return 0;
}

static void put_type(const json_t *schema);

/* The alternatives of a list: "a, b or c". */
static void put_each(const json_t *list, void (*put)(const json_t *))
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i > 0)
            printf("%s", i + 1 == json_array_size(list) ? " or " : ", ");
        put(json_array_get(list, i));
    }
}

static void put_constant(const json_t *value)
{
    if (json_is_string(value))
        put_marked('*', json_string_value(value));
    else
        printf("%s", json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
}

static void put_type_name(const json_t *name)
{
    printf("%s", json_is_string(name) ? json_string_value(name) : "any value");
}

/* What a key takes, in words, from its part of the schema. */
static void put_type(const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    const json_t *items = json_object_get(schema, "items");
    const json_t *values = json_object_get(schema, "enum");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *any = json_object_get(schema, "anyOf");

    if (!any)
        any = json_object_get(schema, "oneOf");
    if (any) {
        put_each(any, put_type);
    } else if (values) {
        put_each(values, put_constant);
    } else if (json_is_object(items)) {
        printf("list of ");
        put_type(items);
        putchar('s');
    } else if (json_is_object(others)) {
        printf("object of ");
        put_type(others);
        putchar('s');
    } else if (json_is_array(type)) {
        put_each(type, put_type_name);
    } else {
        put_type_name(type);
    }
}

static void put_flags_of(const char *key)
{
    const struct hutch_option *option;
    const char *before = " Flag ";

    for (size_t i = 0; (option = options_at(i)); i++) {
        if (!str_eq(option->key, key))
            continue;
        printf("%s", before);
        put_marked('*', option->flag);
        before = ", ";
    }
    if (str_eq(before, ", "))
        putchar('.');
}

static void put_key(const char *key, const json_t *schema)
{
    const char *help = json_string_value(json_object_get(schema, "description"));

    put_marked('*', key);
    printf(" (");
    put_type(schema);
    printf(")\n\t");
    put_sentence(help ? help : "See *hutch schema*");
    put_flags_of(key);
    printf("\n\n");
}

/* Keys of objects with known members are written with a dot, as in "limits.timeout". */
static void put_keys(const char *prefix, const json_t *schema)
{
    json_t *properties = json_object_get(schema, "properties");
    const char *name;
    json_t *property;

    json_object_foreach(properties, name, property)
    {
        char key[128];

        snprintf(key, sizeof key, "%s%s%s", prefix, *prefix ? "." : "", name);
        if (json_object_get(property, "properties"))
            put_keys(key, property);
        else
            put_key(key, property);
    }
}

static int print_keys(struct hutch_error *err)
{
    str_auto char *text = NULL;
    json_auto_ref json_t *schema = NULL;

    int r = hutch_schema(&text, err);
    if (r == 0)
        r = json_parse_object(text, strlen(text), strlen(text), "schema", &schema, err);
    if (r == 0)
        put_keys("", schema);
    return r;
}

static int print_methods(struct hutch_error *err)
{
    methods_scdoc();
    return 0;
}

static int print_rpc(struct hutch_error *err)
{
    methods_markdown();
    return 0;
}

static const struct {
    const char *name;
    int (*print)(struct hutch_error *err);
} formats[] = {
    {"bash", completion_bash}, {"fish", completion_fish}, {"flags", print_flags},
    {"keys", print_keys},      {"man", print_man},        {"methods", print_methods},
    {"rpc", print_rpc},        {"zsh", completion_zsh},
};

int docgen_print(const char *format, struct hutch_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        if (str_eq(formats[i].name, format))
            return formats[i].print(err);
    }
    return err_set(err, HUTCH_EINVALID, "--format",
                   "unknown format '%s': use bash, fish, flags, keys, man, methods, rpc or zsh",
                   format);
}
