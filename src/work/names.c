/* SPDX-License-Identifier: Apache-2.0 */
#include "work/names.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "sys/dirent.h"

struct listing {
    struct arena *arena;
    size_t max;
    size_t cap;
    struct names names;
};

static int add(struct listing *listing, const struct sys_dirent *entry)
{
    struct names *names = &listing->names;

    if (str_eq(entry->name, ".") || str_eq(entry->name, ".."))
        return 0;
    if (names->count >= listing->max) {
        names->truncated = true;
        return 0;
    }
    names->items = arena_grow(listing->arena, names->items, names->count, &listing->cap,
                              sizeof *names->items);
    char *text = arena_strdup(listing->arena, entry->name);
    if (!names->items || !text)
        return -ENOMEM;
    names->items[names->count++] = (struct name){.text = text, .type = entry->type};
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

int names_read(int dir, size_t max, struct arena *arena, struct names *ret)
{
    struct listing listing = {.arena = arena, .max = max};
    _Alignas(struct sys_dirent) char block[16384];
    long len;

    while (!listing.names.truncated &&
           (len = syscall(SYS_getdents64, dir, block, sizeof block)) != 0) {
        if (len < 0 && errno == ENOENT)
            break; /* removed meanwhile */
        if (len < 0)
            return -errno;
        for (long at = 0; at < len;) {
            const struct sys_dirent *entry = (const void *)(block + at);
            int r = add(&listing, entry);
            if (r < 0)
                return r;
            at += entry->len;
        }
    }
    if (listing.names.count)
        qsort(listing.names.items, listing.names.count, sizeof *listing.names.items, compare);
    *ret = listing.names;
    return 0;
}
