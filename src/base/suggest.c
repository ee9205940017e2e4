/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggest.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { WORD_MAX = 32 }; /* longer words are not looked at: no key, flag or name is that long */

void suggest_init(struct suggest *suggest, const char *word)
{
    *suggest = (struct suggest){.word = word, .distance = SIZE_MAX};
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Letters to add, drop, change or swap with their neighbour to turn one word into the other. */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *previous = rows[1], *current = rows[2];

    for (size_t j = 0; j <= b_len; j++)
        previous[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        current[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            bool same = a[i - 1] == b[j - 1];

            current[j] = min3(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + !same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < current[j])
                current[j] = before[j - 2] + 1;
        }

        size_t *oldest = before;
        before = previous;
        previous = current;
        current = oldest;
    }
    return previous[b_len];
}

void suggest_offer(struct suggest *suggest, const char *candidate)
{
    size_t word_len = strlen(suggest->word), len = strlen(candidate);
    size_t distance;

    if (word_len < 2 || word_len > WORD_MAX || len > WORD_MAX)
        return;
    /* Whoever types the beginning of a word most likely means that word. */
    if (word_len > 3 && str_starts(candidate, suggest->word))
        distance = 1;
    else
        distance = edit_distance(suggest->word, word_len, candidate, len);
    if (distance >= suggest->distance)
        return;
    suggest->best = candidate;
    suggest->distance = distance;
}

const char *suggest_best(const struct suggest *suggest)
{
    size_t limit = strlen(suggest->word) > 3 ? 2 : 1; /* else any short word is near any other */

    return suggest->distance <= limit ? suggest->best : NULL;
}
