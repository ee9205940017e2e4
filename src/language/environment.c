/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which variables tie a language to its workspace. Interpreters and packages are the workspace's; caches
 * are the sandbox's own and go with it, so that nothing is carried from one workspace to another and
 * nothing of theirs is left in a project.
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "language/language.h"

#define MOST_TEXT ((size_t)256 << 10)
#define BOTH (LANGUAGE_PYTHON | LANGUAGE_NODE)

/*
 * {workspace}, {cache} and {path} stand for what they say. PYTHONPATH is left alone: the environment's
 * interpreter finds its packages without, and the system's own programs in Python must not.
 */
static const struct variable {
    const char *name;
    unsigned languages;
    const char *value;
} variables[] = {
    /* The same for all, so that it does not matter whose list comes last. */
    {"PATH", BOTH, "{workspace}/node_modules/.bin:{workspace}/.venv/bin:{path}"},
    {"VIRTUAL_ENV", LANGUAGE_PYTHON, "{workspace}/.venv"},
    {"PYTHONHOME", LANGUAGE_PYTHON, ""}, /* as if it were not set */
    {"PYTHONUSERBASE", LANGUAGE_PYTHON, "{workspace}/.venv"},
    {"PYTHONNOUSERSITE", LANGUAGE_PYTHON, "1"},
    {"UV_CACHE_DIR", LANGUAGE_PYTHON, "{cache}/uv"},
    {"PIP_CACHE_DIR", LANGUAGE_PYTHON, "{cache}/pip"},
    {"PIP_DISABLE_PIP_VERSION_CHECK", LANGUAGE_PYTHON, "1"},
    {"NODE_PATH", LANGUAGE_NODE, "{workspace}/node_modules"},
    {"npm_config_prefix", LANGUAGE_NODE, "{workspace}"},
    {"npm_config_cache", LANGUAGE_NODE, "{cache}/npm"},
    {"npm_config_update_notifier", LANGUAGE_NODE, "false"},
    {"BUN_INSTALL", LANGUAGE_NODE, "{workspace}"},
    {"BUN_INSTALL_CACHE_DIR", LANGUAGE_NODE, "{cache}/bun"},
};

/* Where the workspace is the root, the layout has a place for caches; else they are in /tmp. */
static const char *cache_of(const struct place *place)
{
    return str_eq(place->workspace, "/") ? "/.cache" : "/tmp/.cache";
}

/* Put `text` in, without its slash at the end when one follows ("/" and "/.venv"). */
static void put_path(struct buf *buf, const char *text, char next)
{
    size_t len = strlen(text);

    if (next == '/' && len > 0 && text[len - 1] == '/')
        len--;
    buf_add(buf, text, len);
}

/* Put what the mark at `value` stands for; its length, 0 when it is none. */
static size_t put_mark(const struct place *place, const char *value, struct buf *buf)
{
    const struct {
        const char *mark;
        const char *text;
    } marks[] = {
        {"{workspace}", place->workspace},
        {"{cache}", cache_of(place)},
        {"{path}", place->path},
    };

    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        size_t len = strlen(marks[i].mark);

        if (str_starts(value, marks[i].mark)) {
            put_path(buf, marks[i].text, value[len]);
            return len;
        }
    }
    return 0;
}

/* "NAME=value", or NULL when out of memory. */
static const char *variable_text(struct place *place, const struct variable *variable)
{
    buf_auto struct buf buf;

    buf_init(&buf, MOST_TEXT);
    buf_printf(&buf, "%s=", variable->name);
    for (const char *at = variable->value; *at;) {
        size_t len = put_mark(place, at, &buf);

        if (len == 0)
            buf_add(&buf, at, len = 1);
        at += len;
    }
    return buf.failed ? NULL : arena_strdup(&place->arena, buf.data);
}

const char *const *place_env(struct place *place, unsigned languages, const char *const *more)
{
    const char *own[ARRAY_LEN(variables) + 1] = {NULL};
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        if (!(variables[i].languages & languages))
            continue;
        own[count] = variable_text(place, &variables[i]);
        if (!own[count++])
            return NULL;
    }
    return place_concat(place, own, more);
}

/* The list as one allocation: first the pointers, then what they point to. */
static const char **pack(const char *const *list)
{
    size_t count = 0, bytes = 0;

    for (; list[count]; count++)
        bytes += strlen(list[count]) + 1;
    const char **packed = malloc((count + 1) * sizeof *packed + bytes);
    if (!packed)
        return NULL;
    char *text = (char *)(packed + count + 1);
    for (size_t i = 0; i < count; i++) {
        packed[i] = text;
        text = stpcpy(text, list[i]) + 1;
    }
    packed[count] = NULL;
    return packed;
}

static int give_env(struct hutch_sandbox *sandbox, unsigned languages, const char ***ret,
                    struct hutch_error *err)
{
    if (sandbox && !ret)
        return err_set(err, HUTCH_EINVALID, "ret", "NULL was given");
    place_auto struct place place;
    int r = place_begin(&place, sandbox, err);
    if (r < 0 || !ret)
        return r;
    const char *const *list = place_env(&place, languages, NULL);
    const char **packed = list ? pack(list) : NULL;
    if (!packed)
        return err_oom(err);
    *ret = packed;
    return 0;
}

int hutch_python_env(struct hutch_sandbox *sandbox, const char ***ret, struct hutch_error *err)
{
    return give_env(sandbox, LANGUAGE_PYTHON, ret, err);
}

int hutch_node_env(struct hutch_sandbox *sandbox, const char ***ret, struct hutch_error *err)
{
    return give_env(sandbox, LANGUAGE_NODE, ret, err);
}
