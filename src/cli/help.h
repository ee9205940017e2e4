/* SPDX-License-Identifier: Apache-2.0 */
/* Help for people on a terminal of 80 columns, made from the tables of commands and options. */
#pragma once

#include <stdio.h>

struct cli_command;

/* All commands, on one screen. */
void help_overview(FILE *stream);

/* One command and its options, on stdout. */
void help_command(const struct cli_command *command);

/* Print `text` on stdout, where column `at` has been reached, broken at spaces before the screen ends. */
void help_wrapped(const char *text, int at);
