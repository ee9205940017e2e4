/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a shell left of its state. What is taken must be whole and within its bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "session/saved.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check(const struct saved *saved)
{
    require(saved->generation > 0 && saved->pid > 0);
    require(saved->cwd[0] == '/' && strlen(saved->cwd) <= SAVED_CWD_MAX);
    require(saved->env_count <= SAVED_ENV_MAX && !saved->env[saved->env_count]);
    for (size_t i = 0; i < saved->env_count; i++) {
        const char *equals = strchr(saved->env[i], '=');
        require(equals && saved_is_name(saved->env[i], (size_t)(equals - saved->env[i])));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct saved saved;
    uint64_t number;

    arena_init(&arena);
    if (saved_parse(&arena, (const char *)data, size, &saved))
        check(&saved);
    if (saved_parse_number((const char *)data, size, 1000, &number))
        require(number >= 1 && number <= 1000);
    arena_clear(&arena);
    return 0;
}
