/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <string.h>

#include "base/arena.h"

/* Append the components of `path` to `out`; false when one of them is "..". */
static bool add_components(char *out, size_t *len, const char *path)
{
    while (*path) {
        size_t n = strcspn(path, "/");

        if (n == 2 && path[0] == '.' && path[1] == '.')
            return false;
        if (n > 0 && !(n == 1 && path[0] == '.')) {
            out[(*len)++] = '/';
            memcpy(out + *len, path, n);
            *len += n;
        }
        path += n;
        path += *path == '/';
    }
    return true;
}

char *path_normalize(struct arena *arena, const char *base, const char *path)
{
    char *out = arena_alloc(arena, strlen(base) + strlen(path) + 3);
    size_t len = 0;

    if (!out)
        return NULL;
    if (path[0] != '/' && !add_components(out, &len, base))
        return NULL;
    if (!add_components(out, &len, path))
        return NULL;
    if (len == 0)
        out[len++] = '/';
    out[len] = '\0';
    return out;
}

char *path_append(struct arena *arena, const char *dir, const char *name, size_t name_len)
{
    size_t dir_len = strlen(dir);

    while (dir_len > 0 && dir[dir_len - 1] == '/')
        dir_len--;
    char *out = arena_alloc(arena, dir_len + name_len + 2);
    if (!out)
        return NULL;
    memcpy(out, dir, dir_len);
    out[dir_len] = '/';
    memcpy(out + dir_len + 1, name, name_len);
    out[dir_len + 1 + name_len] = '\0';
    return out;
}

char *path_join(struct arena *arena, const char *dir, const char *name)
{
    while (*name == '/')
        name++;
    return path_append(arena, dir, name, strlen(name));
}

size_t path_depth(const char *path)
{
    size_t depth = 0;

    if (path[1] == '\0') /* "/" */
        return 0;
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

char *path_parent(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash || slash == path)
        return arena_strdup(arena, "/");
    return arena_strndup(arena, path, (size_t)(slash - path));
}

bool path_is_glob(const char *path)
{
    /* By hand: strpbrk() makes a table of the three first. */
    while (*path && *path != '*' && *path != '?' && *path != '[')
        path++;
    return *path != '\0';
}
