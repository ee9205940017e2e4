/* SPDX-License-Identifier: Apache-2.0 */
#include "session/saved.h"

#include <limits.h>
#include <string.h>

#include "base/arena.h"

/* What is left to read. */
struct reader {
    const char *next;
    size_t left;
};

/* The bytes before the next `end`, which is stepped over; false when there is none. */
static bool take(struct reader *reader, char end, const char **ret, size_t *ret_len)
{
    const char *found = reader->left ? memchr(reader->next, end, reader->left) : NULL;
    if (!found)
        return false;

    *ret = reader->next;
    *ret_len = (size_t)(found - reader->next);
    reader->next += *ret_len + 1;
    reader->left -= *ret_len + 1;
    return true;
}

/* A number from 1 to `max`, in decimal digits and nothing else. */
static bool take_number(struct reader *reader, char end, uint64_t max, uint64_t *ret)
{
    const char *text;
    size_t len;
    uint64_t number = 0;

    if (!take(reader, end, &text, &len) || len == 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        unsigned digit = (unsigned)(text[i] - '0');
        if (number > (max - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret = number;
    return number != 0;
}

bool saved_parse_number(const char *data, size_t len, uint64_t max, uint64_t *ret)
{
    struct reader reader = {data, len};
    uint64_t number;

    if (!take_number(&reader, '\n', max, &number) || reader.left != 0)
        return false;
    *ret = number;
    return true;
}

bool saved_is_name(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool letter = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
                      name[i] == '_';
        if (!letter && (i == 0 || name[i] < '0' || name[i] > '9'))
            return false;
    }
    return len > 0;
}

static bool is_variable(const char *text, size_t len)
{
    const char *equals = memchr(text, '=', len);

    return equals && saved_is_name(text, (size_t)(equals - text));
}

static const char **take_variables(struct arena *arena, struct reader *reader, size_t *ret_count)
{
    const char **list = NULL;
    size_t cap = 0, count = 0, len;
    const char *text;

    while (count < SAVED_ENV_MAX && take(reader, '\0', &text, &len)) {
        if (!is_variable(text, len))
            continue;
        list = arena_grow(arena, list, count, &cap, sizeof *list);
        if (!list)
            return NULL;
        list[count++] = arena_strndup(arena, text, len);
    }
    list = arena_grow(arena, list, count, &cap, sizeof *list);
    if (list)
        list[count] = NULL;
    *ret_count = count;
    return list;
}

bool saved_parse(struct arena *arena, const char *data, size_t len, struct saved *ret)
{
    struct reader reader = {data, len};
    struct saved saved = {0};
    uint64_t pid;
    const char *cwd;
    size_t cwd_len;

    if (!take_number(&reader, '\n', UINT64_MAX, &saved.generation) ||
        !take_number(&reader, '\0', INT_MAX, &pid) || !take(&reader, '\0', &cwd, &cwd_len) ||
        cwd_len > SAVED_CWD_MAX || cwd_len == 0 || cwd[0] != '/')
        return false;
    saved.pid = (int)pid;
    saved.cwd = arena_strndup(arena, cwd, cwd_len);
    saved.env = take_variables(arena, &reader, &saved.env_count);
    if (arena_failed(arena))
        return false;
    *ret = saved;
    return true;
}
