/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that box tests run inside. Its arguments are verbs: it does one thing and says how
 * that went, or says what it sees, as plain lines on standard output. `payload A x , B y` does A
 * and then B. Linked statically and free of dependencies, so that it runs in any layout.
 *
 * A verb is a row in the table of its file; payload.c puts the tables together.
 */
#pragma once

#include "../verbs.h"

/* Each ends with a row without a name. */
extern const struct verb file_verbs[];
extern const struct verb net_verbs[];
extern const struct verb pair_verbs[];
extern const struct verb process_verbs[];
extern const struct verb report_verbs[];

/* Print "VERB SUBJECT: ok" when `r` is not negative, else the name of errno. */
void say_result(const char *verb, const char *subject, long r);

/* A number in an argument, or the end of the program. */
long long number_of(const char *text);
