/* SPDX-License-Identifier: Apache-2.0 */
/* Two lines, a directory and a path, through everything in path.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/path.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static bool has_component(const char *path, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = path; (p = strstr(p, name)); p++) {
        if ((p == path || p[-1] == '/') && (p[len] == '/' || p[len] == '\0'))
            return true;
    }
    return false;
}

static void check_normalized(struct arena *arena, const char *path)
{
    size_t len = strlen(path);

    require(path[0] == '/');
    require(len == 1 || path[len - 1] != '/');
    require(!strstr(path, "//") && !has_component(path, ".") && !has_component(path, ".."));
    require(str_eq(path_normalize(arena, "/elsewhere", path), path));

    const char *parent = path_parent(arena, path);
    require(path_is_within(path, path) && path_is_within(path, "/"));
    require(path_is_within(path, parent));
    require(len == 1 || !path_is_within(parent, path));
    require(path_depth(parent) == (len == 1 ? 0 : path_depth(path) - 1));
    require(len == 1 || str_eq(path_join(arena, parent, strrchr(path, '/') + 1), path));
}

static void check(struct arena *arena, const char *base, const char *path)
{
    const char *normal = path_normalize(arena, base, path);
    bool up = has_component(path, "..") || (path[0] != '/' && has_component(base, ".."));

    require(!normal == up);
    path_is_glob(path);
    if (!normal)
        return;
    check_normalized(arena, normal);
    /* A relative path without ".." never leaves its directory. */
    const char *dir = path_normalize(arena, "/", base);
    if (dir && path[0] != '/')
        require(path_is_within(normal, dir));
    if (dir)
        require(path_is_within(path_normalize(arena, "/", path_join(arena, dir, path)), dir));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str_auto char *text = strndup((const char *)data, size);
    char *rest = text;
    const char *base = strsep(&rest, "\n");
    struct arena arena;

    arena_init(&arena);
    check(&arena, path_join(&arena, "/", base), rest ? rest : "");
    arena_clear(&arena);
    return 0;
}
