/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/reader.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/suggest.h"

static const char *place(const struct reader *reader, char text[READER_PLACE_MAX])
{
    /* The pointer is what finds the mistake: a long source gives way to it. */
    snprintf(text, READER_PLACE_MAX, "%.80s in %s", reader->pointer, reader->source);
    return text;
}

/* Step into `key`; returns what step_out() needs. */
static size_t step_in(struct reader *reader, const char *key)
{
    size_t len = strlen(reader->pointer);
    char shown[64];

    json_pointer_push(reader->pointer, sizeof(reader->pointer),
                      str_printable(key, shown, sizeof(shown)));
    return len;
}

static size_t step_in_index(struct reader *reader, size_t index)
{
    char text[24];

    snprintf(text, sizeof(text), "%zu", index);
    return step_in(reader, text);
}

static void step_out(struct reader *reader, size_t len)
{
    reader->pointer[len] = '\0';
}

int reader_refuse(struct reader *reader, const char *what)
{
    char where[READER_PLACE_MAX];

    return err_set(reader->err, HUTCH_EPOLICY, place(reader, where), "%s", what);
}

static int wrong_type(struct reader *reader, const char *wanted, const json_t *value)
{
    char where[READER_PLACE_MAX];

    return err_set(reader->err, HUTCH_EPOLICY, place(reader, where), "must be %s, not %s", wanted,
                   json_kind(value));
}

static int unknown_word(struct reader *reader, const char *what, const char *word,
                        struct suggest *suggest)
{
    const char *nearest = suggest_best(suggest);
    char where[READER_PLACE_MAX];
    char shown[64];

    str_printable(word, shown, sizeof(shown));
    place(reader, where);
    if (nearest)
        return err_set(reader->err, HUTCH_EPOLICY, where, "unknown %s '%s' (did you mean '%s'?)",
                       what, shown, nearest);
    return err_set(reader->err, HUTCH_EPOLICY, where, "unknown %s '%s'", what, shown);
}

int reader_word(struct reader *reader, const json_t *value, const char *what,
                const char *const *words, size_t *ret)
{
    struct suggest suggest;

    const char *word = "";
    int r = reader_string(reader, value, &word);
    if (r < 0)
        return r;
    suggest_init(&suggest, word);
    for (size_t i = 0; words[i]; i++) {
        if (str_eq(words[i], word)) {
            *ret = i;
            return 0;
        }
        suggest_offer(&suggest, words[i]);
    }
    return unknown_word(reader, what, word, &suggest);
}

int reader_object(struct reader *reader, json_t *object, const struct reader_member *members,
                  void *arg)
{
    const char *key;
    json_t *value;
    struct suggest suggest;
    int r = 0;

    if (!json_is_object(object))
        return wrong_type(reader, "an object", object);
    json_object_foreach(object, key, value)
    {
        const struct reader_member *member = members;

        suggest_init(&suggest, key);
        for (; member->key && !str_eq(member->key, key); member++)
            suggest_offer(&suggest, member->key);
        if (!member->key) {
            step_in(reader, key);
            return unknown_word(reader, "key", key, &suggest);
        }
    }
    for (const struct reader_member *member = members; member->key && r == 0; member++) {
        value = json_object_get(object, member->key);
        if (!value || json_is_null(value) || !member->read)
            continue;
        size_t out = step_in(reader, member->key);
        r = member->read(reader, value, arg);
        if (r == 0)
            step_out(reader, out);
    }
    return r;
}

int reader_array(struct reader *reader, json_t *array, reader_fn *read, void *arg)
{
    json_t *value;
    size_t i;

    if (!json_is_array(array))
        return wrong_type(reader, "an array", array);
    json_array_foreach(array, i, value)
    {
        size_t out = step_in_index(reader, i);
        int r = read(reader, value, arg);

        if (r < 0)
            return r;
        step_out(reader, out);
    }
    return 0;
}

int reader_number(struct reader *reader, const json_t *value, uint64_t most, uint64_t *ret)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return reader_refuse(reader, "must be a whole number, not negative");
    if ((uint64_t)json_integer_value(value) > most)
        return reader_refuse(reader, "is too large a number");
    *ret = (uint64_t)json_integer_value(value);
    return 0;
}

int reader_string(struct reader *reader, const json_t *value, const char **ret)
{
    if (!json_is_string(value))
        return wrong_type(reader, "a string", value);
    *ret = json_string_value(value);
    return 0;
}
