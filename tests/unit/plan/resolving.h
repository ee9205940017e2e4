/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of a policy, in a tree of a test's own: "@" is its top, with home/, ws/ and cwd/ in it. */
#pragma once

#include "plan/resolve.h"

#include "../scratch.h"

#define NAME_100                                                                                   \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct arena arena;
static struct resolver resolver;

static int resolving_begin(const char *const *tree)
{
    scratch_make(tree);
    arena_init(&arena);
    setenv("HOME", at("@/home"), 1);
    if (chdir(at("@/cwd")) < 0 || resolver_init(&resolver, &arena, NULL) < 0)
        return -1;
    resolver.workspace.fd = open(at("@/ws"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return resolver.workspace.fd < 0 ? -1 : 0;
}

static int resolving_end(void **state)
{
    resolver_clear(&resolver);
    arena_clear(&arena);
    return scratch_remove(state);
}

enum { FLAG, DOCUMENT };

static struct policy_item item(const char *text, int from)
{
    return (struct policy_item){.text = at(text), .origin = "--x", .from_flag = from == FLAG};
}
