/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/suggest.h"

#include "base/str.h"

static void nearest_word_is_found(void **state)
{
    static const char *const words[] = {"timeout", "memory", "cpus", "read", "write", "set"};
    static const struct {
        const char *word, *want;
    } cases[] = {
        {"tiemout", "timeout"},
        {"timout", "timeout"},
        {"memroy", "memory"},
        {"mem", NULL},
        {"memo", "memory"},
        {"wirte", "write"},
        {"sets", "set"},
        {"x", NULL},
        {"", NULL},
        {"nothing", NULL},
        {"raed", "read"},
        {"cpu", "cpus"},
        {"a_word_that_is_far_too_long_to_be_looked_at", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct suggest suggest;

        suggest_init(&suggest, cases[i].word);
        for (size_t j = 0; j < ARRAY_LEN(words); j++)
            suggest_offer(&suggest, words[j]);
        const char *best = suggest_best(&suggest);
        if (!best != !cases[i].want || (best && !str_eq(best, cases[i].want)))
            fail_msg("'%s': got '%s'", cases[i].word, best ? best : "nothing");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_word_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
