/* SPDX-License-Identifier: Apache-2.0 */
#include "mounts.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"

struct mounts mounts_parse(const char *text)
{
    struct mounts mounts = {0};
    char *copy = box_text("%s", text);
    size_t lines = 0;
    char *at = NULL;

    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    mounts.items = box_keep(calloc(lines + 1, sizeof *mounts.items));
    for (char *line = strtok_r(copy, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
        char *field[6] = {0};
        char *in_line = NULL;
        for (size_t i = 0; i < 6; i++)
            field[i] = strtok_r(i ? NULL : line, " ", &in_line);
        REQUIRE(field[5]);
        mounts.items[mounts.count++] = (struct mount){.path = field[4], .options = field[5]};
    }
    return mounts;
}

bool mount_has(const struct mount *mount, const char *option)
{
    size_t len = strlen(option);

    for (const char *p = mount->options; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (strncmp(p, option, len) == 0 && (p[len] == ',' || p[len] == '\0'))
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *join_sorted(char **lines, size_t count, const char *between)
{
    char *text = box_text("%s", "");

    qsort(lines, count, sizeof *lines, by_text);
    for (size_t i = 0; i < count; i++)
        text = box_text("%s%s%s", text, i ? between : "", lines[i]);
    return text;
}

char *mounts_writable(const struct mounts *mounts)
{
    char **lines = box_keep(calloc(mounts->count + 1, sizeof *lines));
    size_t count = 0;

    for (size_t i = 0; i < mounts->count; i++)
        if (!mount_has(&mounts->items[i], "ro"))
            lines[count++] = box_text("%s", mounts->items[i].path);
    return join_sorted(lines, count, " ");
}

/* Whether a later mount lies on this one, or on a directory above it. */
static bool is_covered(const struct mounts *mounts, size_t index)
{
    const char *path = mounts->items[index].path;

    for (size_t i = index + 1; i < mounts->count; i++) {
        const char *over = mounts->items[i].path;
        size_t len = strlen(over);
        if (len > 1 && strncmp(path, over, len) == 0 && (path[len] == '/' || path[len] == '\0'))
            return true;
    }
    return false;
}

char *mounts_summary(const struct mounts *mounts)
{
    char **lines = box_keep(calloc(mounts->count + 1, sizeof *lines));
    size_t count = 0;

    for (size_t i = 0; i < mounts->count; i++)
        if (!is_covered(mounts, i))
            lines[count++] = box_text("%s %s", mounts->items[i].path, mounts->items[i].options);
    return join_sorted(lines, count, "\n");
}
