/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one command of a shell script, where the script is simple enough to have one: words, quotes
 * and redirections, maybe after `cd DIR &&` and the like. Expansions stay as they are written: this is to
 * recognize a command by its name, not to run it. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SCRIPT_TEXT_MAX = 1024, SCRIPT_WORDS_MAX = 24 };

struct script {
    const char *words[SCRIPT_WORDS_MAX + 1]; /* the first of its words, end with NULL */
    size_t count;
    char text[SCRIPT_TEXT_MAX];
    size_t len;
};

/*
 * Read the script. `preludes` are the commands that may come before its one (recommend_data.h).
 * Returns false when it has none, or more than one, or cannot be told.
 */
bool script_read(struct script *script, const char *text, const char *preludes);
