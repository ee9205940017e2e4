/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that tests of limits run inside: it uses much of one thing and says how much it got,
 * so that what hutch measures can be compared. `bomb A x , B y` does A and then B. Each verb prints
 *
 *     VERB WHAT-IT-GOT ok|ERROR
 *
 * and the program exits with 1 when any of them was refused something, else with 0; the verb `exit`
 * has the last word. Sizes are bytes, with K, M, G or T for powers of 1024. Linked statically and
 * free of dependencies, so that it runs in any layout.
 */
#pragma once

#include <stdint.h>

#include "../verbs.h"

/* Each ends with a row without a name. */
extern const struct verb space_verbs[];
extern const struct verb process_verbs[];

/* A number in an argument, or the end of the program. */
int64_t number_of(const char *text);

/* The argument after `args`, or `otherwise` when there is none. */
int64_t option_of(const char *text, int64_t otherwise);

/* Print what a verb got; `error` is an errno, 0 when nothing was refused. */
void say(const char *verb, int64_t got, int error);
